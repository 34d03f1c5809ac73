// Statements of generated code for one quad and for two. No GPU.
#include "compile/codegen/statements.hpp"
#include "compile/codegen/source.hpp"
#include "compile/group/fuse.hpp"
#include "frontends/problems/problem.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

using namespace tosavk;
using namespace tosavk::test;

namespace {

/// A device that makes two quads of elementwise results at once.
DevicePlan device_of_eights() {
    DevicePlan device = test_device();
    device.slow_storage = device.int64 = true;
    return device;
}

std::string shader(const std::string& line, const DevicePlan& device) {
    const Graph graph = load_problem(line, level_none);
    const std::vector<Group> groups = fuse(graph, device, {});
    EXPECT_EQ(groups.size(), 1u) << line;
    return build_source(graph, groups.at(0), device).glsl;
}

}  // namespace

TEST(Statements, NamesAreOfAllQuadsOrOfEach) {
    EXPECT_EQ((Name{"x", true}.of("_a")), "x_a");
    EXPECT_EQ((Name{"x", true}.of("")), "x");
    EXPECT_EQ((Name{"sum", false}.of("_b")), "sum");
}

TEST(Statements, QuadsTakeTurns) {
    const Name x{"x", true};
    const auto set = [&](const char* value) {
        return [&x, value](const char* quad) { return x.of(quad) + " = " + value + ";\n"; };
    };
    Scope scope;
    EXPECT_TRUE(scope.empty());
    scope.add(two_quads, set("1"));
    scope.add_once("n = 4;\n");
    scope.add_once("");
    scope.add(one_quad, set("2"));
    EXPECT_EQ(scope.text(), "x_a = 1;\nx_b = 1;\nn = 4;\nx = 2;\n");
    EXPECT_EQ(scope.take(), "x_a = 1;\nx_b = 1;\nn = 4;\nx = 2;\n");
    EXPECT_TRUE(scope.empty());
}

TEST(Statements, WhatATextAddsComesBeforeIt) {
    Scope scope;
    std::size_t first = 0;
    scope.add(two_quads, [&](const char* quad) {
        const std::string text = std::string("t") + quad + ";\n";
        if (std::string(quad) == "_a") {
            const char* const only[] = {quad};
            first = scope.add(only, [&](const char*) { return text; });
        } else {
            scope.extend(first, text);
        }
        return std::string("v") + quad + ";\n";
    });
    EXPECT_EQ(scope.text(), "t_a;\nt_b;\nv_a;\nv_b;\n");
}

TEST(Statements, AShaderMakesTwoQuadsStatementByStatement) {
    const std::string text = shader("chain f32 4096 add mul", device_of_eights());
    std::string order;
    for (std::size_t at = 0; (at = text.find("precise vec4 v", at)) != std::string::npos; ++at)
        order += text[text.find(" = ", at) - 1];
    EXPECT_EQ(order, "abab") << text;
    const std::string one = shader("chain f32 4096 add mul", test_device());
    EXPECT_NE(one.find("precise vec4 v0 = "), std::string::npos) << one;
    EXPECT_EQ(one.find("v0_a"), std::string::npos) << one;
}

TEST(Statements, BothQuadsHaveTheSameConstantsAndTables) {
    const std::string text = shader("table i8 4096", device_of_eights());
    const std::size_t a = text.find("ivec4 t2_a = "), b = text.find("ivec4 t2_b = ");
    ASSERT_NE(a, std::string::npos) << text;
    ASSERT_NE(b, std::string::npos) << text;
    std::string first = text.substr(a, text.find('\n', a) - a), second = text.substr(b, text.find('\n', b) - b);
    for (std::size_t k = 0; (k = first.find("_a", k)) != std::string::npos;) first.replace(k, 2, "_b");
    EXPECT_EQ(first, second);
}
