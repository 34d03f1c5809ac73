// Row groups: an invocation, or some lanes, pass over a row once for each reduction that lies behind another. Where the
// rows are columns of matrices, a quad is one element of each of four neighbours, and the values of the rows are quads
// too.
#include "compile/codegen/source_builder.hpp"

#include <algorithm>

namespace tosavk {

namespace {

/// The array of shared memory that holds four of a type for each lane.
const char* shared_lanes(const std::string& type) { return type == "ivec4" ? "lanes_i" : "lanes_f"; }

}  // namespace

/// What partial results are kept in: sums and products of floats in 32 bits.
std::string SourceBuilder::partial_type(const NodeView& view) const {
    const DType type = view.out().type;
    return op_def(view.node().op).tolerance ? sum_type(type) : vector_type(type);
}

/// The code that makes one of a quad of partial results per lane: first over the lanes, then over the quad.
std::string SourceBuilder::fold_row(const std::string& combine, const std::string& type, const std::string& partial) {
    std::string text;
    const std::int64_t lanes = group_.rows->lanes;
    // Those below so many by shuffles, which exchange no half4.
    const std::int64_t subgroup = type == "half4" ? 0 : device_.folds_of(lanes);
    if (lanes > std::max<std::int64_t>(subgroup, 1)) {
        const char* shared = shared_lanes(type);
        text += fmt::format(
            "    {0}[SHARED_STORE(0u, 4u, gl_LocalInvocationID.x)] = {1};\n    barrier();\n"
            "    for (uint half_lanes = {2}u; half_lanes >= {5}u; half_lanes /= 2u) {{\n"
            "        if (lane < half_lanes) {0}[SHARED_STORE(0u, 4u, gl_LocalInvocationID.x)] = "
            "{3}({0}[SHARED_LOAD(0u, 4u, gl_LocalInvocationID.x)], "
            "{0}[SHARED_LOAD(0u, 4u, gl_LocalInvocationID.x + half_lanes)]);\n        barrier();\n    }}\n"
            "    {1} = {4}({0}[gl_LocalInvocationID.x - lane{6}]);\n    barrier();\n",
            shared, partial, lanes / 2, combine, type, std::max<std::int64_t>(subgroup, 1),
            subgroup != 0 ? fmt::format(" + lane % {}u", subgroup) : "");
    }
    if (subgroup != 0) {
        // Subgroups are runs of invocations. Behind branches lanes need not be together. Each of a row's subgroups has
        // the same numbers here; only its first lane's result is that of the tree.
        const std::int64_t together = std::min(lanes, subgroup);
        text += fmt::format(
            "    subgroupBarrier();\n"
            "    for (uint half_lanes = {1}u; half_lanes > 0u; half_lanes /= 2u) {0} = {2}({0}, "
            "subgroupShuffleXor({0}, "
            "half_lanes));\n    {0} = subgroupShuffle({0}, gl_SubgroupInvocationID - lane % {3}u);\n",
            partial, together / 2, combine, together);
    }
    const std::int64_t axis =
        group_.rows->by_elements ? 1 : group_.rows->axis;  // of one element the quad has four copies
    if (axis > 2)
        text += fmt::format("    {0} = {1}{2}({0}, {0}.zwxy){3};\n", partial, axis == 3 ? type + "(" : "", combine,
                            axis == 3 ? fmt::format(".x, {0}.yzw)", partial) : "");
    if (axis > 1) text += fmt::format("    {0} = {1}({0}, {0}.yxwz);\n", partial, combine);
    return text + fmt::format("    {0} = {0}.xxxx;\n", partial);
}

/// One more step of a sum over columns: two sums take turns, and SUM is what the last step made, SUM_older the other
/// (column_length()).
std::string SourceBuilder::next_of_column(const std::string& combine, const std::string& type, const std::string& sum,
                                          const std::string& is_first, const std::string& term) {
    return fmt::format("        {{ {0}{1} next = {2} ? {3} : {4}({5}_older, {3}); {5}_older = {5}; {5} = next; }}\n",
                       type == "ivec4" ? "" : "precise ", type, is_first, term, combine, sum);
}

/// The code that makes one result for all lanes of what each has of its part of the columns.
std::string SourceBuilder::fold_columns(const std::string& combine, const std::string& type, const std::string& sum) {
    const Rows& rows = *group_.rows;
    std::string text = fmt::format("    if (steps > 1u) {0} = {1}({0}_older, {0});\n", sum, combine);
    if (rows.lanes == 1) return text;
    const char* shared = shared_lanes(type);
    const std::string parts = param(static_cast<std::int32_t>((rows.axis + rows.length - 1) / rows.length));
    text += fmt::format(
        "    {0}[SHARED_STORE(0u, 4u, gl_LocalInvocationID.x)] = {1};\n    barrier();\n    for (uint part = 0u; part < "
        "uint({2}); ++part) "
        "{{\n",
        shared, sum, parts);
    text += next_of_column(
        combine, type, sum, "part < 2u",
        fmt::format("{}({}[SHARED_LOAD(0u, 4u, part * side_by_side + gl_LocalInvocationID.x % side_by_side)])", type,
                    shared));
    return text + fmt::format("    }}\n    {0} = {1}({0}_older, {0});\n    barrier();\n", sum, combine);
}

/// A pass over the row: what its reductions and the outputs of this depth need is computed anew, not kept from an
/// earlier pass.
void SourceBuilder::add_row_loop(const RowPasses& all, std::size_t depth) {
    const Rows& rows = *group_.rows;
    const RowPass& pass = all.passes[depth];
    if (!pass.has_loop) return;

    std::string before = body_.take(), after;
    leaves_.clear();
    const auto variables = variables_;
    count_ = rows.count * rows.axis;
    aligned_ = (rows.are_columns() ? rows.inner : rows.axis) % 4 == 0;
    single_ = rows.by_elements;
    // Two quads a pass, where they can be one load.
    eights_ = !rows.are_columns() && rows.lanes == 1 && rows.axis % 8 == 0 && loads_are_loops(device_) &&
              group_.stores.empty();
    const std::string last =
        aligned_ ? fmt::format("uint({})", param(static_cast<std::int32_t>(count_ - 1), true)) : "e + n - 1u";
    std::string loop, over;
    if (rows.are_columns()) {
        loop = fmt::format("        uint e = top + q * uint({}), last = {};\n",
                           param(static_cast<std::int32_t>(rows.inner)), last);
        over = "uint q = begin; q < begin + steps; ++q";
    } else if (rows.by_elements) {
        const auto axis = param(static_cast<std::int32_t>(rows.axis));
        loop = fmt::format("        uint e = row * uint({0}) + q, last = e;\n        const uint n = 1u;\n", axis);
        over = fmt::format("uint q = lane; q < uint({}); q += {}u", axis, rows.lanes);
    } else {
        const auto axis = param(static_cast<std::int32_t>(rows.axis));
        loop = fmt::format("        uint e = row * uint({0}) + q * 4u, n = {1}, last = {2};\n", axis,
                           aligned_ ? std::string("4u") : fmt::format("min(4u, uint({}) - q * 4u)", axis), last);
        const auto quads = param(static_cast<std::int32_t>((rows.axis + 3) / 4));
        over = fmt::format("uint q = lane; q < uint({}); q += {}u", quads, eights_ ? 2 : rows.lanes);
    }
    if (eights_) loop += "        uint e_a = e, e_b = e + 4u;\n";
    for (const NodeId id : pass.over_elements) add_member(id);
    std::vector<std::string> results;
    for (const NodeId id : pass.reductions) {
        const NodeView view(graph_, id);
        const std::string combine = fmt::format("COMBINE{}", names_), partial = fmt::format("v{}", names_++);
        const Name value = value_of(view, 0);
        functions_ += fmt::format("#define {}(a, b) {}\n", combine, op_def(view.node().op).combine(view));
        const std::string type = partial_type(view);
        // NVIDIA's compiler takes an older sum that nothing has set yet for the newer one.
        const std::string start = fmt::format("{} = {}(0)", partial, type), older = partial + "_older";
        before += fmt::format("    {}{} {};\n", is_float(view.out().type) ? "precise " : "", type,
                              rows.are_columns() ? fmt::format("{}, {} = {}(0)", start, older, type) : partial);
        const auto next = [&](const std::string& term) { return fmt::format("{}({}, {})", combine, partial, term); };
        const std::string first = value.of(quads().front());
        std::string folds =
            fmt::format("        if (q == lane) {0} = {1}; else {0} = {2};\n", partial, first,
                        aligned_ || rows.by_elements
                            ? next(first)
                            : fmt::format("mix({}, {}, lessThan(ivec4(0, 1, 2, 3), ivec4(n)))", partial, next(first)));
        if (rows.are_columns()) folds = next_of_column(combine, type, partial, "q < begin + 2u", first);
        body_.add_once(folds);
        for (const char* quad : quads().subspan(1))
            body_.add_once(fmt::format("        {} = {};\n", partial, next(value.of(quad))));
        after += rows.are_columns() ? fold_columns(combine, type, partial) : fold_row(combine, type, partial);
        results.push_back(partial);
        if (is_small_float(view.out().type) && op_def(view.node().op).tolerance) {
            results.back() = fmt::format("v{}", names_++);
            after += fmt::format("    {} {} = {};\n", vector_type(view.out().type), results.back(),
                                 rounded(view.out().type, partial));
        }
    }
    loop += body_.take();
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) {
        const ValueId id = group_.outputs[k];
        if (element_count(graph_.value(id).shape) != rows.count && all.depths.at(id) == depth) store_value(id, k);
    }
    for (const Group::Store& part : group_.stores) {
        if (all.depths.at(stored_by(graph_, part)) == depth) store_part(part);
    }
    if (const std::string stores = body_.take(); !stores.empty())
        loop += rows.lanes > 1 ? "        if (live) {\n" + stores + "        }\n" : stores;
    body_.add_once(before + fmt::format("    for ({}) {{\n", over) + loop + "    }\n" + after);
    eights_ = false;
    variables_ = variables;
    for (std::size_t k = 0; k < pass.reductions.size(); ++k)
        variables_[graph_.node(pass.reductions[k]).outputs.front()] = {results[k]};
}

