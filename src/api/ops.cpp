// The operator registry as JSON.
#include "api/handles.hpp"
#include "ops/op.hpp"

#include <nlohmann/json.hpp>

using namespace tosavk;
using namespace tosavk::api;

tosavk_status tosavk_ops_describe(tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(json, "json");
        auto rows = nlohmann::ordered_json::array();
        for (const OpDef& def : registry()) {
            for (const TypeRow& row : def.rows) {
                auto types = nlohmann::ordered_json::object();
                for (std::size_t k = 0; k < row.types.size() && k < def.type_vars.size(); ++k)
                    types[def.type_vars[k]] = name_of(row.types[k]);
                rows.push_back({{"op", def.name},
                                {"types", std::move(types)},
                                {"requires", row.requires_},
                                {"reference", def.reference != nullptr || def.structural},
                                {"gpu", def.structural || def.expression != nullptr || def.view != nullptr || !def.kernels.empty()},
                                {"fusable", def.expression != nullptr || def.view != nullptr}});
            }
        }
        *json = make_text(rows.dump(2));
    });
}
