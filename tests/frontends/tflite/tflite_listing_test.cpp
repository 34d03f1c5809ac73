// The list of TFLite operators in README.md is the list of those that the front end has a lowering for.
#include "frontends/frontend.hpp"
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

TEST(TfliteListing, ReadmeNamesEveryOperator) {
    TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE");
    const char* source = std::getenv("TOSAVK_SOURCE");
    std::set<std::string> listed, known;
    const std::string row = "| TFLite operators |";
    std::ifstream readme(std::string(source) + "/README.md");
    for (std::string line; std::getline(readme, line);) {
        if (line.rfind(row, 0) != 0) continue;
        std::istringstream words(line.substr(row.size()));
        for (std::string word; words >> word;) {
            if (word[0] >= 'A' && word[0] <= 'Z') listed.insert(word);
        }
    }
    for (int code = 0; code <= static_cast<int>(tflite::BuiltinOperator::MAX); ++code) {
        const auto op = static_cast<tflite::BuiltinOperator>(code);
        const std::string name = tflite::EnumNameBuiltinOperator(op);
        if (!name.empty() && is_known(op)) known.insert(name);
    }
    EXPECT_GT(known.size(), 40u);
    EXPECT_EQ(known.count("CUSTOM"), 0u);
    EXPECT_EQ(listed, known);
}

}  // namespace
}  // namespace tosavk
