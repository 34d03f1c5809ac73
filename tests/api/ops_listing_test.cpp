// The listing of operators and type rows (tosavk_ops_describe), which scripts match with the specification's tables.
#include "support/corpus.hpp"

#include "support/require.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

namespace tosavk {
namespace {

using nlohmann::json;

using Key = std::pair<std::string, json>;  ///< operator and types

bool has(const json& row, const char* version) {
    const json& spec = row.at("spec");
    return std::find(spec.begin(), spec.end(), json(version)) != spec.end();
}

json listing() { return json::parse(cpp::describe_ops()); }

/// Every row of TOSA 1.0 and the alternatives of what it requires; empty without the corpus.
std::map<Key, std::set<json>> specified() {
    std::map<Key, std::set<json>> rows;
    const auto root = test::corpus();
    if (root.empty()) return rows;
    std::ifstream file(root / "spec" / "tosa-operators.json");
    const json specification = json::parse(file);
    for (const json& op : specification.at("operators")) {
        for (const json& row : op.at("type_rows")) {
            const json& any_of = row.at("any_of");
            rows[{op.at("name"), row.at("types")}] = std::set<json>(any_of.begin(), any_of.end());
        }
    }
    return rows;
}

TEST(OpsListing, RowsHaveTheirForm) {
    std::set<Key> seen;
    for (const json& row : listing()) {
        SCOPED_TRACE(row.dump());
        EXPECT_EQ(row.size(), 7u);
        EXPECT_TRUE(row.at("op").is_string());
        for (const json& type : row.at("types")) EXPECT_TRUE(type.is_string());
        for (const json& alternative : row.at("requires")) {
            EXPECT_FALSE(alternative.empty());
            for (const json& name : alternative) EXPECT_TRUE(name.is_string());
        }
        EXPECT_FALSE(row.at("requires").empty());
        EXPECT_TRUE(has(row, "1.0") || has(row, "0.30") || has(row, "tosavk"));
        for (const char* key : {"reference", "gpu", "fusable"}) EXPECT_TRUE(row.at(key).is_boolean());
        EXPECT_TRUE(seen.insert(Key(row.at("op"), row.at("types"))).second) << "listed twice";
    }
}

TEST(OpsListing, RowsOf1_0AreTheSpecifications) {
    const auto wanted = specified();
    TOSAVK_NEEDS_CORPUS(wanted);
    EXPECT_EQ(wanted.size(), 389u);
    for (const json& row : listing()) {
        if (!has(row, "1.0")) continue;
        const auto it = wanted.find(Key(row.at("op"), row.at("types")));
        ASSERT_NE(it, wanted.end()) << row.dump() << " is not in the specification";
        const json& found = row.at("requires");
        EXPECT_EQ(std::set<json>(found.begin(), found.end()), it->second) << row.dump();
    }
}

TEST(OpsListing, EveryRowOf1_0Runs) {
    auto missing = specified();
    TOSAVK_NEEDS_CORPUS(missing);
    for (const json& row : listing()) {
        const bool runs = row.at("reference").get<bool>() && row.at("gpu").get<bool>();
        if (has(row, "1.0") && runs) missing.erase(Key(row.at("op"), row.at("types")));
    }
    for (const auto& [key, needs] : missing) ADD_FAILURE() << key.first << " " << key.second << " is missing";
}

TEST(OpsListing, EveryRowOf0_30IsListed) {
    std::size_t rows = 0;
    std::set<std::string> operators;
    for (const json& row : listing()) {
        if (!has(row, "0.30") || row.at("types").empty()) continue;
        ++rows;
        operators.insert(row.at("op"));
    }
    EXPECT_EQ(rows, 322u);
    EXPECT_EQ(operators.size(), 66u);
}

TEST(OpsListing, EveryRowOf0_30Runs) {
    std::set<std::string> untyped;
    for (const json& row : listing()) {
        if (!has(row, "0.30")) continue;
        EXPECT_TRUE(row.at("reference").get<bool>() && row.at("gpu").get<bool>()) << row.dump();
        if (row.at("types").empty()) untyped.insert(row.at("op"));
    }
    EXPECT_EQ(untyped, (std::set<std::string>{"CUSTOM", "COND_IF", "WHILE_LOOP"}));
}

TEST(OpsListing, OwnRowsAreTheirOwnDomains) {
    std::set<std::string> operators;
    for (const json& row : listing()) {
        if (!has(row, "tosavk")) continue;
        operators.insert(row.at("op"));
        EXPECT_EQ(row.at("spec"), json::array({"tosavk"}));
        EXPECT_EQ(row.at("requires"), json::parse(R"([["tosavk"]])"));
        EXPECT_TRUE(row.at("reference").get<bool>() && row.at("gpu").get<bool>()) << row.dump();
    }
    for (const char* name : {"DIVIDE", "REMAINDER", "SQRT", "CUMULATE"}) EXPECT_TRUE(operators.contains(name)) << name;
}

TEST(OpsListing, UnsignedRowsBelongTo0_30) {
    std::size_t found = 0;
    for (const json& row : listing()) {
        const auto unsigned_type = [](const json& type) { return type.get<std::string>().starts_with("u"); };
        if (std::none_of(row.at("types").begin(), row.at("types").end(), unsigned_type)) continue;
        ++found;
        EXPECT_EQ(row.at("op"), "RESCALE");
        EXPECT_EQ(row.at("spec"), json::array({"0.30"}));
        EXPECT_EQ(row.at("requires"), json::parse(R"([["BI"],["MI"],["MT"]])"));
        EXPECT_TRUE(row.at("reference").get<bool>() && row.at("gpu").get<bool>()) << row.dump();
    }
    EXPECT_EQ(found, 6u);
}

}  // namespace
}  // namespace tosavk
