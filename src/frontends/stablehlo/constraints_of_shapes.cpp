// Constraints of operations whose results' shapes follow from more than one operand's.
#include "frontends/stablehlo/constraints.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::stablehlo {

namespace {

using Dims = std::vector<std::int64_t>;

bool contains(const Dims& dims, std::int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

void expect_dims(const Lowering& l, const Type& type, const Dims& dims, std::string_view whose) {
    if (type.kind == Type::Kind::tensor && fit(type.dims, dims)) return;
    Type wanted;
    wanted.kind = Type::Kind::tensor;
    wanted.element = type.element;
    wanted.dims = dims;
    refuse_type(l, type, whose, to_string(wanted));
}

std::string numbered(std::string_view whose, std::size_t k) { return fmt::format("{} {}", whose, k); }

void check_reduce(const Lowering& l) {
    const Dims dims = l.numbers("dimensions"), &from = l.operand_type(0).dims;
    Dims left;
    for (std::size_t d = 0; d < from.size(); ++d)
        if (!contains(dims, static_cast<std::int64_t>(d))) left.push_back(from[d]);
    for (std::size_t k = 0; k < l.result_count(); ++k) expect_dims(l, l.result_type(k), left, numbered("result", k));
}

void check_product(const Lowering& l, const Dims& left_batch, const Dims& right_batch, const Dims& left_inner,
                   const Dims& right_inner) {
    const Dims &left = l.operand_type(0).dims, &right = l.operand_type(1).dims;
    const auto pairs = [&](const Dims& a, const Dims& b, std::string_view what) {
        bool are = a.size() == b.size();
        for (std::size_t k = 0; are && k < a.size(); ++k)
            are = fit(left.at(static_cast<std::size_t>(a[k])), right.at(static_cast<std::size_t>(b[k])));
        if (!are) l.fail(fmt::format("its operands' {} dimensions do not go together", what));
    };
    pairs(left_batch, right_batch, "batching");
    pairs(left_inner, right_inner, "contracting");
    Dims made;
    for (const std::int64_t d : left_batch) made.push_back(left[static_cast<std::size_t>(d)]);
    const auto add_rest = [&](const Dims& dims, const Dims& batch, const Dims& inner) {
        for (std::size_t d = 0; d < dims.size(); ++d) {
            const bool is_batch = contains(batch, static_cast<std::int64_t>(d)),
                       is_inner = contains(inner, static_cast<std::int64_t>(d));
            if (is_batch && is_inner) l.fail(fmt::format("dimension {} is both a batching and a contracting one", d));
            if (!is_batch && !is_inner) made.push_back(dims[d]);
        }
    };
    add_rest(left, left_batch, left_inner);
    add_rest(right, right_batch, right_inner);
    expect_dims(l, l.result_type(), made, "result");
}

void check_alike_complex(const Lowering& l) {
    const bool is_complex = is_complex_element(l.operand_type(0).element);
    if (is_complex != is_complex_element(l.operand_type(1).element) ||
        is_complex != is_complex_element(l.result_type().element))
        l.fail("of its operands and its result some are complex, others not");
}

void check_dot_general(const Lowering& l) {
    check_alike_complex(l);
    check_product(l, l.numbers("lhs_batching_dimensions"), l.numbers("rhs_batching_dimensions"),
                  l.numbers("lhs_contracting_dimensions"), l.numbers("rhs_contracting_dimensions"));
}

void check_dot(const Lowering& l) {
    check_alike_complex(l);
    const std::size_t rank = l.operand_type(0).dims.size();
    if (rank == 0 || l.operand_type(1).dims.empty()) l.fail("its operands are no vectors or matrices");
    check_product(l, {}, {}, {static_cast<std::int64_t>(rank) - 1}, {0});
}

/// Of gather and scatter: `batching` dimensions of a tensor go along with those of its indices, `without` are those
/// that windows lack. Returns the indices' dimensions but that of their vectors.
Dims check_indices(const Lowering& l, const Dims& operand, const Dims& indices, const Dims& batching,
                   const Dims& of_index, const Dims& without, const Dims& map) {
    const std::int64_t vector_dim = l.integer("index_vector_dim");
    bool fits = batching.size() == of_index.size();
    for (std::size_t k = 0; fits && k < batching.size(); ++k)
        fits = of_index[k] != vector_dim && !contains(without, batching[k]) && !contains(map, batching[k]) &&
               fit(operand[static_cast<std::size_t>(batching[k])], indices[static_cast<std::size_t>(of_index[k])]);
    if (!fits) l.fail("its batching dimensions are no others', or not of the size of those of its indices");
    Dims batch;
    for (std::size_t d = 0; d < indices.size(); ++d)
        if (static_cast<std::int64_t>(d) != vector_dim) batch.push_back(indices[d]);
    return batch;
}

/// What windows of so many sizes become, at `offsets` among the dimensions of `batch`.
Dims with_windows(const Lowering& l, const Dims& batch, const Dims& window, const Dims& offsets) {
    if (offsets.size() != window.size() || !std::is_sorted(offsets.begin(), offsets.end()))
        l.fail(fmt::format("its windows have {} dimensions, but {} places for them, which are to be in order",
                           window.size(), offsets.size()));
    Dims made;
    std::size_t next_batch = 0, next_window = 0;
    for (std::size_t d = 0; d < batch.size() + window.size(); ++d) {
        const bool is_window = contains(offsets, static_cast<std::int64_t>(d));
        if (!is_window && next_batch == batch.size()) l.fail("its windows' dimensions are not among the result's");
        made.push_back(is_window ? window[next_window++] : batch[next_batch++]);
    }
    return made;
}

void check_gather_of_sizes(const Lowering& l) { check_gather(l, l.numbers("slice_sizes")); }

void check_scatter(const Lowering& l) {
    const std::size_t n = (l.operand_count() - 1) / 2;
    const Dims &operand = l.operand_type(0).dims, &indices = l.operand_type(n).dims,
               &update = l.operand_type(n + 1).dims;
    const Dims inserted = l.numbers("inserted_window_dims"), batching = l.numbers("input_batching_dims"),
               places = l.numbers("update_window_dims");
    for (std::size_t k = 0; k < n && !l.has_quantized(); ++k)
        if (const Type& type = l.operand_type(n + 1 + k); type.element != l.operand_type(k).element)
            refuse_type(l, type, numbered("operand", n + 1 + k),
                        fmt::format("of {}", name_of(l.operand_type(k).element)));
    const Dims batch = check_indices(l, operand, indices, batching, l.numbers("scatter_indices_batching_dims"),
                                     inserted, l.numbers("scatter_dims_to_operand_dims"));
    Dims window;
    for (std::size_t d = 0; d < operand.size(); ++d) {
        if (contains(inserted, static_cast<std::int64_t>(d)) || contains(batching, static_cast<std::int64_t>(d)))
            continue;
        const std::int64_t size =
            window.size() < places.size() ? update[static_cast<std::size_t>(places[window.size()])] : 0;
        if (operand[d] >= 0 && size > operand[d])
            l.fail(fmt::format("its windows have {} elements along a dimension of {}", size, operand[d]));
        window.push_back(size);
    }
    expect_dims(l, l.operand_type(n + 1), with_windows(l, batch, window, places), numbered("operand", n + 1));
}

/// Numbers of where a part begins, one for each dimension of operand 0.
void check_starts(const Lowering& l, std::size_t first) {
    const std::size_t rank = l.operand_type(0).dims.size();
    if (l.operand_count() != first + rank)
        l.fail(fmt::format("it has {} starts for {} dimensions", l.operand_count() - first, rank));
    for (std::size_t k = first; k < l.operand_count(); ++k) {
        const Type& type = l.operand_type(k);
        if (type.kind != Type::Kind::tensor || !type.dims.empty() || !is_integer_element(type.element))
            refuse_type(l, type, numbered("operand", k), "an integer");
    }
}

void check_dynamic_slice(const Lowering& l) {
    check_starts(l, 1);
    expect_dims(l, l.result_type(), l.numbers("slice_sizes"), "result");
}

void check_dynamic_update_slice(const Lowering& l) { check_starts(l, 2); }

/// The narrower type has one dimension more, of as many of its elements as make one of the other; i1 counts as a bit.
void check_bitcast(const Lowering& l) {
    if (l.has_quantized()) return;  // which are no floats of bits (lower_convert.cpp)
    const Type &from = l.operand_type(0), &to = l.result_type();
    const auto bits = [](const Type& type) { return type.element == Element::pred ? 1 : bits_of(type.element); };
    const bool widens = bits(from) < bits(to);
    const Type &wide = widens ? to : from, &narrow = widens ? from : to;
    const bool divides = bits(wide) % bits(narrow) == 0;
    Dims dims = wide.dims;
    if (bits(wide) != bits(narrow)) dims.push_back(bits(wide) / bits(narrow));
    if (!divides || !fit(narrow.dims, dims) || is_complex_element(from.element) != is_complex_element(to.element))
        l.fail(fmt::format("there is no {} of the bits of {}", to_string(to), to_string(from)));
}

void check_batch_norm(const Lowering& l) {
    const bool is_grad = l.op().name == "batch_norm_grad", trains = l.op().name == "batch_norm_training";
    const std::size_t operands = trains ? 3 : 5, results = is_grad || trains ? 3 : 1;
    if (l.operand_count() != operands || l.result_count() != results)
        l.fail(fmt::format("it has {} operands and {} results, not {} and {}", l.operand_count(), l.result_count(),
                           operands, results));
    const Dims &whole = l.operand_type(0).dims,
               features{whole.at(static_cast<std::size_t>(l.integer("feature_index")))};
    for (std::size_t k = 1; k < operands; ++k)
        expect_dims(l, l.operand_type(k), is_grad && k == 4 ? whole : features, numbered("operand", k));
    for (std::size_t k = 0; k < results; ++k)
        expect_dims(l, l.result_type(k), k == 0 ? whole : features, numbered("result", k));
}

/// Matrices of one batch each.
void check_triangular_solve(const Lowering& l) {
    const Dims &a = l.operand_type(0).dims, &b = l.operand_type(1).dims;
    const std::ptrdiff_t batch = static_cast<std::ptrdiff_t>(a.size()) - 2;
    if (batch < 0) return;  // no matrix: its lowering says so
    if (a.size() != b.size() || !fit(Dims(a.begin(), a.begin() + batch), Dims(b.begin(), b.begin() + batch)))
        l.fail("its operands do not fit each other: they are not as many matrices");
}

void check_tuple(const Lowering& l) {
    const Type& made = l.result_type();
    bool fits = made.kind == Type::Kind::tuple && made.parts.size() == l.operand_count();
    for (std::size_t k = 0; fits && k < made.parts.size(); ++k) fits = same(*made.parts[k], l.operand_type(k));
    if (!fits) refuse_type(l, made, "result", "a tuple of its operands");
}

void check_tuple_part(const Lowering& l) {
    if (l.operand_count() != 1) l.fail(fmt::format("it has {} operands, not 1", l.operand_count()));
    const Type& tuple = l.operand_type(0);
    const std::int64_t index = l.integer("index");
    if (tuple.kind != Type::Kind::tuple || index < 0 || index >= static_cast<std::int64_t>(tuple.parts.size()))
        l.fail(fmt::format("{} has no part {}", to_string(tuple), index));
    const Type& part = *tuple.parts[static_cast<std::size_t>(index)];
    if (!same(part, l.result_type())) refuse_type(l, l.result_type(), "result", to_string(part));
}

void check_padding(const Lowering& l) {
    if (!l.operand_type(1).dims.empty()) refuse_type(l, l.operand_type(1), "operand 1", "a scalar");
}

void check_branches(const Lowering& l) {
    const Element wanted = l.op().name == "if" ? Element::pred : Element::i32;
    const Type& type = l.operand_type(0);
    if (type.kind != Type::Kind::tensor || !type.dims.empty() || type.element != wanted)
        refuse_type(l, type, "operand 0", fmt::format("tensor<{}>", name_of(wanted)));
}

struct Constraint {
    std::string_view operation;
    void (*check)(const Lowering&);
};

constexpr Constraint constraints[] = {
    {"batch_norm_grad", check_batch_norm},
    {"batch_norm_inference", check_batch_norm},
    {"batch_norm_training", check_batch_norm},
    {"bitcast_convert", check_bitcast},
    {"case", check_branches},
    {"convolution", check_alike_complex},
    {"dot", check_dot},
    {"dot_general", check_dot_general},
    {"dynamic_conv", check_alike_complex},
    {"dynamic_pad", check_padding},
    {"dynamic_slice", check_dynamic_slice},
    {"dynamic_update_slice", check_dynamic_update_slice},
    {"gather", check_gather_of_sizes},
    {"get_tuple_element", check_tuple_part},
    {"if", check_branches},
    {"pad", check_padding},
    {"reduce", check_reduce},
    {"scatter", check_scatter},
    {"triangular_solve", check_triangular_solve},
    {"tuple", check_tuple},
};

}  // namespace

void check_gather(const Lowering& l, const Dims& sizes) {
    const Dims &operand = l.operand_type(0).dims, &indices = l.operand_type(1).dims;
    const Dims collapsed = l.numbers("collapsed_slice_dims"), batching = l.numbers("operand_batching_dims");
    if (sizes.size() != operand.size())
        l.fail(fmt::format("its windows have {} sizes for {} dimensions", sizes.size(), operand.size()));
    const Dims batch = check_indices(l, operand, indices, batching, l.numbers("start_indices_batching_dims"), collapsed,
                                     l.numbers("start_index_map"));
    Dims window;
    for (std::size_t d = 0; d < operand.size(); ++d) {
        const bool is_gone =
            contains(collapsed, static_cast<std::int64_t>(d)) || contains(batching, static_cast<std::int64_t>(d));
        const std::int64_t most = is_gone ? 1 : operand[d];
        if (sizes[d] < 0 || (operand[d] >= 0 && sizes[d] > std::min(most, operand[d])))
            l.fail(fmt::format("its windows have {} elements along a dimension of {}{}", sizes[d], operand[d],
                               is_gone ? ", which the result lacks" : ""));
        if (!is_gone) window.push_back(sizes[d]);
    }
    expect_dims(l, l.result_type(), with_windows(l, batch, window, l.numbers("offset_dims")), "result");
}

void check_shapes(const Lowering& l) {
    const auto row = std::lower_bound(std::begin(constraints), std::end(constraints), l.op().name,
                                      [](const Constraint& c, const std::string& name) { return c.operation < name; });
    if (row == std::end(constraints) || row->operation != l.op().name) return;
    const bool no_result = row->check == check_branches, no_operand = row->check == check_tuple;
    if ((l.result_count() == 0 && !no_result) || (l.operand_count() == 0 && !no_operand))
        l.fail(fmt::format("it has {} operands and {} results", l.operand_count(), l.result_count()));
    row->check(l);
}

}  // namespace tosavk::stablehlo
