// The list of TFLite operators in README.md is the list of those that the front end has a lowering for.
#include "frontends/frontend.hpp"
#include "frontends/tflite/rows.hpp"
#include "support/require.hpp"
#include "support/small_models.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace tosavk {
namespace {

/// Whether the front end knows the operator at all, with operands that suit it or not.
bool is_known(tflite::BuiltinOperator code) {
    try {
        import_model(test::small_float_model(code), "model", {});
        return true;
    } catch (const Error& e) {
        const std::string message = e.what();
        const std::string name = std::string("operator ") + tflite::EnumNameBuiltinOperator(code) + " ";
        return message.find(name) == std::string::npos || !message.ends_with(") is not supported");
    }
}

/// The names in a row of README.md's table.
std::set<std::string> listed_in(const std::string& row) {
    std::set<std::string> listed;
    std::ifstream readme(std::string(std::getenv("TOSAVK_SOURCE")) + "/README.md");
    for (std::string line; std::getline(readme, line);) {
        if (line.rfind(row, 0) != 0) continue;
        std::istringstream words(line.substr(row.size()));
        for (std::string word; words >> word;) {
            if (word[0] >= 'A' && word[0] <= 'Z') listed.insert(word);
        }
    }
    return listed;
}

TEST(TfliteListing, ReadmeNamesEveryOperator) {
    TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE");
    const std::set<std::string> listed = listed_in("| TFLite operators |");
    std::set<std::string> known;
    for (int code = 0; code <= static_cast<int>(tflite::BuiltinOperator::MAX); ++code) {
        const auto op = static_cast<tflite::BuiltinOperator>(code);
        const std::string name = tflite::EnumNameBuiltinOperator(op);
        if (!name.empty() && is_known(op)) known.insert(name);
    }
    EXPECT_GT(known.size(), 40u);
    EXPECT_EQ(known.count("CUSTOM"), 0u);
    EXPECT_EQ(listed, known);
}

TEST(TfliteListing, ReadmeNamesCustomOperators) {
    TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE");
    const std::set<std::string> listed = listed_in("| TFLite's custom operators |");
    EXPECT_GE(listed.size(), 3u);
    for (const std::string& name : listed)
        EXPECT_NE(find_operator_row(tflite::BuiltinOperator::CUSTOM, name), nullptr) << name;
    EXPECT_EQ(find_operator_row(tflite::BuiltinOperator::CUSTOM, "None"), nullptr);
}

}  // namespace
}  // namespace tosavk