void SourceBuilder::add_rows() {
    const Rows& rows = *group_.rows;
    source_.writes = group_.outputs;
    const RowPasses all = row_passes(graph_, group_, Outputs::known);
    for (std::size_t depth = 0; depth < all.passes.size(); ++depth) {
        count_ = rows.count;
        single_ = !rows.are_columns();
        aligned_ = rows.are_columns() && rows.inner % 4 == 0;
        leaves_.clear();
        std::string before = body_.take();
        for (const NodeId id : all.passes[depth].of_rows) add_member(id);
        if (!body_.empty()) before += fmt::format("    e = row;\n{}", single_ ? "" : "    last = row + n - 1u;\n");
        body_.add_once(before + body_.take());
        add_row_loop(all, depth);
    }
    for (std::size_t k = 0; k < group_.outputs.size(); ++k) {
        const Value& value = graph_.value(group_.outputs[k]);
        if (element_count(value.shape) != rows.count) continue;
        const std::string variable = variables_.at(group_.outputs[k]).of("");
        const std::string store = !rows.are_columns() ? fmt::format("store1(row, {})", element(value.type, variable, 0))
                                : stores_quads()      ? fmt::format("store4(row, {})", variable)
                                                      : fmt::format("storen(row, n, {})", variable);
        body_.add_once(fmt::format("    if (lane == 0u{}) out{}_{};\n", rows.lanes > 1 ? " && live" : "", k, store));
    }
}

