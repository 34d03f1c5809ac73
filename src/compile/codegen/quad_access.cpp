#include "compile/codegen/quad_access.hpp"

#include "graph/index_map.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

/// The last dimension is the row: four elements lie in one row, in two, or anyhow in rows shorter than four.
enum class Rows { one, two, any };

Rows rows_of(const QuadAccess& a) {
    if (a.aligned && a.map.dims.back() % 4 == 0) return Rows::one;
    return a.map.dims.size() == 1 || a.map.dims.back() >= 4 ? Rows::two : Rows::any;
}

/// Whether the n elements are known to lie in one row of the map, which need not be a whole quad.
bool in_one_row(const QuadAccess& a) {
    return rows_of(a) == Rows::one || a.map.dims.size() == 1 || (a.row != 0 && a.map.dims.back() % a.row == 0);
}

/// Whether they are a whole quad of the tensor all the same, since quads are counted from the start of each row.
bool is_quad_of_row(const QuadAccess& a) {
    return a.row != 0 && a.map.dims.back() == a.row && a.map.strides.back() == 1 && rows_begin_with_quads(a.map) &&
           !is_padded(a.map);
}

/// `uint NAME_row(uint row)`: position of the row's element 0, rows counted over all dimensions but the last.
std::string row_function(const QuadAccess& a, const Param& param) {
    const IndexMap& map = a.map;
    std::string text = fmt::format("uint {}_row(uint rest{}) {{\n    uint at = uint({}), c;\n", a.name,
                                   is_padded(map) ? ", out bool ok" : "", param(map.base, true));
    if (is_padded(map)) text += "    ok = true;\n";
    for (std::size_t i = map.dims.size() - 1; i-- > 0;) {
        if (i == 0) text += "    c = rest;\n";
        else text += fmt::format("    c = rest % uint({0});\n    rest /= uint({0});\n", param(map.dims[i]));
        if (map.strides[i] != 0) text += fmt::format("    at += c * uint({});\n", param(map.strides[i]));
        if (!pads(map, i)) continue;
        text += fmt::format("    ok = ok && c - uint({}) < uint({});\n", param(map.lo[i], i == 0),
                            param(map.hi[i] - map.lo[i], i == 0));
    }
    return text + "    return at;\n}\n";
}

/// c * stride of the last dimension, for a scalar or a vector c.
std::string along_row(const QuadAccess& a, const Param& param, const std::string& c) {
    const std::int64_t stride = a.map.strides.back();
    return stride == 0 ? "0u * " + c : stride == 1 ? c : fmt::format("{} * uint({})", c, param(stride));
}

/// Ends the function that found positions `at` at coordinates `c`: with padding, what is outside is at 0.
std::string finish(const QuadAccess& a, const Param& param, bool vector) {
    if (!is_padded(a.map)) return "    return at;\n}\n";
    std::string text;
    if (pads(a.map, a.map.dims.size() - 1)) {
        const bool outermost = a.map.dims.size() == 1;
        const std::string lo = param(a.map.lo.back(), outermost),
                          extent = param(a.map.hi.back() - a.map.lo.back(), outermost);
        if (!vector) text = fmt::format("    ok = ok && c - uint({}) < uint({});\n", lo, extent);
        else text = fmt::format("    inside = uvec4(lessThan(c - uint({}), uvec4(uint({})))) * inside;\n", lo, extent);
    }
    if (!vector) return text + "    return ok ? at : 0u;\n}\n";
    return text + "    ok = notEqual(inside, uvec4(0u));\n    return at * inside;\n}\n";
}

std::string vector_function(const QuadAccess& a, const Param& param) {
    const bool padded = is_padded(a.map), single = a.map.dims.size() == 1;
    const std::string dim = param(a.map.dims.back(), single);
    std::string text = fmt::format("uvec4 {}_at4(uint e, uint last{}) {{\n", a.name, padded ? ", out bvec4 ok" : "");
    const auto row = [&](const std::string& rest, const std::string& ok) {
        return fmt::format("{}_row({}{})", a.name, rest, padded ? ", " + ok : "");
    };
    if (single) {
        if (padded) text += "    bool any;\n    uvec4 inside = uvec4(1u);\n";
        text +=
            fmt::format("    uvec4 c = min(uvec4(e, e + 1u, e + 2u, e + 3u), uvec4(last));\n    uvec4 at = {} + {};\n",
                        row("0u", "any"), along_row(a, param, "c"));
        return text + finish(a, param, true);
    }
    if (padded) text += "    bvec4 rows;\n";
    switch (rows_of(a)) {
        case Rows::one:
            text += fmt::format("    uvec4 c = e % uint({0}) + uvec4(0u, 1u, 2u, 3u);\n    uvec4 at = {1} + {2};\n",
                                dim, row(fmt::format("e / uint({})", dim), "rows.x"), along_row(a, param, "c"));
            if (padded) text += "    uvec4 inside = uvec4(rows.x);\n";
            break;
        case Rows::two:
            text += fmt::format(
                "    uint r = e / uint({0});\n    uvec4 c = e % uint({0}) + uvec4(0u, 1u, 2u, 3u);\n"
                "    bvec4 next = greaterThanEqual(c, uvec4(uint({0})));\n"
                "    c = mix(c, c - uint({0}), next);\n    uint first = {1}, second = {2};\n"
                "    uvec4 at = mix(uvec4(first), uvec4(second), next) + {3};\n",
                dim, row("r", "rows.x"), row(fmt::format("min(r + 1u, last / uint({}))", dim), "rows.y"),
                along_row(a, param, "c"));
            if (padded) text += "    uvec4 inside = mix(uvec4(rows.x), uvec4(rows.y), next);\n";
            break;
        case Rows::any:
            text += fmt::format(
                "    uvec4 index = min(uvec4(e, e + 1u, e + 2u, e + 3u), uvec4(last)), c = index % uint({0});\n"
                "    index /= uint({0});\n    uvec4 at = uvec4({1}, {2}, {3}, {4}) + {5};\n",
                dim, row("index.x", "rows.x"), row("index.y", "rows.y"), row("index.z", "rows.z"),
                row("index.w", "rows.w"), along_row(a, param, "c"));
            if (padded) text += "    uvec4 inside = uvec4(rows);\n";
            break;
    }
    return text + finish(a, param, true);
}

