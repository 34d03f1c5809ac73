// Random cases and error graphs of SORT, PARTIAL_SORT, BITCAST, GATHER_ND, SCATTER_ND, DYNAMIC_SLICE,
// DYNAMIC_UPDATE_SLICE and SEGMENT_REDUCE.
#include "verify/conformance/breaking.hpp"
#include "verify/conformance/case_maker.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tosavk::conformance {

namespace {

/// Indices inside 0..size-1, or now and then some (or most) outside, up to the ends of the type.
HostTensor indices(RandomData& data, const Shape& shape, std::int64_t size) {
    const std::int64_t kind = data.pick(0, 4);
    if (kind == 0) return data.any(DType::i32, shape);
    const std::int64_t outside = kind == 1 ? 3 : 0;
    return data.ints(DType::i32, shape, -outside, size - 1 + outside);
}

void dynamic_slice(CaseMaker& maker) {
    RandomData& data = maker.data();
    const DType type = maker.in_type(0);
    Shape shape = data.shape(1, 6), window;
    // Whole inner dimensions, and rows of whole quads, are moved in fours.
    if (data.chance(40)) shape.back() *= 4;
    for (const std::int64_t n : shape) {
        window.push_back(data.chance(40) ? n : data.pick(1, n));
        if (window.back() >= 4 && data.chance(50)) window.back() -= window.back() % 4;
    }
    const std::int64_t largest = *std::max_element(shape.begin(), shape.end());
    const bool updates = maker.def().op == Op::dynamic_update_slice;
    maker.operand(data.noise(type, shape));
    if (updates) maker.operand(data.noise(type, window));
    maker.operand(indices(data, {static_cast<std::int64_t>(shape.size())}, largest));
    if (!updates) maker.shape_operand(window);
}

/// Values with the dimensions [batch..., indexed..., row...] and tuples of indices for them.
struct Tuples {
    Shape values, indices, rows;
    std::int64_t largest = 1;  ///< of the dimensions indexed
};

Tuples tuples(CaseMaker& maker) {
    RandomData& data = maker.data();
    Tuples t;
    const std::int64_t batch = data.pick(0, 1), depth = data.pick(1, 3), rest = data.pick(0, 2);
    maker.attrs().batch_dims = static_cast<std::int32_t>(batch);
    t.values = data.shape(static_cast<int>(batch + depth), static_cast<int>(batch + depth), 300);
    for (std::int64_t d = batch; d < batch + depth; ++d)
        t.largest = std::max(t.largest, t.values[static_cast<std::size_t>(d)]);
    const Shape row = data.shape(static_cast<int>(rest), static_cast<int>(rest), 40);
    t.indices.assign(t.values.begin(), t.values.begin() + static_cast<std::ptrdiff_t>(batch));
    const bool many = maker.options().large && element_count(row) <= 8 && element_count(t.indices) <= 4;
    if (data.chance(80)) t.indices.push_back(many ? data.pick(1000, 3000) : data.pick(1, 60));
    if (!many && data.chance(30)) t.indices.push_back(data.pick(1, 3));
    t.rows = t.indices;
    t.indices.push_back(depth);
    t.values.insert(t.values.end(), row.begin(), row.end());
    t.rows.insert(t.rows.end(), row.begin(), row.end());
    return t;
}

void gather_nd(CaseMaker& maker) {
    RandomData& data = maker.data();
    const Tuples t = tuples(maker);
    maker.attrs().out_of_range = data.chance(50) ? OutOfRange::clamp : OutOfRange::zero;
    maker.operand(data.noise(maker.in_type(0), t.values));
    maker.operand(indices(data, t.indices, t.largest));
}

bool is_extreme(Combiner combiner) { return combiner == Combiner::minimum || combiner == Combiner::maximum; }

/// What may be combined: factors near 1, so that long products stay finite.
HostTensor combined(RandomData& data, Combiner combiner, DType type, const Shape& shape) {
    if (!is_float(type) || is_extreme(combiner)) return data.any(type, shape);
    if (combiner == Combiner::add) return data.reals(type, shape, data.chance(20));
    HostTensor factors = data.reals(type, shape, false);
    std::vector<double> values = decode_reals(type, factors.bytes);
    for (double& v : values) v = std::copysign(std::exp2(v / 128), v);
    if (data.chance(30)) values[static_cast<std::size_t>(data.pick(0, factors.count() - 1))] = INFINITY;
    factors.bytes = encode_reals(type, values);
    return factors;
}

Combiner combiner_for(RandomData& data, DType type) {
    constexpr std::array<Combiner, 4> all{Combiner::minimum, Combiner::maximum, Combiner::add, Combiner::multiply};
    return all[static_cast<std::size_t>(data.pick(0, type == DType::boolean ? 1 : 3))];
}

void scatter_nd(CaseMaker& maker) {
    RandomData& data = maker.data();
    Attributes& attrs = maker.attrs();
    const DType type = maker.in_type(0);
    const Tuples t = tuples(maker);
    attrs.out_of_range = data.chance(50) ? OutOfRange::clamp : OutOfRange::skip;
    const bool sets = type == DType::fp8e4m3 || type == DType::fp8e5m2 || data.chance(25);
    attrs.combiner = sets ? Combiner::set : combiner_for(data, type);
    maker.operand(sets ? data.noise(type, t.values) : combined(data, attrs.combiner, type, t.values));
    // Few places are named often.
    maker.operand(indices(data, t.indices, data.chance(30) ? std::min<std::int64_t>(t.largest, 2) : t.largest));
    maker.operand(sets ? data.noise(type, t.rows) : combined(data, attrs.combiner, type, t.rows));
}

void segment_reduce(CaseMaker& maker) {
    RandomData& data = maker.data();
    Attributes& attrs = maker.attrs();
    const DType type = maker.in_type(0);
    Shape shape = data.shape(1, 4, 1500);
    if (element_count(shape) / shape[0] <= 12)
        shape[0] = maker.options().large ? data.pick(1000, 3000) : data.pick(1, 300);
    attrs.segments = static_cast<std::int32_t>(data.chance(30) ? data.pick(1, 3) : data.pick(1, 300));
    attrs.out_of_range = data.chance(20) ? OutOfRange::clamp : OutOfRange::skip;
    attrs.combiner = combiner_for(data, type);
    maker.operand(combined(data, attrs.combiner, type, shape));
    HostTensor ids = indices(data, {shape[0]}, attrs.segments);
    if (data.chance(30)) {
        std::vector<std::int64_t> sorted = decode_ints(DType::i32, ids.bytes);
        std::sort(sorted.begin(), sorted.end());
        ids.bytes = encode_ints(DType::i32, sorted);
    }
    maker.operand(std::move(ids));
}

void sort(CaseMaker& maker) {
    RandomData& data = maker.data();
    Attributes& attrs = maker.attrs();
    const DType type = maker.in_type(0);
    attrs.descending = data.chance(50);
    attrs.total_order = is_float(type) && data.chance(50);
    attrs.is_unsigned = !is_float(type) && data.chance(30);
    Shape shape = data.shape(1, 6, 1500);
    attrs.axis = static_cast<std::int32_t>(data.pick(0, static_cast<std::int64_t>(shape.size()) - 1));
    std::int64_t& axis = shape[static_cast<std::size_t>(attrs.axis)];
    // Long lists take several passes.
    const bool is_long = maker.options().large && element_count(shape) / axis <= 9;
    if (is_long) axis = data.pick(1000, 3000);
    else if (data.chance(40) && element_count(shape) / axis <= 12) axis = data.pick(20, 300);
    // Few different keys: their order must stay.
    const bool few = data.chance(30) && !is_float(type) && type != DType::boolean;
    maker.operand(few ? data.ints(type, shape, -3, 3) : data.any(type, shape));
    maker.output(type);
    constexpr std::array<DType, 8> followers{DType::boolean, DType::i8,   DType::i16,  DType::i32,
                                             DType::fp16,    DType::bf16, DType::fp32, DType::fp8e5m2};
    if (data.chance(50)) return;
    for (std::int64_t more = data.pick(1, is_long ? 1 : 2); more > 0; --more) {
        const DType follower = followers[static_cast<std::size_t>(data.pick(0, followers.size() - 1))];
        maker.operand(data.noise(follower, shape));
        maker.output(follower);
    }
}

void partial_sort(CaseMaker& maker) {
    RandomData& data = maker.data();
    const std::int64_t length = data.chance(30) ? data.pick(1, 200) : data.pick(1, 12);
    const Shape shape{data.pick(1, 40), length};
    maker.attrs().most = static_cast<std::int32_t>(data.pick(1, length));
    HostTensor values = data.reals(DType::fp32, shape, false);
    if (data.chance(60)) {  // few different ones
        std::vector<double> numbers = decode_reals(DType::fp32, values.bytes);
        for (double& v : numbers) v = std::round(v / 2);
        values.bytes = encode_reals(DType::fp32, numbers);
    }
    maker.operand(std::move(values));
}

void bitcast(CaseMaker& maker) {
    RandomData& data = maker.data();
    const DType from = maker.in_type(0), to = maker.type_of("out_t");
    Shape shape = data.shape(0, 5);
    if (size_of(to) > size_of(from)) shape.push_back(static_cast<std::int64_t>(size_of(to) / size_of(from)));
    maker.operand(data.noise(from, shape));
}

}  // namespace

