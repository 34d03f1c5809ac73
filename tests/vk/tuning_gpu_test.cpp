// Every kernel candidate and variant on the device, chosen through a tuning table, against the reference; and the
// tuner.
#include "compile/plan/tuning.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "reference/reference.hpp"
#include "support/gpu_test.hpp"
#include "support/require.hpp"
#include "support/spawn.hpp"
#include "verify/checker.hpp"
#include "verify/judge.hpp"
#include "vk/measure/open_device.hpp"
#include "vk/measure/tuner.hpp"
#include "vk/run/context.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace tosavk {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Problem lines of one node, of sizes that fit no tile.
struct Case {
    const char* op;
    std::size_t least;  ///< candidates and variants that any device tries at least
    std::vector<const char*> lines;
};

class TuningGpu : public test::GpuTestWith<Case> {};

/// Runs the graph with this table; answers with the first difference from the reference, or nothing.
std::string run(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
                const TuningTable& table, std::uint64_t seed, std::string& note) {
    const Plan plan = make_plan(*graph, device->plan(), {}, &table);
    for (const Dispatch& dispatch : plan.dispatches) note += dispatch.note;
    Context context(Executable::create(device, graph, plan), false);
    std::vector<HostTensor> operands;
    for (std::size_t k = 0; k < graph->inputs.size(); ++k) {
        const Value& value = graph->value(graph->inputs[k]);
        operands.push_back(random_tensor(value.type, value.shape, seed + k));
        context.set_input(k, operands.back().bytes);
    }
    context.submit();
    context.wait();
    const NodeView view(*graph, 0);
    std::vector<HostTensor> all;
    for (const ValueId id : view.node().inputs) {
        HostTensor& tensor = all.emplace_back(graph->value(id).type, graph->value(id).shape);
        const auto input =
            static_cast<std::size_t>(std::find(graph->inputs.begin(), graph->inputs.end(), id) - graph->inputs.begin());
        tensor.bytes = input == operands.size() ? graph->value(id).data.copy() : operands[input].bytes;
    }
    std::vector<const HostTensor*> pointers;
    for (const HostTensor& tensor : all) pointers.push_back(&tensor);
    HostTensor result(view.out().type, view.out().shape);
    context.get_output(0, result.bytes);
    const CheckResult check = check_node_result(view, pointers, 0, result);
    return check.passed
             ? ""
             : "element " + std::to_string(check.element) + ": expected " + check.expected + ", got " + check.got;
}

TEST_P(TuningGpu, EveryCandidateAgreesWithTheReference) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 11);
    std::set<std::string> tried;
    for (const char* line : GetParam().lines) {
        const auto graph = std::make_shared<const Graph>(load_problem(line));
        ASSERT_EQ(graph->nodes.size(), 1u) << line;
        const std::vector<KernelSite> sites = kernel_sites(*graph, device_->plan(), {});
        ASSERT_EQ(sites.size(), 1u) << line;
        for (const std::string& name : sites[0].candidates) {
            std::string note;
            EXPECT_EQ(run(device_, graph, {{{sites[0].signature, name}}}, seed, note), "")
                << line << ", " << name << ", TOSAVK_TEST_SEED=" << seed;
            EXPECT_NE(note.find("tuned: " + name), std::string::npos) << line << ", " << name << ": " << note;
            tried.insert(name);
        }
    }
    // A GPU may have one way where a CPU has two.
    EXPECT_GE(tried.size(), device_->caps().type == "cpu" ? GetParam().least : 1);
}

