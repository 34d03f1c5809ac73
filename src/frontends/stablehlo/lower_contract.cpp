// Products of matrices, and convolutions.
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

using Dims = std::vector<std::int64_t>;

Dims remaining(std::size_t rank, const Dims& a, const Dims& b) {
    Dims rest;
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(rank); ++d)
        if (std::find(a.begin(), a.end(), d) == a.end() && std::find(b.begin(), b.end(), d) == b.end())
            rest.push_back(d);
    return rest;
}

std::int64_t size_of_dims(const Shape& shape, const Dims& dims) {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= shape.at(static_cast<std::size_t>(d));
    return n;
}

Dims joined(const Dims& a, const Dims& b, const Dims& c) {
    Dims all = a;
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());
    return all;
}

/// [n, h, c] times [n, c, w] in the type that products are summed in: fp32 or i32.
Id matmul(Lowering& l, const Tensor& a, const Tensor& b, Id x, Id y) {
    const DType type = l.type(x);
    const auto zero = [&](DType of) { return l.zero_point(of, 0); };
    const bool bytes = a.element == Element::i8 && b.element == Element::i8;
    if (bytes) return l.add(Op::matmul, {x, y, zero(type), zero(type)}, DType::i32);
    if (is_float(type)) {
        const bool halves = type == l.type(y) && (type == DType::fp16 || type == DType::bf16);
        if (!halves) x = l.cast(x, DType::fp32), y = l.cast(y, DType::fp32);
        return l.add(Op::matmul, {x, y, zero(l.type(x)), zero(l.type(y))}, DType::fp32);
    }
    // Other integers: all products, and their sums.
    const Shape left = l.shape(x), right = l.shape(y);
    const Id wide_x = l.reshape(l.wide({a.element, x, no_id, a.range}), {left[0], left[1], left[2], 1});
    const Id wide_y = l.reshape(l.wide({b.element, y, no_id, b.range}), {right[0], 1, right[1], right[2]});
    const Id products = multiply(l, wide_x, wide_y);
    tosavk::Attributes attrs;
    attrs.axis = 2;
    const Id sums = left[2] == 1 ? products : l.add(Op::reduce_sum, {products}, DType::i32, attrs);
    return l.reshape(sums, {left[0], left[1], right[2]});
}

Range range_of_sums(const Tensor& a, const Tensor& b, std::int64_t terms) {
    const auto most = [](Range r) {
        return std::max(std::abs(static_cast<double>(r.least)), std::abs(static_cast<double>(r.most)));
    };
    const double largest = most(a.range) * most(b.range) * static_cast<double>(terms);
    if (largest > 4e18) return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    const auto bound = static_cast<std::int64_t>(largest);
    return {a.range.least >= 0 && b.range.least >= 0 ? 0 : -bound, bound};
}

/// 64-bit integers byte by byte, whose products are summed in i32.
template <class Step>
Tensor contracted_bytes(Lowering& l, const Tensor& a, const Tensor& b, Element to, std::int64_t terms,
                        const Step& step) {
    if (terms > most_added)
        l.unsupported(fmt::format("sums of more than {} 64-bit products are not supported", most_added));
    const auto bytes_in = [&](const Tensor& x) {
        std::vector<Tensor> bytes;
        const Words words = words_of(l, x);
        const Shape whole = l.shape(x.id);
        const bool small = x.range.least >= 0 && !x.is_pair();
        for (int k = 0; k < (small ? 4 : 8); ++k) {
            if (small && x.range.most >> (8 * k) == 0 && k > 0) break;
            const Id word = k < 4 ? words.low : l.tile_to(words.high, whole);
            bytes.push_back({Element::i32, l.bits_and(l.shift_right(word, 8 * (k % 4)), 0xff), no_id, {0, 255}});
        }
        return bytes;
    };
    const std::vector<Tensor> left = bytes_in(a), right = bytes_in(b);
    std::optional<Words> sum;
    for (std::size_t i = 0; i < left.size(); ++i) {
        for (std::size_t j = 0; j < right.size() && i + j < 8; ++j) {
            const Id part = step(left[i], right[j]);
            const Words moved =
                shifted_words(l, {part, l.splat_int(part, 0)}, static_cast<int>(8 * (i + j)), Shift::left);
            sum = sum ? sum_of_words(l, *sum, moved) : moved;
        }
    }
    return from_words(l, *sum, to, pair_range(to));
}

