// Programs that JAX wrote (make_programs.py): text and artifacts of several versions give the same Program.
#include "frontends/stablehlo/bytecode.hpp"
#include "frontends/stablehlo/elements.hpp"
#include "frontends/stablehlo/jax_export.hpp"
#include "frontends/stablehlo/operations.hpp"
#include "frontends/stablehlo/stablehlo_reader.hpp"

#include <algorithm>
#include <cstring>

namespace tosavk {
namespace {

using namespace stablehlo;

class StablehloPrograms : public ::testing::Test {
protected:
    void SetUp() override { TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE"); }
};

TEST_F(StablehloPrograms, VersionsAndTextAreOneProgram) {
    std::size_t artifacts = 0;
    for (const auto& path : test::stablehlo_files()) {
        const std::string name = path.filename().string(), stem = name.substr(0, name.find('.'));
        SCOPED_TRACE(name);
        const Program program = test::load_stablehlo(path);
        const bool is_artifact = path.extension() != ".mlir";
        EXPECT_EQ(program.producer.empty(), !is_artifact);
        EXPECT_TRUE(is_stablehlo(read_file(path)));
        const Program text = test::load_stablehlo(test::stablehlo_programs() / (stem + ".mlir"));
        test::expect_same_program(print(program), print(text));
        if (path.extension() == ".jaxexport")
            test::expect_same_program(test::print_with_locations(program), test::print_with_locations(text));
        artifacts += is_artifact;
    }
    EXPECT_GE(artifacts, 8u);
}

TEST_F(StablehloPrograms, PrintedProgramsAreReadAgain) {
    for (const auto& path : test::stablehlo_files()) {
        SCOPED_TRACE(path.filename().string());
        const std::string printed = print(test::load_stablehlo(path), {.locations = true});
        test::expect_same_program(printed, print(test::stablehlo_of(printed), {.locations = true}));
    }
}

TEST_F(StablehloPrograms, JaxExportIsUnwrapped) {
    const Bytes file = read_file(test::stablehlo_programs() / "network.jaxexport");
    EXPECT_FALSE(is_bytecode(file));
    const auto wrapped = read_jax_export(file);
    ASSERT_TRUE(wrapped);
    EXPECT_TRUE(is_bytecode(wrapped->module));
    EXPECT_EQ(wrapped->function_name, "network");
    EXPECT_EQ(wrapped->platforms, std::vector<std::string>{"cpu"});
    EXPECT_EQ(wrapped->kept_arguments, (std::vector<std::uint16_t>{0, 1}));
    EXPECT_EQ(wrapped->devices, 1u);
    const Program program = test::load_stablehlo(test::stablehlo_programs() / "network.jaxexport");
    const Function& main = program.functions.at(0);
    EXPECT_EQ(main.name, "main");
    ASSERT_EQ(main.argument_types.size(), 2u);
    EXPECT_EQ(to_string(*main.argument_types[0]), "tensor<2x4xf32>");
    EXPECT_NE(to_string(program, main.body.operations[0].location).find("in 'jit(network)"), std::string::npos)
        << to_string(program, main.body.operations[0].location);
}

Program one_line(const std::string& line, const std::string& arguments = "%a: tensor<2x3xf32>") {
    return test::stablehlo_of("func.func @f(" + arguments + ") {\n  " + line + "\n  return\n}\n");
}

const Operation& first(const Program& program) { return program.functions.at(0).body.operations.at(0); }

TEST(StablehloText, EveryDefaultIsThere) {
    const Program program = one_line(
        "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : "
        "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>");
    const Operation& dot = first(program);
    for (const std::string_view name : attribute_names(*operation_rule("dot_general"), 2))
        EXPECT_TRUE(find(dot.attributes, name)) << name;
    EXPECT_EQ(find(dot.attributes, "rhs_contracting_dimensions")->as<Numbers>()->values, std::vector<std::int64_t>{1});
    EXPECT_TRUE(find(dot.attributes, "lhs_batching_dimensions")->as<Numbers>()->values.empty());
}

TEST(StablehloText, Constants) {
    const auto constant = [](const std::string& text) {
        const Program program = one_line("%0 = stablehlo.constant " + text);
        return *find(first(program).attributes, "value")->as<Elements>();
    };
    const auto integers = [&](const std::string& text) { return *integers_of(constant(text), 100); };
    using List = std::vector<std::int64_t>;
    EXPECT_EQ(integers("dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>"), (List{1, -2, 3, 4}));
    EXPECT_EQ(integers("dense<7> : tensor<3xui64>"), (List{7, 7, 7}));
    EXPECT_EQ(integers("dense<[-8, 7]> : tensor<2xi4>"), (List{-8, 7}));
    EXPECT_EQ(integers("dense<[true, false, true]> : tensor<3xi1>"), (List{1, 0, 1}));
    EXPECT_EQ(integers("dense<\"0x0100FF7F\"> : tensor<2xi16>"), (List{1, 32767}));
    EXPECT_EQ(integers("dense<\"0x0D\"> : tensor<4xi1>"), (List{1, 0, 1, 1}));
    EXPECT_TRUE(integers("dense<> : tensor<0xi32>").empty());
    EXPECT_TRUE(constant("dense<[2.5, 2.5]> : tensor<2xf32>").splat);
    const Elements floats = constant("dense<[1.0, 0x7FC0]> : tensor<2xbf16>");
    EXPECT_EQ(floats.data.copy(), (Bytes{std::byte{0x80}, std::byte{0x3f}, std::byte{0xc0}, std::byte{0x7f}}));
    EXPECT_EQ(constant("dense<4.940656e-324> : tensor<f64>").data.copy()[0], std::byte{1});
    EXPECT_EQ(constant("dense<-0.0> : tensor<f16>").data.copy()[1], std::byte{0x80});
    const Elements complex = constant("dense<(1.0, -2.0)> : tensor<4xcomplex<f32>>");
    EXPECT_TRUE(complex.splat);
    EXPECT_EQ(complex.data->size(), 8u);
}

/// MLIR's own bytecode of the dialects func and stablehlo, which no version is bound to read.
TEST_F(StablehloPrograms, BytecodeThatIsNoArtifactIsNamed) {
    for (const auto& path : test::stablehlo_files()) {
        if (path.extension() != ".mlirbc") continue;
        Bytes file = read_file(path);
        const std::string_view own = "vhlo", other = "func";
        const auto same = [](std::byte a, char b) { return std::to_integer<char>(a) == b; };
        for (auto at = file.begin();;) {
            at = std::search(at, file.end(), own.begin(), own.end(), same);
            if (at == file.end()) break;
            std::memcpy(&*at, other.data(), other.size());
        }
        try {
            read_program(SharedBytes(file));
            ADD_FAILURE() << path;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::unsupported);
            const std::string what = error.what();
            EXPECT_NE(what.find("is MLIR bytecode, but no portable artifact"), std::string::npos) << what;
            EXPECT_NE(what.find("serialize_portable_artifact"), std::string::npos) << what;
        }
    }
}

TEST(StablehloText, NarrowFloats) {
    for (const Element element : {Element::f4e2m1fn, Element::f6e2m3fn, Element::f6e3m2fn, Element::f8e3m4,
                                  Element::f8e4m3, Element::f8e4m3b11fnuz, Element::f8e4m3fn, Element::f8e4m3fnuz,
                                  Element::f8e5m2, Element::f8e5m2fnuz, Element::f8e8m0fnu}) {
        for (std::uint64_t code = 0; code < std::uint64_t{1} << bits_of(element); ++code) {
            const double value = real_from_bits(element, code);
            if (value != value) continue;  // NaN has several codes
            EXPECT_EQ(bits_from_real(element, value), code) << name_of(element) << " " << code;
        }
    }
    EXPECT_EQ(real_from_bits(Element::f8e4m3fn, 0x7e), 448);
    EXPECT_EQ(real_from_bits(Element::f8e4m3fnuz, 0x7f), 240);
    EXPECT_EQ(real_from_bits(Element::f8e5m2, 0x7b), 57344);
    EXPECT_EQ(real_from_bits(Element::f6e3m2fn, 0x1f), 28);
    EXPECT_EQ(real_from_bits(Element::f4e2m1fn, 0x7), 6);
}

TEST(StablehloText, ChloIsKeptApart) {
    const Program erf = one_line("%0 = chlo.erf %a : tensor<2x3xf32> -> tensor<2x3xf32>");
    EXPECT_EQ(first(erf).dialect, Dialect::chlo);
    EXPECT_EQ(first(erf).name, "erf");
    const Program top =
        one_line("%v, %i = chlo.top_k(%a, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)");
    EXPECT_EQ(first(top).results.size(), 2u);
    EXPECT_EQ(find(first(top).attributes, "k")->as<Integer>()->value, 2);
}

TEST(StablehloText, QuantizedTypes) {
    for (const std::string type :
         {"tensor<2x3x!quant.uniform<i8:f32, 0.5:-128>>", "tensor<2x3x!quant.uniform<u8<1:255>:f32, 0.25>>",
          "tensor<2x3x!quant.uniform<i8:f32:1, {0.5:1,0.25,1e-07:-3}>>"}) {
        const Program program = one_line("%0 = stablehlo.add %q, %q : " + type, "%q: " + type);
        EXPECT_EQ(to_string(*program.functions[0].argument_types[0]), type);
    }
}

TEST(StablehloText, ShardyIsDropped) {
    const std::string mesh = "  sdy.mesh @mesh = <[\"x\"=1]>", constraint = "sdy.sharding_constraint";
    const std::string sharding = "#sdy.sharding<@mesh, [{\"x\"}]>";
    const std::string of_mesh = " {stablehlo.mesh = {axes = [{name = \"x\", size = 1 : i64}]}}";
    const std::pair<std::string, std::string> forms[] = {
        {mesh, constraint + " %a <@mesh, [{\"x\"}]> : tensor<2xf32>"},
        {mesh + of_mesh + " loc(unknown)", constraint + " %a <@mesh, [{\"x\"}]> : tensor<2xf32> loc(unknown)"},
        {"\"sdy.mesh\"() <{mesh = #sdy.mesh<[\"x\"=1]>, sym_name = \"mesh\"}>" + of_mesh + " : () -> ()",
         "\"" + constraint + "\"(%a) <{sharding = " + sharding + "}> : (tensor<2xf32>) -> tensor<2xf32>"}};
    for (const auto& [first_line, operation] : forms) {
        const Program program = test::stablehlo_of(
            "module {\n" + first_line + "\n  func.func @f(%a: tensor<2xf32> " + "{sdy.sharding = " + sharding +
            "}) -> tensor<2xf32> {\n    %0 = " + operation + "\n    return %0 : tensor<2xf32>\n  }\n}\n");
        EXPECT_EQ(first(program).name, "return");
        EXPECT_EQ(first(program).operands, program.functions[0].body.arguments);
        EXPECT_TRUE(program.functions[0].argument_attributes[0].empty());
    }
    // Values that are to be sharded alike.
    for (const char* group : {"sdy.sharding_group %a group_id=0 : tensor<2xf32>",
                              "\"sdy.sharding_group\"(%a) <{group_id = 1 : i64}> : (tensor<2xf32>) -> ()"}) {
        const Program program =
            test::stablehlo_of(std::string("func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n  ") + group +
                               "\n  return %a : tensor<2xf32>\n}\n");
        EXPECT_EQ(first(program).name, "return");
        EXPECT_EQ(first(program).operands, program.functions[0].body.arguments);
    }
}

TEST(StablehloText, FunctionsReturnWhatTheyDeclare) {
    for (const char* end : {"return %a, %a : tensor<2xf32>, tensor<2xf32>", "return", "return %b : tensor<3xf32>"}) {
        SCOPED_TRACE(end);
        try {
            test::stablehlo_of(
                std::string("func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {\n  ") + end +
                "\n}\n");
            FAIL() << "it was read";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_model);
            EXPECT_NE(std::string(error.what()).find("what function 'f' returns is not of its type (at line 1"),
                      std::string::npos)
                << error.what();
        }
    }
}

TEST(StablehloText, MistakesAreToldWithTheirPlace) {
    const std::pair<std::string, std::string> cases[] = {
        {"%0 = stablehlo.add %a, %b : tensor<2x3xf32>", "value %b is not defined (at line 2, column 26)"},
        {"%0 = stablehlo.add %a, %a : tensor<3xf32>",
         "operand 0 of stablehlo.add has type tensor<2x3xf32>, not tensor<3xf32>"},
        {"%0 = stablehlo.frobnicate %a : tensor<2x3xf32>",
         "operation stablehlo.frobnicate is none that this reader knows (at line 2, column 8)"},
        {"%0:2 = stablehlo.abs %a : tensor<2x3xf32>", "has 1 results, but names for 2"},
        {"%0 = \"stablehlo.abs\"(%a) <{speed = 3 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>",
         "attribute 'speed' of stablehlo.abs is newer than this reader"},
        {"%0 = stablehlo.iota : tensor<4xi32>", "stablehlo.iota has no attribute 'iota_dimension'"},
        {"%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>", "a constant has 2 parts where its type has 3"},
        {"%0 = stablehlo.constant dense<300> : tensor<3xi8>", "'300' is no i8"},
        {"%0 = stablehlo.constant dense<-1> : tensor<3xui8>", "'-1' is no ui8"},
        {"%0 = stablehlo.constant dense<1> : tensor<?xi8>", "a constant cannot have the type tensor<?xi8>"},
        {"%0 = stablehlo.abs %a : tensor<2x3xf99>", "type f99 is not supported"},
        {"%0 = stablehlo.abs %a : tensor<2x3xf32", "'>' is expected"},
    };
    for (const auto& [line, expected] : cases) {
        SCOPED_TRACE(line);
        try {
            one_line(line);
            ADD_FAILURE() << "it was read";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find("(at line "), std::string::npos) << error.what();
        }
    }
}