INSTANTIATE_TEST_SUITE_P(
    Operators, TuningGpu,
    ::testing::Values(
        Case{"CONV2D",
             3,
             {"conv2d i8 3x9x7x10 13x3x3 s2 p1", "conv2d f32 1x13x11x6 19x3x3 p1 d2", "conv2d f32 2x57x5x16 12x1x1",
              "conv2d i8 1x17x18x12 20x5x2 p2"}},
        Case{"CONV3D",
             3,
             {"conv3d i8 2x5x7x5x10 13x3x3x3 s2 p1", "conv3d f32 1x4x11x7x6 19x3x3x2 p1 d2",
              "conv3d 16x8 1x5x6x7x9 6x3x2x2 p1"}},
        Case{"TRANSPOSE_CONV2D",
             3,
             {"transpose_conv2d i8 2x9x7x10 13x3x3 s2", "transpose_conv2d f32 1x13x11x6 19x4x5 s3,2 p1,0,-1,2",
              "transpose_conv2d 16x8 1x8x7x9 6x3x2 s2"}},
        Case{"DEPTHWISE",
             5,
             {"depthwise i8 2x11x13x10 1x3x3 s1 p1", "depthwise f32 1x15x9x7 1x3x3 s2 p1",
              "depthwise f32 1x19x19x8 1x5x5 p2", "depthwise i8 1x12x12x6 2x3x3 d2 p2"}},
        Case{"MATMUL",
             2,
             {"matmul f32 2x19x23x18", "matmul i8 3x33x17x12", "matmul f32 1x5x64x7", "matmul i16 1x9x20x11"}},
        Case{"REDUCE_SUM",
             2,
             {"reduce_sum i32 5x77x6 axis1", "reduce_sum i32 7x1030 axis1", "reduce_sum f32 3x515x9 axis1",
              "reduce_sum f32 1030x5 axis0"}},
        Case{"TRANSPOSE",
             4,
             {"transpose f32 67x75 1,0", "transpose f32 3x36x52 0,2,1", "transpose i8 64x96 1,0",
              "transpose i32 5x41x3x43 3,1,2,0"}}),
    [](const auto& instance) { return std::string(instance.param.op); });