/// Of numbers of any type, with `step` for the products of two real tensors in fp32 or i32.
template <class Step>
Tensor contracted(Lowering& l, Tensor a, Tensor b, Element to, std::int64_t terms, const Step& step) {
    if (a.is_complex() || b.is_complex()) {
        const auto part = [](const Tensor& t, bool imaginary) {
            return Tensor{Element::f32, imaginary ? t.other : t.id, no_id, {}};
        };
        const auto times = [&](bool i, bool j) { return step(part(a, i), part(b, j)); };
        return {to,
                l.binary(Op::sub, times(false, false), times(true, true), DType::fp32),
                l.binary(Op::add, times(false, true), times(true, false), DType::fp32),
                {}};
    }
    if (to == Element::pred) {
        for (Tensor* t : {&a, &b}) *t = {Element::i8, l.cast(t->id, DType::i8), no_id, {0, 1}};
        return {to, l.cast(step(a, b), DType::boolean), no_id, {0, 1}};
    }
    for (Tensor* t : {&a, &b})
        if (t->element == Element::pred) *t = converted(l, *t, to);
    if (is_integer_element(a.element) != is_integer_element(to)) a = converted(l, a, to);
    if (is_integer_element(b.element) != is_integer_element(to)) b = converted(l, b, to);
    for (Tensor* t : {&a, &b})
        if (t->is_pair() && bits_of(to) != 64) *t = converted(l, *t, to);
    const bool pairs = a.is_pair() || b.is_pair();
    const Range range = is_integer_element(to) ? range_of_sums(a, b, terms) : Range{};
    if (pairs || (is_integer_element(to) && bits_of(to) == 64 && !whole_range(to).holds(range)))
        return contracted_bytes(l, a, b, to, terms, step);
    return l.narrow(step(a, b), to, range);
}

void lower_product(Lowering& l, const Dims& left_batch, const Dims& right_batch, const Dims& left_inner,
                   const Dims& right_inner) {
    const Tensor a = l.given(0), b = l.given(1);
    const Shape left = l.shape(a.id), right = l.shape(b.id), result = l.result_shape();
    const Element to = l.result_type().element;
    const Dims rows = remaining(left.size(), left_batch, left_inner);
    const Dims columns = remaining(right.size(), right_batch, right_inner);
    const std::int64_t n = size_of_dims(left, left_batch), c = size_of_dims(left, left_inner);
    const std::int64_t h = size_of_dims(left, rows), w = size_of_dims(right, columns);
    if (c == 0) {
        Tensor none{to, l.zeros(l.dtype(to), result), no_id, {0, 0}};
        if (is_complex_element(to)) none.other = none.id;
        return l.set(none);
    }
    const Dims left_order = joined(left_batch, rows, left_inner),
               right_order = joined(right_batch, right_inner, columns);
    l.set(contracted(l, a, b, to, c, [&](const Tensor& x, const Tensor& y) {
        const Id lhs = l.reshape(l.transpose(x.id, left_order), {n, h, c});
        const Id rhs = l.reshape(l.transpose(y.id, right_order), {n, c, w});
        return l.reshape(matmul(l, x, y, lhs, rhs), result);
    }));
}

void lower_dot_general(Lowering& l) {
    lower_product(l, l.numbers("lhs_batching_dimensions"), l.numbers("rhs_batching_dimensions"),
                  l.numbers("lhs_contracting_dimensions"), l.numbers("rhs_contracting_dimensions"));
}

void lower_dot(Lowering& l) {
    lower_product(l, {}, {}, {static_cast<std::int64_t>(l.operand_type(0).dims.size()) - 1}, {0});
}

// ---- convolution --------------------------------------------------------------------------------------------------

struct Spatial {
    std::int64_t kernel = 1, stride = 1, low = 0, high = 0, left_dilation = 1, right_dilation = 1, out = 1;
    bool reversed = false;
};

