// Libraries whose functions compute one element after another, as text. What they compute is compared by
// shader_math_gpu_test and the sweep on pretended devices of few registers (tests/caps/mali_like.json).
#include "compile/codegen/single_elements.hpp"
#include "kernels/common/shader_text.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

using namespace tosavk;

namespace {

std::string elements_of(const std::string& library, std::size_t at_once = 1) {
    // Texts are told apart by where they are, as those of the files of shaders/lib, which stay.
    static std::vector<std::unique_ptr<std::string>> kept;
    return in_single_elements(*kept.emplace_back(std::make_unique<std::string>(library)), at_once);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(SingleElements, AShortFunctionIsCalledFourTimes) {
    EXPECT_EQ(elements_of("// of x\nvec4 less(vec4 x, float y) { return mix(x, vec4(0.0), lessThan(x, vec4(y))); }\n"),
              "// of x\nfloat less(float x, float y) { return mix(x, float(0.0), LESS_1(x, float(y))); }\n"
              "vec4 less(vec4 x, float y) {\n    vec4 all_four;\n    all_four.x = less(x.x, y);\n"
              "    all_four.y = less(x.y, y);\n    all_four.z = less(x.z, y);\n    all_four.w = less(x.w, y);\n"
              "    return all_four;\n}\n");
}

TEST(SingleElements, ResultsThatArePutOutToo) {
    const std::string text = elements_of("void split(ivec4 x, out ivec4 low) { low = x & 15; }\n");
    EXPECT_TRUE(has(text, "void split(int x, out int low) { low = x & 15; }")) << text;
    EXPECT_TRUE(has(text, "    split(x.z, low.z);\n")) << text;
}

TEST(SingleElements, ALongFunctionsElementsTakeTurns) {
    std::string body;
    for (int i = 0; i < 60; ++i) body += "    y = y * x;\n";
    const std::string text = elements_of("vec4 power(vec4 x) {\n    vec4 y = x;\n" + body + "    return y;\n}\n");
    EXPECT_TRUE(has(text, "for (int turn = 0; turn < 4; ++turn)")) << text;
    EXPECT_TRUE(has(text, "all_four = vec4(all_four.yzw, power(x.x));")) << text;
    EXPECT_TRUE(has(text, "x = x.yzwx;")) << text;

    const std::string pairs = elements_of("vec4 power(vec4 x) {\n    vec4 y = x;\n" + body + "    return y;\n}\n", 2);
    EXPECT_TRUE(has(pairs, "for (int turn = 0; turn < 2; ++turn)")) << pairs;
    EXPECT_TRUE(has(pairs, "all_four = vec4(all_four.zw, power(x.x), power(x.y));")) << pairs;
    EXPECT_TRUE(has(pairs, "x = x.zwxy;")) << pairs;
}

TEST(SingleElements, LoopsArraysPartsOfVectorsAndTheirCallersStay) {
    for (const char* line : {"vec4 f(vec4 x) { for (int i = 0; i < 3; ++i) x += x; return x; }\n",
                             "vec4 f(vec4 x) { return x.yxwz; }\n", "vec4 f(vec4 x) { return vec4(f16vec4(x)); }\n",
                             "ivec4 f(ivec4 x[2], ivec4 k) { return mix(x[0], x[1], equal(k, ivec4(1))); }\n",
                             "MADE_BY_MACRO(f, +)\n", "wide4 f(ivec4 x) { return wide4(x); }\n"}) {
        const std::string library = std::string(line) + "vec4 g(vec4 x) { return vec4(f(x)); }\n";
        EXPECT_EQ(elements_of(library), library);
    }
}

TEST(SingleElements, LongFunctionsOfLibrariesHaveTheForm) {
    EXPECT_TRUE(has(elements_of(std::string(shader_file("lib/exact.glsl"))),
                    "\nfloat exact_remainder(float a, float b, bool floored) {"));
    EXPECT_TRUE(
        has(elements_of(std::string(shader_file("lib/scale_fp64.glsl"))), "\nint scale_fp64(int x_low, int x_high, "));
}

TEST(SingleElements, WhatEndsEarlyIsTakenWhole) {
    const std::string open = "vec4 f(vec4 x) {\n    return x;\n";
    EXPECT_TRUE(has(elements_of(open), "return x;"));
    EXPECT_EQ(elements_of("const int A = 1;"), "const int A = 1;");
}