std::vector<OwnCases> own_indexed_cases() {
    return {{Op::sort, sort},
            {Op::partial_sort, partial_sort},
            {Op::bitcast, bitcast},
            {Op::gather_nd, gather_nd},
            {Op::scatter_nd, scatter_nd},
            {Op::dynamic_slice, dynamic_slice},
            {Op::dynamic_update_slice, dynamic_slice},
            {Op::segment_reduce, segment_reduce}};
}

namespace breaking {

namespace {

bool other_rule(Graph& g, OutOfRange rule) {
    attrs(g).out_of_range = rule;
    return true;
}

/// Operand k gets one dimension more, or one of its sizes another number.
Apply wrong_shape(std::size_t k) {
    return [k](Graph& g, Random& random) {
        Shape shape = operand(g, k).shape;
        shape[pick_axis(random, shape)] += 1;
        set_shape(g, k, shape);
        return true;
    };
}

bool bad_batch_dims(Graph& g, Random& random) {
    const auto rank = static_cast<std::int64_t>(std::min(operand(g, 0).shape.size(), operand(g, 1).shape.size()));
    attrs(g).batch_dims = static_cast<std::int32_t>(pick(random, 0, 1) ? -1 : rank);
    return true;
}

bool deep_tuples(Graph& g, Random&) {
    Shape shape = operand(g, 1).shape;
    shape.back() = static_cast<std::int64_t>(operand(g, 0).shape.size()) - attrs(g).batch_dims + 1;
    set_shape(g, 1, shape);
    return true;
}

bool other_batch(Graph& g, Random&) {
    if (attrs(g).batch_dims == 0) return false;
    Shape shape = operand(g, 1).shape;
    shape[0] += 1;
    set_shape(g, 1, shape);
    return true;
}

void add_tuple_errors(Op op, OutOfRange rule, std::vector<ErrorGraph>& all) {
    Entries(op, all)
        .add("batch_dims is not in 0..rank - 1", bad_batch_dims)
        .add("a tuple has more indices than there are dimensions behind the batch", deep_tuples)
        .add("batches differ", other_batch)
        .add("out_of_range is a rule of another operator", [rule](Graph& g, Random&) { return other_rule(g, rule); })
        .add("the output has another shape", wrong_output);
}

}  // namespace

void add_own_indexed_errors(std::vector<ErrorGraph>& all) {
    const Fits is_bool = [](const TypeRow& row) { return row.types.at(0) == DType::boolean; };
    const Fits floats = [](const TypeRow& row) { return is_float(row.types.at(0)); };
    const auto combine_by = [](Combiner combiner) {
        return [combiner](Graph& g, Random&) {
            attrs(g).combiner = combiner;
            return true;
        };
    };
    add_tuple_errors(Op::gather_nd, OutOfRange::skip, all);
    add_tuple_errors(Op::scatter_nd, OutOfRange::zero, all);
    Entries(Op::scatter_nd, all)
        .add("updates have another shape than values and indices ask for",
             [](Graph& g, Random& random) {
                 if (operand(g, 2).shape.empty()) return false;
                 return wrong_shape(2)(g, random);
             })
        .add("a sum of bool", combine_by(Combiner::add), is_bool)
        .add("fp8 is combined", combine_by(Combiner::maximum),
             [](const TypeRow& row) { return row.types.at(0) == DType::fp8e4m3 || row.types.at(0) == DType::fp8e5m2; });
    Entries(Op::segment_reduce, all)
        .add("there are more or fewer ids than rows", wrong_shape(1))
        .add("segments < 1",
             [](Graph& g, Random& random) {
                 attrs(g).segments = static_cast<std::int32_t>(-pick(random, 0, 3));
                 return true;
             })
        .add("combiner is SET", combine_by(Combiner::set))
        .add("a product of bool", combine_by(Combiner::multiply), is_bool)
        .add("out_of_range is ZERO", [](Graph& g, Random&) { return other_rule(g, OutOfRange::zero); })
        .add("the output has another shape", wrong_output);
    for (const Op op : {Op::dynamic_slice, Op::dynamic_update_slice}) {
        const bool updates = op == Op::dynamic_update_slice;
        Entries(op, all)
            .add("start has another number of values than there are dimensions", wrong_shape(updates ? 2 : 1))
            .add("the output has another shape", wrong_output);
    }
    Entries(Op::dynamic_slice, all)
        .add("size is not in 1..shape",
             [](Graph& g, Random& random) {
                 const Shape& shape = operand(g, 0).shape;
                 std::vector<std::int64_t> size = output(g).shape;
                 const std::size_t axis = pick_axis(random, shape);
                 size[axis] = pick(random, 0, 1) ? 0 : shape[axis] + 1;
                 set_values(g, 2, size);
                 return true;
             })
        .add("size has another number of values than there are dimensions", [](Graph& g, Random&) {
            std::vector<std::int64_t> size = output(g).shape;
            size.push_back(1);
            set_values(g, 2, size);
            return true;
        });
    Entries(Op::dynamic_update_slice, all)
        .add("the update is larger than the tensor",
             [](Graph& g, Random& random) {
                 Shape shape = operand(g, 1).shape;
                 const std::size_t axis = pick_axis(random, shape);
                 shape[axis] = operand(g, 0).shape[axis] + 1;
                 set_shape(g, 1, shape);
                 return true;
             })
        .add("the update has another rank", [](Graph& g, Random&) {
            Shape shape = operand(g, 1).shape;
            shape.insert(shape.begin(), 1);
            set_shape(g, 1, shape);
            return true;
        });
    Entries(Op::partial_sort, all)
        .add("the output has another shape", wrong_output)
        .add("most is not in 1..length", [](Graph& g, Random& random) {
            attrs(g).most = pick(random, 0, 1) ? 0 : static_cast<std::int32_t>(operand(g, 0).shape[1] + 1);
            return true;
        });
    Entries(Op::bitcast, all)
        .add("the output has another shape", wrong_output)
        .add(
            "elements do not make whole ones of the output's type",
            [](Graph& g, Random&) {
                Shape shape = operand(g, 0).shape;
                shape.back() += 1;
                set_shape(g, 0, shape);
                return true;
            },
            [](const TypeRow& row) { return size_of(row.types.at(1)) > size_of(row.types.at(0)); });
    Entries(Op::sort, all)
        .add("axis < 0 || axis >= rank(keys)",
             [](Graph& g, Random& random) {
                 const auto rank = static_cast<std::int64_t>(operand(g, 0).shape.size());
                 attrs(g).axis = static_cast<std::int32_t>(pick(random, 0, 1) ? -1 : rank);
                 return true;
             })
        .add(
            "is_unsigned for a float type", [](Graph& g, Random&) { return attrs(g).is_unsigned = true; }, floats)
        .add(
            "total_order for integers", [](Graph& g, Random&) { return attrs(g).total_order = true; },
            [](const TypeRow& row) { return !is_float(row.types.at(0)); })
        .add("an output has another shape", wrong_output)
        .add("there are more values than outputs for them",
             [](Graph& g, Random&) {
                 add_operand(g, DType::i32, operand(g, 0).shape);
                 return true;
             })
        .add("a value has another shape than the keys",
             [](Graph& g, Random& random) {
                 if (node(g).inputs.size() < 2) return false;
                 return wrong_shape(1)(g, random);
             })
        .add("a value and its output have different types", [](Graph& g, Random&) {
            if (node(g).inputs.size() < 2) return false;
            output(g, 1).type = operand(g, 1).type == DType::i8 ? DType::i16 : DType::i8;
            return true;
        });
}

}  // namespace breaking

}  // namespace tosavk::conformance
