// The sweep's rows of TOSA 0.30: each graph is drawn as one operator of 0.30 and upgraded.
#include "verify/conformance/bounds.hpp"
#include "verify/conformance/random_node_0_30.hpp"
#include "verify/conformance/sweep.hpp"

#include <algorithm>

namespace tosavk::conformance {
namespace {

/// The bound of the same row of 1.0; what has none becomes several nodes, or other types.
std::string bound_of(const v0_30::OpInfo& info, const v0_30::Row& row) {
    if (const OpDef* def = find_op(info.op)) {
        if (const auto same = v0_30::row_of_1_0(info, *def, row)) return bound_text(*def, def->rows.at(*same));
    }
    const bool floats =
        std::any_of(row.types.begin(), row.types.end(), [](const v0_30::Type& t) { return is_float(t.type); });
    return floats ? "each node of the upgraded graph by its own bound" : "exact";
}

}  // namespace

std::vector<SweepRow> rows_0_30() {
    std::vector<SweepRow> rows;
    for (const v0_30::OpInfo& info : v0_30::operators()) {
        for (const v0_30::Row& types : info.rows) {
            SweepRow row;
            row.op = v0_30::op_name(info.op);
            row.spec = "0.30";
            for (std::size_t k = 0; k < types.types.size(); ++k)
                row.types.emplace_back(info.type_vars.at(k), v0_30::type_name(types.types[k]) + "_t");
            row.bound = bound_of(info, types);
            row.random = [&info, &types](std::mt19937_64& random, const RandomOptions&) {
                return random_case_0_30(info, types, random);
            };
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

}  // namespace tosavk::conformance
