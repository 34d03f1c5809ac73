// TABLE: a lookup for i8, a lookup with linear interpolation (7 fraction bits) for i16.
#include "base/numerics/scale.hpp"
#include "ops/pointwise.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

using namespace pointwise;

void check_table(const NodeView& view, const Level&) {
    const bool narrow = view.in(0).type == DType::i8;
    const std::size_t size = narrow ? 256 : 513;
    if (view.in(1).shape != Shape{static_cast<std::int64_t>(size)}) {
        view.fail(fmt::format("table has shape {}, but type {} needs {} entries", to_string(view.in(1).shape),
                              name_of(view.in(0).type), size),
                  view.in(1).name);
    }
    if (narrow || !view.in(1).is_constant()) return;
    const std::vector<std::int64_t> table = view.constant_ints(1);
    for (std::size_t i = 0; i + 1 < size; ++i) {
        const std::int64_t slope = table[i + 1] - table[i];
        if (slope < min_of(DType::i16) || slope > max_of(DType::i16)) {
            view.fail(fmt::format("the step from table entry {} to {} is {}, which does not fit i16", i, i + 1, slope),
                      view.in(1).name);
        }
    }
}

void table_reference(RefContext& c) {
    const std::vector<std::int64_t> table = c.ints(1);
    if (c.view.in(0).type == DType::i8) {
        map_ints(c, [&](std::int64_t x) { return table[static_cast<std::size_t>(x + 128)]; });
    } else {
        map_ints(c, [&](std::int64_t x) { return std::int64_t{lookup16(table, x)}; });
    }
}

std::string table_text(ExprContext& c) {
    const std::string x = c.in(0);
    if (c.view().in(0).type == DType::i8) return c.table(1, "(" + x + " + 128)");
    const std::string base = c.table(1, "((" + x + " + 32768) >> 7)");
    const std::string next = c.table(1, "(((" + x + " + 32768) >> 7) + 1)");
    return fmt::format("table_i16({}, {}, {})", base, next, x);
}

}  // namespace

std::vector<OpDef> table_ops() {
    OpDef def = unary(Op::table, {}, table_text, table_reference);
    def.operations = 4;
    def.type_vars = {"in_t", "table_t", "out_t"};
    def.inputs = {
        {"input1", "in_t"},
        {.name = "table", .type = "table_t", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::table}};
    def.outputs = {{"output", "out_t"}};
    def.rows = {{{DType::i8, DType::i8, DType::i8}, "PRO-INT"}, {{DType::i16, DType::i16, DType::i32}, "EXT-INT16"}};
    def.check = check_table;
    return {def};
}

}  // namespace tosavk