class TunerGpu : public test::GpuTest {
protected:
    void SetUp() override {
        test::GpuTest::SetUp();
        if (IsSkipped()) return;
        folder_ = fs::temp_directory_path() / ("tosavk-tuning-" + std::to_string(::getpid()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        if (const char* old = std::getenv("TOSAVK_CACHE_DIR")) old_directory_ = old;
        ::setenv("TOSAVK_CACHE_DIR", (folder_ / "cache").c_str(), 1);
    }
    void TearDown() override {
        if (folder_.empty()) return;
        if (old_directory_.empty()) ::unsetenv("TOSAVK_CACHE_DIR");
        else ::setenv("TOSAVK_CACHE_DIR", old_directory_.c_str(), 1);
        ::unsetenv("TOSAVK_NO_CACHE");
        fs::remove_all(folder_);
    }
    static bool has_timestamps() { return device_->caps().timestamp_valid_bits > 0; }

    fs::path folder_;
    std::string old_directory_;
};

TEST_F(TunerGpu, ItMeasuresEveryCandidate) {
    if (!has_timestamps()) GTEST_SKIP() << "the device has no timestamps";
    const auto graph = std::make_shared<const Graph>(load_problem("conv2d i8 1x9x9x8 12x3x3 p1 rescale clamp"));
    TuneOptions options;
    options.seconds = 0.001;
    const std::vector<TunedSite> sites = tune(device_, graph, {}, options);
    ASSERT_EQ(sites.size(), 1u);
    EXPECT_EQ(sites[0].label, "CONV2D+RESCALE+CLAMP");
    ASSERT_GE(sites[0].candidates.size(), 2u);
    ASSERT_LT(sites[0].chosen, sites[0].candidates.size());
    for (const TunedSite::Candidate& candidate : sites[0].candidates) {
        EXPECT_EQ(candidate.excluded, "") << candidate.name;
        EXPECT_GT(candidate.ms, 0) << candidate.name;
    }
    const TuningTable table = table_of(sites);
    EXPECT_EQ(table.choices.at(sites[0].site.signature), sites[0].candidates[sites[0].chosen].name);
}

TEST_F(TunerGpu, ItMeasuresWhatBeginsWithAPrologue) {
    if (!has_timestamps()) GTEST_SKIP() << "the device has no timestamps";
    GraphBuilder b("prologue");
    const ValueId x = b.input("x", DType::fp32, {8, 16, 64}), y = b.input("y", DType::fp32, {1, 1, 64});
    Attributes attrs;
    attrs.axis = 2;
    b.output(b.add1(Op::argmax, {b.add1(Op::add, {x, y}, DType::fp32, {}, "sum")}, DType::i32, attrs, "index"));
    TuneOptions options;
    options.seconds = 0.001;
    const std::vector<TunedSite> sites = tune(device_, std::make_shared<const Graph>(b.finish()), {}, options);
    ASSERT_EQ(sites.size(), 1u);
    EXPECT_EQ(sites[0].label, "ADD+ARGMAX");
    EXPECT_GT(sites[0].candidates[0].ms, 0);
}

/// An executable that was made with other choices than the device has now, as those of packages are.
TEST_F(TunerGpu, AnExecutableIsCheckedWithItsOwnChoices) {
    const auto graph = std::make_shared<const Graph>(load_problem("conv2d f32 1x9x9x40 12x3x3 p1 clamp"));
    const std::vector<KernelSite> sites = kernel_sites(*graph, device_->plan(), {});
    ASSERT_EQ(sites.size(), 1u);
    for (const std::string& name : sites[0].candidates) {
        const TuningTable table{{{sites[0].signature, name}}};
        auto fused = Executable::create(device_, graph, make_plan(*graph, device_->plan(), {}, &table));
        Checker checker(device_, graph, std::move(fused));
        const CheckReport report = checker.run(3);
        EXPECT_TRUE(report.passed) << name << ": " << report.detail;
    }
}

TEST_F(TunerGpu, ChoicesAreKeptOnDisk) {
    const TuningTable first{{{"CONV2D x", "direct"}, {"MATMUL y", "register tile"}}},
        second{{{"CONV2D x", "shared rows"}}};
    const auto open = [] { return open_device(""); };
    EXPECT_TRUE(open()->tuning()->choices.empty());
    EXPECT_TRUE(open()->save_tuning(first));
    EXPECT_TRUE(open()->save_tuning(second));
    TuningTable both = first;
    both.choices["CONV2D x"] = "shared rows";
    EXPECT_EQ(open()->tuning()->choices, both.choices);
    const auto other = test::open_with([](DevicePlan& plan) { plan.busy_invocations *= 2; });
    EXPECT_TRUE(other->tuning()->choices.empty()) << "another device plan has choices of its own";
    const auto hasty = test::open_with([](DevicePlan& plan) { plan.submit_work = 1; });
    const char* caps = std::getenv("TOSAVK_CAPS");
    if (caps == nullptr || *caps == 0) {
        EXPECT_EQ(hasty->tuning()->choices, both.choices);
    }
    ::setenv("TOSAVK_NO_CACHE", "1", 1);
    EXPECT_TRUE(open()->tuning()->choices.empty());
    EXPECT_FALSE(open()->save_tuning(first));
}

TEST_F(TunerGpu, DamageIsAsGoodAsNoTable) {
    const TuningTable table{{{"CONV2D x", "direct"}}};
    ASSERT_TRUE(open_device("")->save_tuning(table));
    for (const auto& entry : fs::directory_iterator(folder_ / "cache")) {
        if (entry.path().extension() != ".cache") continue;
        const std::string whole = test::read_text(entry.path());
        for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{10}}) {
            std::ofstream(entry.path(), std::ios::binary | std::ios::trunc) << whole.substr(0, size);
            EXPECT_TRUE(open_device("")->tuning()->choices.empty()) << size;
        }
        std::string changed = whole;
        changed[whole.find("direct")] ^= 1;
        std::ofstream(entry.path(), std::ios::binary | std::ios::trunc) << changed;
        EXPECT_TRUE(open_device("")->tuning()->choices.empty());
        std::ofstream(entry.path(), std::ios::binary | std::ios::trunc) << whole;
        EXPECT_EQ(open_device("")->tuning()->choices, table.choices);
    }
}