/// Any integers, in i32: the products of each tap of the kernel by themselves.
Id convolution_by_taps(Lowering& l, Id x, Id weights, const std::vector<Spatial>& s) {
    const Shape from = l.shape(x), kernel = l.shape(weights);
    const std::size_t n = s.size();
    const std::int64_t channels = from.back(), outputs = kernel[0], images = from[0];
    std::int64_t taps = 1, places = images;
    Shape made{images};
    for (const Spatial& axis : s) {
        taps *= axis.kernel;
        places *= axis.out;
        made.push_back(axis.out);
    }
    made.push_back(outputs);
    if (taps > 1024) l.unsupported("integer kernels of more than 1024 taps are not supported");
    const Id by_tap = l.reshape(weights, {outputs, taps, channels});
    Id sum = no_id;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
        Dims start(n + 2, 0), limit(from.begin(), from.end()), stride(n + 2, 1);
        std::int64_t rest = tap;
        for (std::size_t k = n; k-- > 0;) {
            start[k + 1] = rest % s[k].kernel * s[k].right_dilation;
            rest /= s[k].kernel;
            limit[k + 1] = start[k + 1] + (s[k].out - 1) * s[k].stride + 1;
            stride[k + 1] = s[k].stride;
        }
        const Id part = l.reshape(l.strided_slice(x, start, limit, stride), {places, 1, channels});
        const Id row = l.reshape(l.slice_axis(by_tap, 1, tap, 1), {1, outputs, channels});
        tosavk::Attributes attrs;
        attrs.axis = 2;
        Id products = multiply(l, part, row);
        if (channels > 1) products = l.add(Op::reduce_sum, {products}, DType::i32, attrs);
        sum = sum == no_id ? products : l.binary(Op::add, sum, products, DType::i32);
    }
    return l.reshape(sum, made);
}

/// Input [n, h, w, c], weights [oc, kh, kw, c] (or with a depth); padding and dilation of the input done before.
Id plain_convolution(Lowering& l, Id x, Id weights, const std::vector<Spatial>& s, const Tensor& a) {
    const bool has_depth = s.size() == 3;
    tosavk::Attributes attrs;
    attrs.pad.assign(2 * s.size(), 0);
    for (const Spatial& axis : s) {
        attrs.stride.push_back(static_cast<std::int32_t>(axis.stride));
        attrs.dilation.push_back(static_cast<std::int32_t>(axis.right_dilation));
    }
    const bool is_integer = is_integer_element(a.element);
    attrs.acc_type = is_integer ? DType::i32 : DType::fp32;
    const DType out = is_integer ? DType::i32 : l.type(x);
    const Id bias = l.zeros(out, {1});
    return l.add(has_depth ? Op::conv3d : Op::conv2d,
                 {x, weights, bias, l.zero_point(l.type(x), 0), l.zero_point(l.type(weights), 0)}, out, attrs);
}