TEST(StablehloText, WhatNamesItselfEnds) {
    for (const std::string& text : {std::string("#a = [#a, #a]\nmodule attributes {x = #a} {func.func private @f()}"),
                                    std::string("!t = tuple<!t, !t>\nfunc.func private @f(!t)"),
                                    std::string("#loc = loc(\"x\"(#loc))\nfunc.func private @f() loc(#loc)"),
                                    "func.func private @f(" + std::string(100000, '(') + ")",
                                    "module attributes {x = " + std::string(100000, '[') + "} {}"}) {
        EXPECT_THROW(test::stablehlo_of(text), Error) << text.substr(0, 40);
    }
    // Doubled thirty times: a billion of them.
    std::string doubled = "#a0 = [1, 2]\n";
    for (int k = 1; k <= 30; ++k)
        doubled += "#a" + std::to_string(k) + " = [#a" + std::to_string(k - 1) + ", #a" + std::to_string(k - 1) + "]\n";
    EXPECT_THROW(test::stablehlo_of(doubled + "module attributes {x = #a30} {func.func private @f()}"), Error);
}

TEST(StablehloOperations, TableIsSortedAndWhole) {
    const auto rules = operation_rules();
    EXPECT_EQ(rules.size(), 119u);
    for (std::size_t k = 0; k < rules.size(); ++k) {
        EXPECT_TRUE(k == 0 || rules[k - 1].name < rules[k].name) << rules[k].name;
        const auto names = attribute_names(rules[k], rules[k].newest);
        EXPECT_TRUE(std::is_sorted(names.begin(), names.end())) << rules[k].name;
    }
}

}  // namespace
}  // namespace tosavk