TEST_F(TunerGpu, TheProgramTunesAndLaterRunsUseIt) {
    TOSAVK_NEEDS_PROGRAM("tosa-vk-bench");
    if (!has_timestamps()) GTEST_SKIP() << "the device has no timestamps";
    const std::string line = "conv2d f32 1x9x9x8 12x3x3 p1 clamp";
    const auto bench = [&](std::vector<std::string> arguments, const char* no_tuning = "0") {
        arguments.insert(arguments.end(), {"--op", line, "--no-limits", "--min-time", "0.001"});
        return test::spawn(folder_, "tosa-vk-bench", arguments, {{"TOSAVK_NO_TUNING", no_tuning}});
    };
    const auto plan = [&](const char* no_tuning) {
        const auto run = test::spawn(folder_, "tosa-vk", {"dump", "--plan", line}, {{"TOSAVK_NO_TUNING", no_tuning}});
        EXPECT_EQ(run.exit_code, 0) << run.err;
        return run.out;
    };
    EXPECT_EQ(plan("0").find("tuned"), std::string::npos);
    const auto tuned = bench({"--tune", "--json", "-"});
    ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
    const json found = json::parse(tuned.out).at("problems").at(0).at("tuning");
    EXPECT_EQ(found.at("checked"), true);
    EXPECT_EQ(found.at("stored"), true);
    ASSERT_EQ(found.at("sites").size(), 1u);
    const json& site = found.at("sites").at(0);
    EXPECT_EQ(site.at("label"), "CONV2D+CLAMP");
    EXPECT_GE(site.at("candidates").size(), 2u);
    const std::string chosen = site.at("chosen");
    EXPECT_NE(plan("0").find("tuned: " + chosen), std::string::npos) << plan("0");
    EXPECT_EQ(plan("1").find("tuned"), std::string::npos) << plan("1");

    const auto verify = test::spawn(folder_, "tosa-vk", {"verify", line, "--seeds", "2"});
    EXPECT_EQ(verify.exit_code, 0) << verify.out << verify.err;
    const auto text = bench({"--tune", "--no-check"});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_NE(text.out.find("chosen"), std::string::npos) << text.out;
    EXPECT_EQ(bench({}).exit_code, 0);
    const auto off = bench({"--tune"}, "1");
    EXPECT_EQ(off.exit_code, 2);
    EXPECT_NE(off.err.find("TOSAVK_NO_TUNING"), std::string::npos) << off.err;
    const std::vector<std::string> arguments{"--tune",     "--no-limits", "--min-time", "0.001",
                                             "--no-check", "--op",        line};
    const auto uncached = test::spawn(folder_, "tosa-vk-bench", arguments, {{"TOSAVK_NO_CACHE", "1"}});
    EXPECT_EQ(uncached.exit_code, 0) << uncached.err;
    EXPECT_NE(uncached.out.find("not on disk"), std::string::npos) << uncached.out;
}

class CandidatesGpu : public test::GpuTest {};

TEST_F(CandidatesGpu, TheSweepRunsEveryOne) {
    for (const char* type : {"i8,i8,i32,i32", "fp32,fp32,fp32,fp32"}) {
        const conformance::SweepRow row = conformance::find_rows("CONV2D", type, "1.0").front();
        std::set<std::string> with;
        for (std::uint64_t seed = 1; seed <= 8; ++seed) {
            const conformance::RandomCase made = conformance::make_case(row, seed);
            const conformance::CaseReport one = conformance::judge_on(device_)(made),
                                          all = conformance::judge_on(device_, true)(made);
            EXPECT_TRUE(one.passed && all.passed) << row.op << " " << type << " seed " << seed << "\n"
                                                  << one.detail << all.detail;
            EXPECT_GE(all.nodes.size(), one.nodes.size());
            for (const auto& node : all.nodes) with.insert(node.detail.substr(0, node.detail.find(": ")));
        }
        EXPECT_GE(with.size(), 3u) << type;  // the planner's own, "direct", and a variant at least
        EXPECT_EQ(with.count("with 'direct'"), 1u) << type;
    }
}

}  // namespace
}  // namespace tosavk
