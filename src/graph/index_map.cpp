#include "graph/index_map.hpp"

#include <algorithm>

namespace tosavk {

IndexMap broadcast_map(const Shape& from, const Shape& space) {
    IndexMap map{space, std::vector<std::int64_t>(space.size(), 0)};
    const auto strides = row_major_strides(from);
    const std::size_t lead = space.size() - std::min(space.size(), from.size());
    for (std::size_t i = 0; i < from.size() && i < space.size(); ++i) {
        if (from[i] != 1) map.strides[lead + i] = strides[i];
    }
    return map;
}

bool is_padded(const IndexMap& map) {
    for (std::size_t i = 0; i < map.lo.size(); ++i) {
        if (map.lo[i] > 0 || map.hi[i] < map.dims[i]) return true;
    }
    return false;
}

bool pads(const IndexMap& map, std::size_t i) { return !map.lo.empty() && (map.lo[i] > 0 || map.hi[i] < map.dims[i]); }

bool rows_begin_with_quads(const IndexMap& map) {
    return map.base % 4 == 0 &&
           std::all_of(map.strides.begin(), map.strides.end() - 1, [](auto s) { return s % 4 == 0; });
}

bool has_rows_of_quads(const IndexMap& map) {
    const std::size_t row = map.dims.size() - 1;
    if (map.dims[row] % 4 != 0 || map.strides[row] != 1 || !rows_begin_with_quads(map)) return false;
    return !pads(map, row) || (map.lo[row] % 4 == 0 && map.hi[row] % 4 == 0);
}

bool keeps_quads(const IndexMap& map) {
    const IndexMap simple = simplify(map);
    if (simple.dims.empty() || simple.dims.back() % 4 != 0 || simple.strides.back() != 1 || simple.base % 4 != 0)
        return false;
    return std::all_of(simple.strides.begin(), simple.strides.end() - 1,
                       [](std::int64_t stride) { return stride % 4 == 0; });
}

IndexMap simplify(const IndexMap& map) {
    const bool padded = is_padded(map);
    IndexMap out;
    out.base = map.base;
    const auto whole = [&](std::size_t i) { return !padded || (map.lo[i] <= 0 && map.hi[i] >= map.dims[i]); };
    for (std::size_t i = 0; i < map.dims.size(); ++i) {
        if (map.dims[i] == 1 && whole(i)) continue;
        // Padding around whole rows is padding around their elements.
        const bool joins = !out.dims.empty() && whole(i) && out.strides.back() == map.strides[i] * map.dims[i];
        if (joins) {
            out.dims.back() *= map.dims[i];
            out.strides.back() = map.strides[i];
            if (padded) {
                out.lo.back() *= map.dims[i];
                out.hi.back() *= map.dims[i];
            }
        } else {
            out.dims.push_back(map.dims[i]);
            out.strides.push_back(map.strides[i]);
            if (padded) {
                out.lo.push_back(std::max<std::int64_t>(map.lo[i], 0));
                out.hi.push_back(std::min(map.hi[i], map.dims[i]));
            }
        }
    }
    return out;
}

std::int64_t evaluate(const IndexMap& map, std::int64_t e) {
    std::int64_t at = map.base;
    for (std::size_t i = map.dims.size(); i-- > 0;) {
        const std::int64_t c = e % map.dims[i];
        e /= map.dims[i];
        if (!map.lo.empty() && (c < map.lo[i] || c >= map.hi[i])) return -1;
        at += c * map.strides[i];
    }
    return at;
}

}  // namespace tosavk