void lower_convolution(Lowering& l) {
    const Tensor a = l.given(0), b = l.given(1);
    const Element to = l.result_type().element;
    const auto in_space = l.numbers("input_spatial_dimensions"), kernel_space = l.numbers("kernel_spatial_dimensions");
    const auto out_space = l.numbers("output_spatial_dimensions");
    const auto strides = l.small_numbers("window_strides");
    const bool is_dynamic = l.op().name == "dynamic_conv";
    const std::optional<Dims> told = is_dynamic ? l.known(2) : l.numbers("padding");
    if (!told) l.unsupported("its padding is not known");
    l.refuse_large(*told);
    const Dims& padding = *told;
    const auto left_dilation = l.small_numbers("lhs_dilation"), right_dilation = l.small_numbers("rhs_dilation");
    const auto reversal = l.numbers("window_reversal");
    const std::int64_t groups = l.integer("feature_group_count"), batch_groups = l.integer("batch_group_count");
    std::size_t n = in_space.size();
    if (n > 3) l.unsupported(fmt::format("{} spatial dimensions are not supported", n));
    const Shape result = l.result_shape(), left = l.shape(a.id), right = l.shape(b.id);
    std::vector<Spatial> space;
    for (std::size_t k = 0; k < n; ++k) {
        Spatial s{right.at(static_cast<std::size_t>(kernel_space[k])),
                  strides[k],
                  padding[2 * k],
                  padding[2 * k + 1],
                  left_dilation[k],
                  right_dilation[k],
                  result.at(static_cast<std::size_t>(out_space[k])),
                  reversal[k] != 0};
        // TOSA divides without a remainder.
        const std::int64_t size = left.at(static_cast<std::size_t>(in_space[k]));
        const std::int64_t dilated = size == 0 ? 0 : (size - 1) * s.left_dilation + 1;
        s.high += (s.out - 1) * s.stride + (s.kernel - 1) * s.right_dilation + 1 - (dilated + s.low + s.high);
        space.push_back(s);
    }
    Dims left_order{l.integer("input_batch_dimension")}, right_order{l.integer("kernel_output_feature_dimension")};
    left_order.insert(left_order.end(), in_space.begin(), in_space.end());
    left_order.push_back(l.integer("input_feature_dimension"));
    right_order.insert(right_order.end(), kernel_space.begin(), kernel_space.end());
    right_order.push_back(l.integer("kernel_input_feature_dimension"));
    const std::size_t added = n < 2 ? 2 - n : 0;  // spatial dimensions of 1 in front
    space.insert(space.begin(), added, Spatial{});
    n = space.size();
    const auto ranked = [&](Id id) {
        Shape shape = l.shape(id);
        shape.insert(shape.begin() + 1, added, 1);
        return l.reshape(id, shape);
    };
    const std::int64_t terms = tosavk::element_count(right);
    const auto step = [&](const Tensor& given_x, const Tensor& given_y) {
        Tensor tx = given_x, ty = given_y;
        Id x = ranked(l.transpose(tx.id, left_order)), y = ranked(l.transpose(ty.id, right_order));
        const bool bytes = tx.element == Element::i8 && ty.element == Element::i8;
        const bool is_integer = is_integer_element(tx.element);
        const bool by_taps = is_integer && !bytes;
        if (by_taps) {
            x = l.wide({tx.element, x, no_id, tx.range});
            y = l.wide({ty.element, y, no_id, ty.range});
        }
        if (!is_integer && (l.type(x) != l.type(y) || (l.type(x) != DType::fp32 && to == Element::f32) ||
                            l.wide_type(l.type(x)) != l.type(x)))
            x = l.cast(x, DType::fp32), y = l.cast(y, DType::fp32);
        std::vector<std::int64_t> low(n + 2, 0), high(n + 2, 0), between(n + 2, 0);
        for (std::size_t k = 0; k < n; ++k) {
            low[k + 1] = space[k].low;
            high[k + 1] = space[k].high;
            between[k + 1] = space[k].left_dilation - 1;
            if (!space[k].reversed || space[k].kernel == 1) continue;
            tosavk::Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(k + 1);
            y = l.add(Op::reverse, {y}, l.type(y), attrs);
        }
        x = l.pad(x, l.constant("zero", l.type(x), {1}, Bytes(size_of(l.type(x)))), low, high, between);
        const std::int64_t parts = groups * batch_groups;
        std::vector<Id> made;
        const std::size_t split = groups > 1 ? n + 1 : 0;
        const std::int64_t in_part = l.shape(x)[split] / parts, out_part = l.shape(y)[0] / parts;
        for (std::int64_t g = 0; g < parts; ++g) {
            const Id input = l.slice_axis(x, split, g * in_part, in_part);
            const Id weights = l.slice_axis(y, 0, g * out_part, out_part);
            made.push_back(by_taps ? convolution_by_taps(l, input, weights, space)
                                   : plain_convolution(l, input, weights, space, tx));
        }
        Id sums = l.concat(made, n + 1);
        Shape flat = l.shape(sums);
        flat.erase(flat.begin() + 1, flat.begin() + 1 + static_cast<std::ptrdiff_t>(added));
        // To where the result has its dimensions.
        Dims order(result.size(), 0);
        order.at(static_cast<std::size_t>(l.integer("output_batch_dimension"))) = 0;
        for (std::size_t k = 0; k < out_space.size(); ++k)
            order.at(static_cast<std::size_t>(out_space[k])) = static_cast<std::int64_t>(k) + 1;
        order.at(static_cast<std::size_t>(l.integer("output_feature_dimension"))) =
            static_cast<std::int64_t>(result.size()) - 1;
        return l.transpose(l.reshape(sums, flat), order);
    };
    l.set(contracted(l, a, b, to, terms, step));
}

}  // namespace

std::span<const LoweringRow> contract_rows() {
    static constexpr LoweringRow rows[] = {
        {"convolution", lower_convolution},
        {"dot", lower_dot},
        {"dot_general", lower_dot_general},
        {"dynamic_conv", lower_convolution},
    };
    return rows;
}

}  // namespace tosavk::stablehlo