std::string SourceBuilder::column_main() {
    const Rows& rows = *group_.rows;
    const auto number = [&](std::int64_t value, bool late = false) {
        return fmt::format("uint({})", param(static_cast<std::int32_t>(value), late));
    };
    const std::string quads = number(rows.column_quads(), true), inner = number(rows.inner), axis = number(rows.axis);
    std::string text = "void main() {\n    uint e, last;\n";
    if (rows.lanes == 1) {
        text += fmt::format(
            "    uint quad = invocation_index();\n    if (quad >= {}) return;\n    const uint lane = 0u;\n", quads);
    } else {
        // Lanes beyond the last columns go along with them, since all must meet at the barriers.
        text = fmt::format(
            "shared vec4 lanes_f[gl_WorkGroupSize.x];\nshared ivec4 lanes_i[gl_WorkGroupSize.x];\n"
            "const uint side_by_side = gl_WorkGroupSize.x / {}u;\n{}"
            "    uint lane = gl_LocalInvocationID.x / side_by_side;\n"
            "    uint quad = workgroup_index() * side_by_side + gl_LocalInvocationID.x % side_by_side;\n"
            "    bool live = quad < {};\n    quad = min(quad, {} - 1u);\n",
            rows.lanes, text, quads, quads);
    }
    text += fmt::format(
        "    const uint in_matrix = ({0} + 3u) / 4u;\n"
        "    uint matrix = quad / in_matrix, i = quad % in_matrix * 4u, n = min(4u, {0} - i);\n"
        "    uint row = matrix * {0} + i, top = matrix * {1} * {0} + i;\n"
        "    uint begin = min(lane * {2}, {1}), steps = min({2}, {1} - begin);\n",
        inner, axis, number(rows.length));
    return text + body_.text() + "}\n";
}

std::string SourceBuilder::row_main() {
    const Rows& rows = *group_.rows;
    if (rows.are_columns()) return column_main();
    const std::string count = fmt::format("uint({})", param(static_cast<std::int32_t>(rows.count), true));
    std::string text, end;
    if (rows.in_turn > 1) {
        text = fmt::format(
            "void main() {{\n    const uint lane = 0u;\n    uint row = invocation_index() * {0}u, e;\n"
            "    for (const uint end = min(row + {0}u, {1}); row < end; ++row) {{\n",
            rows.in_turn, count);
        end = "    }\n";
    } else if (rows.lanes == 1) {
        text = fmt::format(
            "void main() {{\n    uint row = invocation_index(), e;\n    if (row >= {}) return;\n    const uint lane = "
            "0u;\n",
            count);
    } else {
        // Lanes beyond the last row go along with it, since all must meet at the barriers.
        text = fmt::format(
            "shared vec4 lanes_f[gl_WorkGroupSize.x];\nshared ivec4 lanes_i[gl_WorkGroupSize.x];\nvoid main() {{\n"
            "    uint lane = gl_LocalInvocationID.x % {0}u, e;\n"
            "    uint row = workgroup_index() * (gl_WorkGroupSize.x / {0}u) + gl_LocalInvocationID.x / {0}u;\n"
            "    bool live = row < {1};\n    row = min(row, {1} - 1u);\n",
            rows.lanes, count);
    }
    return text + body_.text() + end + "}\n";
}

}  // namespace tosavk
