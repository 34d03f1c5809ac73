// ARG_MAX and ARG_MIN, TOPK_V2, CUMSUM.
#include "frontends/tflite/moves.hpp"

#include <fmt/format.h>

#include <limits>

namespace tosavk {

namespace {

using tflite::BuiltinOperator;

ValueId reduce(Lowering& l, Op op, ValueId x, std::size_t axis) {
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(axis);
    return l.add(op, {x}, l.type(x), attrs);
}

/// The first place of the largest element along `axis`, which goes.
ValueId first_largest(Lowering& l, ValueId x, std::size_t axis) {
    const Shape from = l.shape(x);
    Shape to = from;
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
    if (l.type(x) == DType::i32) {  // which ARGMAX does not take
        const ValueId place = positions(l, from.size(), axis, from[axis]);
        const ValueId found = l.add(Op::equal, {x, reduce(l, Op::reduce_max, x, axis)}, DType::boolean);
        const double none = std::numeric_limits<std::int32_t>::max();
        const ValueId places = l.add(Op::select, {found, place, l.splat(x, DType::i32, none)}, DType::i32);
        return l.reshape(reduce(l, Op::reduce_min, places, axis), to);
    }
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(axis);
    attrs.nan_mode = NanMode::ignore;
    return l.add(Op::argmax, {x}, DType::i32, attrs);
}

void lower_arg_max(Lowering& l) {
    const bool smallest = l.op().code == BuiltinOperator::ARG_MIN;
    ValueId x = l.value(0);
    const std::size_t axis = l.axis(const_int(l, 1, "the axis"), l.shape(x).size());
    const DType type = l.type(x);
    if (type == DType::boolean) x = l.cast(x, DType::i8);
    if (type == DType::fp16) x = l.cast(x, DType::fp32);
    if (smallest && is_float(type)) {
        const ValueId zero = l.scalar(DType::fp32, 0);
        x = l.add(Op::negate, {x, zero, zero}, DType::fp32);
    } else if (smallest) {
        x = l.add(Op::bitwise_not, {x}, l.type(x));  // -1 - x, which never overflows
    }
    if (l.shape(x)[axis] == 0) l.fail("it has no elements to choose from");
    l.set(first_largest(l, x, axis));
}

void lower_topk(Lowering& l) {
    const ValueId x = l.value(0);
    const Shape from = l.shape(x);
    if (from.empty()) l.fail("its input has rank 0");
    const std::int64_t k = const_int(l, 1, "its number of elements");
    if (k < 0 || k > from.back()) l.fail(fmt::format("it takes {} of {} elements", k, from.back()));
    const std::size_t axis = from.size() - 1;
    if (k == 0) {
        Shape to = from;
        to.back() = 0;
        l.set(l.empty(l.type(x), to));
        return l.set(l.empty(DType::i32, to), 1);
    }
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(axis);
    attrs.descending = true;
    const ValueId place = broadcast(l, positions(l, from.size(), axis, from.back()), from);
    const std::vector<ValueId> sorted = l.sort({x, place}, attrs);
    l.set(l.slice_axis(sorted[0], axis, 0, k));
    const ValueId places = l.slice_axis(sorted[1], axis, 0, k);
    l.set(l.cast(places, l.dtype(l.out(1))), 1);
}

void lower_cumsum(Lowering& l) {
    const auto* options = l.options<tflite::CumsumOptions>();
    const ValueId x = l.value(0);
    if (l.type(x) != DType::fp32 && l.type(x) != DType::i32)
        l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    Attributes attrs;
    attrs.combiner = Combiner::add;
    attrs.axis = static_cast<std::int32_t>(l.axis(const_int(l, 1, "the axis"), l.shape(x).size()));
    attrs.exclusive = options && options->exclusive();
    attrs.reverse = options && options->reverse();
    l.set(l.add(Op::cumulate, {x}, l.type(x), attrs));
}

}  // namespace

OperatorRows order_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::ARG_MAX, lower_arg_max},
        {B::ARG_MIN, lower_arg_max},
        {B::TOPK_V2, lower_topk},
        {B::CUMSUM, lower_cumsum},
    };
    return rows;
}

}  // namespace tosavk
