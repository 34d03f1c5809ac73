// Constants by name: what kernels declare in their text, and what every candidate gives. No GPU.
#include "compile/plan/plan.hpp"
#include "compile/rewrite/precision.hpp"
#include "device/device_plan.hpp"
#include "frontends/problems/problem.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/common/operands.hpp"
#include "kernels/common/shader_files.hpp"
#include "kernels/common/shader_text.hpp"
#include "kernels/kernels.hpp"
#include "verify/conformance/sweep.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace tosavk;

namespace {

using Defines = std::vector<std::pair<std::string, std::string>>;

std::string message(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::internal);
        return error.what();
    }
    return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Devices that between them take every candidate.
std::vector<DevicePlan> devices() {
    DevicePlan desktop;
    desktop.max_binding_bytes = 128 << 20;
    desktop.max_buffers = 16;
    desktop.registers = 256;
    desktop.has_fp16 = true;
    desktop.int64 = desktop.shared_tiles = desktop.product_tiles = desktop.dot4 = desktop.fma_chains = true;
    desktop.product_tile_bytes = 32768;
    desktop.tile_quads = 2;
    desktop.shared_rows = true;
    desktop.busy_invocations = 1;
    desktop.subgroup_lanes = 8;
    desktop.subgroup_size = 32;
    desktop.workgroup_size = 256;
    desktop.cooperative_i8 = {16, 16, 32};
    desktop.cooperative_fp16 = {16, 16, 16};
    desktop.cooperative_fp32_sums = true;
    DevicePlan cpu = desktop, phone = desktop, plain = desktop;
    cpu.shared_tiles = cpu.product_tiles = cpu.dot4 = false;
    cpu.slow_storage = true;
    cpu.subgroup_lanes = 1;
    cpu.own_rows = 16;
    phone.workgroup_size = 64;
    phone.product_tiles = phone.shared_rows = false;
    phone.own_rows = 8;
    phone.int64 = false;
    phone.busy_invocations = 100000;
    phone.max_loop_passes = 1000;
    plain.cooperative_i8 = plain.cooperative_fp16 = {};
    plain.least_tiles = 1000;
    plain.tile_parts = 16;
    plain.lanes_together = 32;
    return {desktop, cpu, phone, plain};
}

/// Every pass of every candidate that takes a node of the graph.
void for_each_pass(const Graph& graph, const std::function<void(const KernelPass&)>& check) {
    for (const DevicePlan& plan : devices()) {
        const DevicePlan device = device_for(graph, plan);
        for (NodeId id = 0; id < graph.nodes.size(); ++id) {
            const NodeView view(graph, id);
            for (const KernelCandidate& candidate : kernels_of(view.node().op)) {
                std::string why;
                const auto choice = candidate.plan(view, device, why);
                if (!choice) continue;
                SCOPED_TRACE(candidate.name);
                for (const KernelPass& pass : choice->earlier) check(pass);
                check(*choice);
            }
        }
    }
}

}  // namespace

TEST(DeclaredConstants, AreFoundWithTheirConditions) {
    const auto found = declared_constants(
        "layout(constant_id = 0) const int A = 1;\n#if !MATRIX\n  layout(constant_id=2) const float B = -1.0;  // why\n"
        "#if VOLUME\nlayout(constant_id = 1) const int C = 0;\n#else\nconst int C = 1;\n"
        "layout(constant_id = 3) const uint D = 0;\n#endif\n#endif\nlayout(constant_id = 4) const int E = 0;  // late: "
        "why\n"
        "layout(constant_id = 5) const int F = 0;  // not late\n"
        "layout(constant_id = 6) const int G = 0;  // pushed\n");
    ASSERT_EQ(found.size(), 7u);
    for (std::size_t k = 0; k < found.size(); ++k) {
        EXPECT_EQ(found[k].is_late, k == 4) << k;
        EXPECT_EQ(found[k].is_pushed, k == 6) << k;
    }
    EXPECT_EQ(found[0].name, "A");
    EXPECT_TRUE(found[0].conditions.empty());
    EXPECT_EQ(found[1].id, 2u);
    EXPECT_TRUE(found[1].is_float);
    EXPECT_EQ(found[1].conditions, (std::vector<std::string>{"!MATRIX"}));
    EXPECT_EQ(found[2].conditions, (std::vector<std::string>{"!MATRIX", "VOLUME"}));
    EXPECT_EQ(found[3].conditions, (std::vector<std::string>{"!MATRIX", "!(VOLUME)"}));
    EXPECT_TRUE(found[4].conditions.empty());
}

TEST(DeclaredConstants, OneNameOrNumberTwiceIsAnError) {
    const std::string a = "layout(constant_id = 0) const int A = 1;\n";
    EXPECT_TRUE(has(message([&] { declared_constants(a + "layout(constant_id = 1) const int A = 1;\n"); }), "A"));
    EXPECT_TRUE(has(message([&] { declared_constants(a + "layout(constant_id = 0) const int B = 1;\n"); }), "B"));
}