/// One position for all four elements, which lie in one row of the index space.
std::string scalar_function(const QuadAccess& a, const Param& param) {
    const std::string dim = param(a.map.dims.back(), a.map.dims.size() == 1), ok = is_padded(a.map) ? ", ok" : "";
    return fmt::format(
               "uint {0}_at(uint e{1}) {{\n    uint c = e % uint({2});\n    uint at = {0}_row(e / uint({2}){3}) + "
               "{4};\n",
               a.name, is_padded(a.map) ? ", out bool ok" : "", dim, ok, along_row(a, param, "c")) +
           finish(a, param, false);
}

}  // namespace

bool is_whole_quad(const QuadAccess& a) { return a.aligned && has_rows_of_quads(a.map); }

bool parts_quads(const QuadAccess& a) {
    const std::int64_t stride = a.map.strides.back();
    // Four neighbours in one row are read at once, forwards or backwards.
    const bool at_once = rows_of(a) == Rows::one && stride >= -1 && stride <= 1 && !pads(a.map, a.map.dims.size() - 1);
    return !is_whole_quad(a) && !at_once;
}

std::string read_function_of_one(const QuadAccess& a, const Param& param, const std::string& buffer,
                                 const std::string& quad) {
    return position_function(a, param) +
           fmt::format(
               "{0} {1}_quad(uint e, uint n, uint last, {0} fill) {{\n    bool ok;\n    uint at = {1}_at(e, ok);\n"
               "    return ok ? {0}({2}_load1(at)) : fill;\n}}\n",
               quad, a.name, buffer);
}

std::string position_function(const QuadAccess& a, const Param& param) {
    return row_function(a, param) + scalar_function(a, param);
}

std::string position_functions(const QuadAccess& a, const Param& param) {
    return row_function(a, param) + (is_whole_quad(a) ? scalar_function(a, param) : vector_function(a, param));
}

std::string read_function(const QuadAccess& a, const Param& param, const std::string& buffer, const std::string& quad,
                          const std::string& splat) {
    const bool padded = is_padded(a.map);
    const std::int64_t stride = a.map.strides.back();
    const std::string head =
        fmt::format("{} {}_quad(uint e, uint n, uint last{}) {{\n", quad == "wide_quad" ? "wide4" : quad, a.name,
                    padded ? fmt::format(", {} fill", quad) : "");
    if (is_whole_quad(a) || is_quad_of_row(a)) {
        const std::string load = fmt::format("{}_load4({}_at(e{}))", buffer, a.name, padded ? ", ok" : "");
        return position_function(a, param) + head +
               (padded ? fmt::format("    bool ok;\n    {0} v = {1};\n    return ok ? v : fill;\n}}\n", quad, load)
                       : fmt::format("    return {};\n}}\n", load));
    }
    if (in_one_row(a) && !pads(a.map, a.map.dims.size() - 1) && stride >= -1 && stride <= 1) {
        const std::string count = rows_of(a) == Rows::one ? "4u" : "n";
        const std::string at = fmt::format("{}_at(e{})", a.name, padded ? ", ok" : "");
        // Backwards, the quad of the last element is read and turned; with fewer than four its row has no more.
        const std::string load = stride == 0 ? fmt::format("{}({}_load1({}))", splat, buffer, at)
                               : stride == 1 ? fmt::format("{}_loadn({}, {})", buffer, at, count)
                                             : std::string();
        if (!load.empty()) {
            return row_function(a, param) + scalar_function(a, param) + head +
                   (padded ? fmt::format("    bool ok;\n    {0} v = {1};\n    return ok ? v : fill;\n}}\n", quad, load)
                           : fmt::format("    return {};\n}}\n", load));
        }
        if (rows_of(a) == Rows::one && !padded && quad != "wide_quad") {
            return row_function(a, param) + scalar_function(a, param) + head +
                   fmt::format("    return {}_loadn({} - 3u, 4u).wzyx;\n}}\n", buffer, at);
        }
    }
    std::string text = row_function(a, param) + vector_function(a, param) + head;
    if (padded) text += "    bvec4 ok;\n";
    text += fmt::format(
        "    uvec4 at = {0}_at4(e, last{1});\n"
        "    {2} v = {3}({4}_load1(at.x), {4}_load1(at.y), {4}_load1(at.z), {4}_load1(at.w));\n",
        a.name, padded ? ", ok" : "", quad == "wide_quad" ? "wide4" : quad, quad, buffer);
    return text + (padded ? "    return mix(fill, v, ok);\n}\n" : "    return v;\n}\n");
}

}  // namespace tosavk
