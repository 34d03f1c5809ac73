// GATHER: [N,K,C] at indices [N,W] -> [N,W,C]. SCATTER: [N,K,C] with rows replaced. An index outside 0..K-1 is
// unpredictable in the specification; here GATHER gives zeros for it and SCATTER drops the row.
#include "ops/op.hpp"
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <cstring>

namespace tosavk {

namespace {

struct Sizes {
    std::int64_t n, k, c, w;
};

Sizes sizes_of(const NodeView& view) {
    const Shape &values = view.in(0).shape, &indices = view.in(1).shape;
    if (values.size() != 3 || indices.size() != 2)
        view.fail(
            fmt::format("values {} must have rank 3 and indices {} rank 2", to_string(values), to_string(indices)));
    if (values[0] != indices[0])
        view.fail(
            fmt::format("values {} and indices {} differ in the batch size", to_string(values), to_string(indices)),
            "indices");
    return {values[0], values[1], values[2], indices[1]};
}

std::vector<Shape> gather_infer(const NodeView& view) {
    const Sizes s = sizes_of(view);
    return {{s.n, s.w, s.c}};
}

std::vector<Shape> scatter_infer(const NodeView& view) {
    const Sizes s = sizes_of(view);
    const Shape rows{s.n, s.w, s.c};
    if (view.in(2).shape != rows)
        view.fail(fmt::format("input has shape {}, but values and indices need {}", to_string(view.in(2).shape),
                              to_string(rows)),
                  "input");
    return {view.in(0).shape};
}

/// Calls at(row of the [N,K] rows, row of the [N,W] rows) for every index that is in range.
template <class F> void for_each_index(const RefContext& ctx, const Sizes& s, F at) {
    const auto indices = ctx.ints(1);
    for (std::int64_t i = 0; i < s.n * s.w; ++i) {
        const std::int64_t index = indices[static_cast<std::size_t>(i)];
        if (index >= 0 && index < s.k) at(i / s.w * s.k + index, i);
    }
}

void gather_reference(RefContext& ctx) {
    const Sizes s = sizes_of(ctx.view);
    const std::size_t row = static_cast<std::size_t>(s.c) * size_of(ctx.view.in(0).type);
    Bytes out(static_cast<std::size_t>(s.n * s.w) * row);
    for_each_index(ctx, s, [&](std::int64_t from, std::int64_t to) {
        std::memcpy(out.data() + static_cast<std::size_t>(to) * row,
                    ctx.inputs[0]->bytes.data() + static_cast<std::size_t>(from) * row, row);
    });
    ctx.set_bytes(std::move(out));
}

void scatter_reference(RefContext& ctx) {
    const Sizes s = sizes_of(ctx.view);
    const std::size_t row = static_cast<std::size_t>(s.c) * size_of(ctx.view.in(0).type);
    Bytes out = ctx.inputs[0]->bytes;
    for_each_index(ctx, s, [&](std::int64_t to, std::int64_t from) {
        std::memcpy(out.data() + static_cast<std::size_t>(to) * row,
                    ctx.inputs[2]->bytes.data() + static_cast<std::size_t>(from) * row, row);
    });
    ctx.set_bytes(std::move(out));
}

/// Single elements of one list: a table, which each element of the indices looks into on its own.
bool is_table(const NodeView& view) {
    const Sizes s = sizes_of(view);
    return s.n == 1 && s.c == 1;
}

/// An index outside the table gives 0, as in shaders/gather.comp.
std::string table_text(ExprContext& c) {
    const std::string index = c.in(1);
    const std::string inside =
        fmt::format("clamp({}, 0, {})", index, c.param(static_cast<std::int32_t>(c.view().in(0).shape[1] - 1)));
    const DType out = c.view().out().type;
    const char* type = out == DType::fp16 ? "half4" : is_float(out) ? "vec4" : "ivec4";
    return fmt::format("mix({}, {}(0), notEqual({}, {}))", c.table(0, inside), type, index, inside);
}

OpDef indexed_op(Op op) {
    OpDef def;
    def.op = op;
    def.type_vars = {"index_t", "in_out_t"};
    for (const DType t : {DType::i8, DType::i16, DType::i32}) def.rows.push_back({{DType::i32, t}, "PRO-INT"});
    const auto types_of = [](DType t) { return std::vector<DType>{DType::i32, t}; };
    def.rows = with_floats(with_fp8(std::move(def.rows), types_of), types_of);
    return def;
}

}  // namespace

std::vector<OpDef> gather_scatter_ops() {
    OpDef gather = indexed_op(Op::gather);
    gather.inputs = {{.name = "values", .type = "in_out_t", .min_rank = 3, .max_rank = 3, .access = Access::table},
                     {.name = "indices", .type = "index_t", .min_rank = 2, .max_rank = 2}};
    gather.outputs = {{.name = "output", .type = "in_out_t", .min_rank = 3, .max_rank = 3}};
    gather.infer = gather_infer;
    gather.reference = gather_reference;
    gather.expression = table_text;
    gather.expression_if = is_table;

    OpDef scatter = indexed_op(Op::scatter);
    scatter.inputs = {{.name = "values_in", .type = "in_out_t", .min_rank = 3, .max_rank = 3},
                      {.name = "indices", .type = "index_t", .min_rank = 2, .max_rank = 2},
                      {.name = "input", .type = "in_out_t", .min_rank = 3, .max_rank = 3}};
    scatter.outputs = {{.name = "values_out", .type = "in_out_t", .min_rank = 3, .max_rank = 3}};
    scatter.infer = scatter_infer;
    scatter.reference = scatter_reference;

    return {gather, scatter};
}

}  // namespace tosavk