TEST(DeclaredConstants, ConditionsHoldAsThePreprocessorHasIt) {
    const Defines defines{{"ONE", "1"}, {"FOUR", "4"}, {"TEXT", "in0_load1"}};
    for (const char* text : {"ONE", "!NONE", "ONE && FOUR", "NONE || FOUR == 4", "FOUR > 3", "FOUR >= 4", "1 < FOUR",
                             "!(ONE && NONE)", "NONE || ONE && FOUR", "ONE != FOUR"})
        EXPECT_TRUE(condition_holds(text, defines)) << text;
    for (const char* text : {"NONE", "!ONE", "ONE && NONE", "FOUR == 1", "FOUR <= 3", "(ONE || FOUR) && NONE"})
        EXPECT_FALSE(condition_holds(text, defines)) << text;
    for (const char* text : {"TEXT", "defined(ONE)", "ONE +", "(ONE", "", "#ifdef ONE"})
        EXPECT_TRUE(has(message([&] { condition_holds(text, defines); }), "not understood")) << text;
}

TEST(Specialization, NamesGoToTheirNumbers) {
    KernelPass pass;
    pass.kernel = "fft_pass";
    set_constants(pass, {{"DIRECTION", 1.0f}, {"WIDTH", 6}, {"KEEP", 5}, {"NS", 3}, {"L", 1}, {"INNER", 2}});
    EXPECT_TRUE(has(message([&] { specialization(pass); }), "nothing gives the constant 'BUTTERFLIES'"));
    set_constants(pass, {{"BUTTERFLIES", 4}});
    EXPECT_EQ(specialization(pass), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 0x3f800000}));
    EXPECT_TRUE(has(message([&] { set_constants(pass, {{"NS", 3}}); }), "given twice"));
    pass.constants.at("DIRECTION") = 1;
    EXPECT_TRUE(has(message([&] { specialization(pass); }), "is a float"));
    pass.constants.at("DIRECTION") = -1.0f;
    pass.constants.emplace("BUTTERFLY", 1);
    EXPECT_TRUE(has(message([&] { specialization(pass); }), "no constant 'BUTTERFLY'"));
}

TEST(Specialization, EveryCandidateGivesWhatItsKernelDeclares) {
    std::map<std::string, std::vector<DeclaredConstant>> kernels;
    std::set<std::pair<std::string, Defines>> variants;
    const auto check = [&](const KernelPass& pass) {
        const auto found = kernels.try_emplace(pass.kernel).first;
        if (found->second.empty()) found->second = declared_constants(kernel_source(pass.kernel));
        const bool is_new = variants.insert({pass.kernel, pass.defines}).second;
        std::vector<std::int32_t> values;
        ASSERT_EQ(message([&] { values = specialization(pass); }), "");
        for (const DeclaredConstant& declared : found->second) {
            const bool is_there =
                std::all_of(declared.conditions.begin(), declared.conditions.end(),
                            [&](const std::string& text) { return condition_holds(text, pass.defines); });
            const auto given = pass.constants.find(declared.name);
            if (given != pass.constants.end()) {
                EXPECT_EQ(values.at(declared.id), is_there ? given->second.bits : 0) << declared.name;
            }
            if (!is_new || !is_there) continue;
            // What this variant declares cannot be left out.
            KernelPass without = pass;
            without.constants.erase(declared.name);
            EXPECT_TRUE(has(message([&] { specialization(without); }), declared.name)) << declared.name;
        }
    };
    for (const ProblemHelp& help : problem_help()) {
        SCOPED_TRACE(help.small);
        for_each_pass(load_problem(help.small, level_none), check);
    }
    for (const conformance::SweepRow& row : conformance::registry_rows()) {
        if (!row.has_kernels) continue;
        for (const std::uint64_t seed : {1, 2, 3}) {
            SCOPED_TRACE(row.op + " " + row.types_text() + " seed " + std::to_string(seed));
            for_each_pass(conformance::make_case(row, seed).graph, check);
        }
    }
    for (const char* line :
         {"conv2d f16 1x8x8x128 128x3x3 p1", "depthwise f16 1x8x8x16 1x3x3 p1", "matmul f16 1x16x16x16"}) {
        SCOPED_TRACE(line);
        Graph graph = load_problem(line, level_none);
        make_fast(graph);
        for_each_pass(graph, check);
    }
    // Of enough rows that a pass turns the columns.
    for_each_pass(load_problem("matmul i8 1x64x128x64", level_none), check);
    // As where a loop's body updates what it is handed.
    Graph update = load_problem("dynamic_update_slice f32 8x16x12 8x4x12", level_none);
    for (Node& node : update.nodes) node.attrs.in_place = node.op == Op::dynamic_update_slice;
    for_each_pass(update, check);
    Graph attention = load_problem("attention f16 2x64x16 mask", level_none);
    make_fast(attention);
    ASSERT_EQ(attention.inputs.size(), 4u);
    const auto& in = attention.inputs;
    for (const ValueId mask : {no_id, in[3]}) {
        for (const DevicePlan& plan : devices()) {
            const Attention of{.q = in[0],
                               .k = in[1],
                               .v = in[2],
                               .batch = 2,
                               .rows = 64,
                               .keys = 64,
                               .inner = 16,
                               .columns = 16,
                               .mask = mask,
                               .mask_row = 64,
                               .mask_key = 1};
            std::string why;
            if (const auto choice = plan_attention(attention, of, device_for(attention, plan), why)) check(*choice);
        }
    }
    EXPECT_GT(variants.size(), 100u);
    for (const ShaderFile& file : embedded_shaders()) {
        const std::string name(file.name);
        if (!name.ends_with(".comp") || name.starts_with("limits_") || name == "pack_strided.comp") continue;
        if (name == "gate.comp") continue;  // of loops, not of nodes
        EXPECT_TRUE(kernels.contains(name.substr(0, name.size() - 5))) << name << " was not looked at";
    }
}
