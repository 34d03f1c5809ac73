// Every operator and type row as JSON: those of 1.0, with those that 0.30 has as well, and those of 0.30 alone; then
// our own.
#include "api/handles.hpp"
#include "frontends/tosa/v0_30.hpp"
#include "kernels/kernels.hpp"
#include "ops/constant.hpp"
#include "ops/op.hpp"
#include "verify/conformance/random_node_0_30.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

using namespace tosavk;
using namespace tosavk::api;

namespace {

using Json = nlohmann::ordered_json;

/// "A+B|C" as [["A","B"],["C"]].
Json alternatives(std::string_view text) {
    const auto split = [](std::string_view all, char by) {
        std::vector<std::string_view> parts;
        for (std::size_t at = 0; at <= all.size();) {
            const std::size_t end = std::min(all.find(by, at), all.size());
            parts.push_back(all.substr(at, end - at));
            at = end + 1;
        }
        return parts;
    };
    Json list = Json::array();
    for (const std::string_view one : split(text, '|')) {
        Json all = Json::array();
        for (const std::string_view name : split(one, '+')) all.push_back(name);
        list.push_back(std::move(all));
    }
    return list;
}

/// What the device and the reference can do with one node of this operator.
struct Support {
    bool reference = true, gpu = true, fusable = true;

    void operator&=(const Support& other) {
        reference = reference && other.reference;
        gpu = gpu && other.gpu;
        fusable = fusable && other.fusable;
    }
};

Support support_of(const OpDef& def) {
    if (def.op == Op::constant || def.op == Op::const_shape) return {true, true, false};  // constants are values
    if (def.structural) return {true, true, false};  // the interpreter and the plan carry it out themselves
    return {def.reference != nullptr, def.expression != nullptr || def.view != nullptr || !kernels_of(def.op).empty(),
            (def.expression != nullptr && def.expression_if == nullptr) || def.view != nullptr};
}

/// Of a row that only 0.30 has: that of all the nodes that an upgraded graph consists of.
Support support_of(const v0_30::OpInfo& info, const v0_30::Row& row) {
    Support all;
    try {
        std::mt19937_64 random(1);
        for (const Node& node : conformance::random_case_0_30(info, row, random).graph.nodes) {
            all &= support_of(op_def(node.op));
        }
    } catch (const Error&) {
        return {false, false, false};
    }
    return all;
}

Json row_json(std::string_view op, Json types, const char* requirements, std::vector<const char*> spec,
              const Support& support) {
    return {{"op", op},
            {"types", std::move(types)},
            {"requires", alternatives(requirements)},
            {"spec", std::move(spec)},
            {"reference", support.reference},
            {"gpu", support.gpu},
            {"fusable", support.fusable}};
}

/// What the specification's tables list beside the types of tensors.
void add_fixed_columns(Op op, DType first, Json& types) {
    if (op == Op::table) types["TABLE_SIZE"] = first == DType::i8 ? "256" : "513";
    if (op == Op::resize && !types.contains("resize_t"))
        types["resize_t"] = is_float(first) ? std::string(name_of(first)) + "_t" : "i16_t";
}

Json row_json(const OpDef& def, const TypeRow& row, bool in_0_30) {
    Json types = Json::object();
    for (std::size_t k = 0; k < row.types.size() && k < def.type_vars.size(); ++k) {
        types[def.type_vars[k]] = std::string(name_of(row.types[k])) + "_t";
    }
    if (!row.types.empty()) add_fixed_columns(def.op, row.types[0], types);
    std::vector<const char*> spec = {is_own(def.op) ? own_domain.data() : "1.0"};
    if (in_0_30) spec.insert(spec.begin(), "0.30");
    return row_json(def.name, std::move(types), row.requires_, std::move(spec), support_of(def));
}

Json row_json(const v0_30::OpInfo& info, const v0_30::Row& row) {
    Json types = Json::object();
    for (std::size_t k = 0; k < row.types.size(); ++k) types[info.type_vars[k]] = v0_30::type_name(row.types[k]) + "_t";
    add_fixed_columns(info.op, row.types[0].type, types);
    return row_json(v0_30::op_name(info.op), std::move(types), row.profiles, {"0.30"}, support_of(info, row));
}

/// Appends the rows of one operator: those of 1.0, then those of 0.30 alone.
void add_rows(Json& rows, const OpDef* def, const v0_30::OpInfo* info) {
    std::vector<const v0_30::Row*> alone;
    std::vector<bool> shared(def ? def->rows.size() : 0, false);
    if (info && info->rows.empty()) shared.assign(shared.size(), true);
    for (std::size_t r = 0; info && r < info->rows.size(); ++r) {
        const auto place = def ? v0_30::row_of_1_0(*info, *def, info->rows[r]) : std::nullopt;
        if (place) shared[*place] = true;
        else alone.push_back(&info->rows[r]);
    }
    for (std::size_t r = 0; r < shared.size(); ++r) rows.push_back(row_json(*def, def->rows[r], shared[r]));
    for (const v0_30::Row* row : alone) rows.push_back(row_json(*info, *row));
}

}  // namespace

tosavk_status tosavk_ops_describe(tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(json, "json");
        Json rows = Json::array();
        for (auto code = static_cast<std::uint32_t>(Op::argmax); code <= static_cast<std::uint32_t>(Op::const_shape);
             ++code) {
            const Op op = static_cast<Op>(code);
            if (op == Op::matmul) add_rows(rows, nullptr, v0_30::find_info(v0_30::fully_connected));
            const OpDef* def = find_op(op);
            for (const OpDef& constant : constant_ops()) {
                if (constant.op == op) def = &constant;
            }
            add_rows(rows, def, v0_30::find_info(op));
        }
        for (const OpDef& def : registry()) {
            if (is_own(def.op)) add_rows(rows, &def, nullptr);
        }
        *json = make_text(rows.dump(2));
    });
}
