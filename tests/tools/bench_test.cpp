// tosa-vk-bench from outside: reports, comparisons, suites. No time is judged.
#include "frontends/frontend.hpp"
#include "support/control_graphs.hpp"
#include "support/driver.hpp"
#include "support/small_models.hpp"
#include "support/spawn.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tosavk {
namespace {

using nlohmann::json;
using test::Spawned;
namespace fs = std::filesystem;

using Environment = std::vector<std::pair<std::string, std::string>>;

class Bench : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_PROGRAM("tosa-vk-bench");
        folder_ = fs::temp_directory_path() / ("tosavk-bench-" + std::to_string(::getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return path(name);
    }
    /// With limits, which take seconds, only where a test looks at them.
    Spawned bench(std::vector<std::string> arguments, bool limits = false, const Environment& environment = {}) const {
        if (!limits) arguments.push_back("--no-limits");
        arguments.insert(arguments.end(), {"--min-time", "0.001"});
        return test::spawn(folder_, "tosa-vk-bench", arguments, environment);
    }
    json report(const std::vector<std::string>& arguments, bool limits = false,
                const Environment& environment = {}) const {
        std::vector<std::string> all = arguments;
        all.insert(all.end(), {"--json", "-"});
        const Spawned run = bench(all, limits, environment);
        EXPECT_EQ(run.exit_code, 0) << run.err;
        return json::parse(run.out);
    }
    static bool native_fp16() {
        return json::parse(cpp::Device::describe(0)).at("plan").at("half_roundings").get<bool>();
    }
    void expect_error(const Spawned& run, int code, const std::string& part) const {
        EXPECT_EQ(run.exit_code, code) << run.err;
        EXPECT_EQ(run.out, "");
        EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
        EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
    }

    fs::path folder_;
};

TEST_F(Bench, WrongUsage) {
    expect_error(bench({}), 2, "nothing to measure");
    expect_error(bench({"--op", "add f32 4", "--threshold", "-1"}), 2, "--threshold");
    expect_error(bench({"--suite", path("missing.txt")}), 3, "missing.txt");
    expect_error(bench({"--suite", write("empty.txt", "# nothing\n\n")}), 3, "no problem lines");
    expect_error(bench({"--suite", write("wrong.txt", "# two\nadd f32 4\n\nfly f32 4\n")}), 3, "wrong.txt:4: ");
}

TEST_F(Bench, ReportHasLimitsAndShares) {
    TOSAVK_NEEDS_DRIVER();
    const json result = report({"--op", "conv2d i8 1x8x8x8 8x3x3 p1 rescale clamp", "--op", "add f32 1000"}, true);
    for (const char* limit :
         {"copy_gbytes_per_s", "fp32_gflops", "int32_gops", "int8_gops", "dispatch_us", "submit_us"})
        EXPECT_GT(result.at("limits").at(limit).get<double>(), 0) << limit;
    const bool has_fp16 = json::parse(cpp::Device::describe(0)).at("plan").at("has_fp16").get<bool>();
    EXPECT_EQ(result.at("limits").at("fp16_gflops").is_null(), !has_fp16);
    ASSERT_EQ(result.at("problems").size(), 2u);
    const json& conv = result.at("problems").at(0);
    EXPECT_EQ(conv.at("name"), "conv2d i8 1x8x8x8 8x3x3 p1 rescale clamp");
    EXPECT_EQ(conv.at("dispatches"), 1);
    EXPECT_EQ(conv.at("checked"), true);
    EXPECT_GE(conv.at("work").get<double>(), 2.0 * 8 * 8 * 8 * 8 * 9);
    EXPECT_GE(conv.at("bytes").get<double>(), 2.0 * 8 * 8 * 8 + 8 * 8 * 9);
    for (const json& problem : result.at("problems")) {
        EXPECT_GT(problem.at("percent_of_limit").get<double>(), 0);
        const std::string limit = problem.at("limit");
        EXPECT_TRUE(limit == "memory" || limit == "fp32" || limit == "int8" || limit == "dispatch") << limit;
        EXPECT_EQ(problem.at("per_dispatch").size(), problem.at("dispatches").get<std::size_t>());
        EXPECT_GE(problem.at("wall_ms").at("median").get<double>(), problem.at("wall_ms").at("min").get<double>());
    }
}

/// The public header lists the limits that a device has.
TEST_F(Bench, TheHeaderListsEveryLimit) {
    TOSAVK_NEEDS_DRIVER();
    TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE");
    const char* source = std::getenv("TOSAVK_SOURCE");
    const std::string header = test::read_text(fs::path(source) / "include" / "tosavk" / "tools.h");
    const std::size_t end = header.find("tosavk_device_limits(tosavk_device* device");
    ASSERT_NE(end, std::string::npos);
    const std::string comment = header.substr(header.rfind("/*", end), end - header.rfind("/*", end));
    const json limits = json::parse(cpp::Device().limits());
    EXPECT_GE(limits.size(), 10u);
    for (const auto& [name, value] : limits.items())
        EXPECT_NE(comment.find('"' + name + '"'), std::string::npos) << name << " is missing in\n" << comment;
}

/// What a dispatch's work is held against.
TEST_F(Bench, ArithmeticOfDispatches) {
    TOSAVK_NEEDS_DRIVER();
    const cpp::Device device("0");
    const std::pair<const char*, tosavk_arithmetic> expected[] = {
        {"conv2d i8 1x8x8x8 8x3x3 p1 rescale", TOSAVK_ARITHMETIC_INT8},
        {"conv2d i4 1x8x8x8 8x3x3 p1 rescale", TOSAVK_ARITHMETIC_INT8},
        {"matmul i8 1x8x8x8", TOSAVK_ARITHMETIC_INT8},
        {"conv2d 16x8 1x8x8x8 8x3x3 p1 rescale", TOSAVK_ARITHMETIC_INT32},
        {"max_pool2d i8 1x8x8x8 2x2 s2", TOSAVK_ARITHMETIC_INT32},
        {"add i32 100", TOSAVK_ARITHMETIC_INT32},
        {"add f32 100", TOSAVK_ARITHMETIC_FP32},
        {"add bf16 100", TOSAVK_ARITHMETIC_FP32},
        {"matmul f16 1x8x8x8", native_fp16() ? TOSAVK_ARITHMETIC_FP16 : TOSAVK_ARITHMETIC_FP32}};
    for (const auto& [line, arithmetic] : expected) {
        const cpp::Executable executable(device, cpp::Graph::problem(line));
        const cpp::Context context(executable);
        ASSERT_GE(context.dispatch_count(), 1u) << line;
        const tosavk_dispatch_info info = context.dispatch(0);
        EXPECT_EQ(info.arithmetic, static_cast<std::int32_t>(arithmetic)) << line;
        EXPECT_EQ(info.is_integer != 0, arithmetic == TOSAVK_ARITHMETIC_INT8 || arithmetic == TOSAVK_ARITHMETIC_INT32)
            << line;
    }
}

TEST_F(Bench, LimitsAreStored) {
    TOSAVK_NEEDS_DRIVER();
    const auto limits = [&](const std::vector<std::string>& more, const char* no_cache) {
        std::vector<std::string> arguments = {"--op", "add f32 10", "--no-check"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Environment environment = {{"TOSAVK_CACHE_DIR", path("limits-cache")}, {"TOSAVK_NO_CACHE", no_cache}};
        json result = report(arguments, true, environment).at("limits");
        const bool stored = result.at("stored");
        result.erase("stored");
        return std::pair(stored, result);
    };
    const auto uncached = limits({}, "1");
    EXPECT_FALSE(uncached.first);
    EXPECT_FALSE(fs::exists(path("limits-cache")));
    const auto first = limits({}, "0"), second = limits({}, "0");
    EXPECT_FALSE(first.first);
    EXPECT_TRUE(second.first);
    EXPECT_EQ(second.second, first.second);
    EXPECT_FALSE(limits({}, "1").first) << "the cache is off";
    const auto anew = limits({"--measure-limits"}, "0"), last = limits({}, "0");
    EXPECT_FALSE(anew.first);
    EXPECT_TRUE(last.first);
    EXPECT_EQ(last.second, anew.second);
    expect_error(bench({"--op", "add f32 10", "--measure-limits"}), 2, "--measure-limits");
}

TEST_F(Bench, AWarmStartCompilesNothing) {
    TOSAVK_NEEDS_DRIVER();
    // Neither the user's cache nor the folder of temporary files has anything in the end.
    fs::create_directories(path("tmp"));
    const Environment environment = {
        {"TOSAVK_CACHE_DIR", path("users")}, {"TOSAVK_NO_CACHE", "1"}, {"TOSAVK_SEED", ""}, {"TMPDIR", path("tmp")}};
    const json result = report({"--op", "network squeezenet f32", "--no-check", "--start"}, false, environment);
    const json& start = result.at("problems").at(0).at("start");
    EXPECT_GT(start.at("cold").at("shaders_compiled").get<int>(), 3);
    EXPECT_EQ(start.at("cold").at("shaders_loaded").get<int>(), 0);
    EXPECT_TRUE(start.at("cold").at("compiler_started").get<bool>());
    EXPECT_EQ(start.at("warm").at("shaders_compiled").get<int>(), 0);
    EXPECT_EQ(start.at("warm").at("shaders_loaded"), start.at("cold").at("shaders_compiled"));
    EXPECT_FALSE(start.at("warm").at("compiler_started").get<bool>());
    for (const char* which : {"cold", "warm"})
        for (const char* time : {"ms", "open_ms"}) EXPECT_GT(start.at(which).at(time).get<double>(), 0) << which;
    EXPECT_FALSE(fs::exists(path("users")));
    EXPECT_TRUE(fs::is_empty(path("tmp")));

    const Spawned with = bench({"--op", "add f32 10", "--no-check", "--start"}, false, environment);
    EXPECT_EQ(with.exit_code, 0) << with.err;
    EXPECT_NE(with.out.find("warm ms"), std::string::npos) << with.out;
    const Spawned without = bench({"--op", "add f32 10", "--no-check"}, false, environment);
    EXPECT_EQ(without.out.find("warm ms"), std::string::npos) << without.out;
    EXPECT_TRUE(report({"--op", "add f32 10", "--no-check"}).at("problems").at(0).at("start").is_null());
    // A folder that cannot be had is said in one sentence.
    expect_error(bench({"--op", "add f32 10", "--no-check", "--start"}, false, {{"TMPDIR", "/proc/self"}}), 3,
                 "cannot make a folder");
}

TEST_F(Bench, AnOptionTakesOneLine) {
    TOSAVK_NEEDS_DRIVER();
    const json result = report({"--op", "add f32 10", "abs f32 20", "--no-check"});
    ASSERT_EQ(result.at("problems").size(), 2u) << "the second is a positional argument";
    const Spawned run = bench({"--op", "add f32 10", path("none.tflite"), "--no-check"});
    expect_error(run, 3, "none.tflite");
}

TEST_F(Bench, ComparesWithAnEarlierReport) {
    TOSAVK_NEEDS_DRIVER();
    const std::string line = "add f32 1000";
    json before = report({"--op", line});
    const auto with_time = [&](double ms) {
        for (const char* key : {"gpu_ms", "wall_ms"})
            if (!before["problems"][0][key].is_null()) before["problems"][0][key]["min"] = ms;
        return write("before.json", before.dump());
    };
    const Spawned slower = bench({"--op", line, "--compare", with_time(1e-9)});
    EXPECT_EQ(slower.exit_code, 1) << slower.err;
    EXPECT_NE(slower.out.find("slower"), std::string::npos) << slower.out;
    EXPECT_EQ(bench({"--op", line, "--compare", with_time(1e9)}).exit_code, 0);
    const json result = report({"--op", line, "--op", "sub f32 100", "--compare", with_time(1e9)});
    EXPECT_EQ(result.at("comparison").at("passed"), true);
    EXPECT_LT(result.at("comparison").at("problems").at(0).at("ratio").get<double>(), 1);
    EXPECT_EQ(result.at("comparison").at("only_new").at(0), "sub f32 100");
    // Found before anything is measured, and before a device is asked for.
    expect_error(bench({"--op", line, "--device", "none", "--compare", write("no.json", "{}")}), 3, "no report");
    expect_error(bench({"--op", line, "--device", "none", "--compare", path("none.json")}), 3, "none.json");
}

TEST_F(Bench, ComparesOnlyWhatCanBeCompared) {
    TOSAVK_NEEDS_DRIVER();
    const std::string line = "add f32 1000";
    const json first = report({"--op", line});
    const auto set_best = [](json& of, double ms) {
        for (const char* key : {"gpu_ms", "wall_ms"})
            if (!of["problems"][0][key].is_null()) of["problems"][0][key]["min"] = ms;
    };
    json before = first;
    set_best(before, 1e9);
    json same = report({"--op", line, "--compare", write("same.json", before.dump())}).at("comparison");
    EXPECT_TRUE(same.at("other_device").is_null());

    json other = before;
    other["device"]["driver"] = "another driver";
    const std::string other_path = write("other.json", other.dump());
    const json warned = report({"--op", line, "--compare", other_path}).at("comparison");
    EXPECT_EQ(warned.at("passed"), true) << "a warning, no error";
    EXPECT_NE(warned.at("other_device").get<std::string>().find("another driver"), std::string::npos);
    const Spawned text = bench({"--op", line, "--compare", other_path});
    EXPECT_NE(text.out.find("warning: the earlier report is of another device or driver"), std::string::npos)
        << text.out;

    // Both times that a problem is listed.
    const json twice =
        report({"--op", line, "--op", line, "--compare", write("twice.json", before.dump())}).at("comparison");
    EXPECT_EQ(twice.at("problems").size(), 2u);
    EXPECT_TRUE(twice.at("only_new").empty());
    EXPECT_TRUE(twice.at("only_old").empty());

    // No pair at all is no success.
    const auto compared = [&](const std::string& op, const json& old) {
        const std::string old_path = write("old.json", old.dump());
        const Spawned said = bench({"--op", op, "--compare", old_path});
        EXPECT_EQ(said.exit_code, 1) << said.err;
        EXPECT_NE(said.out.find("nothing to compare"), std::string::npos) << said.out;
        const Spawned run = bench({"--op", op, "--compare", old_path, "--json", "-"});
        EXPECT_EQ(run.exit_code, 1) << run.err;
        const json comparison = json::parse(run.out).at("comparison");
        EXPECT_EQ(comparison.at("passed"), false);
        EXPECT_TRUE(comparison.at("problems").empty());
        return comparison;
    };
    const json missing = compared("sub f32 100", before);
    EXPECT_EQ(missing.at("only_new"), json({"sub f32 100"}));
    EXPECT_EQ(missing.at("only_old"), json({line}));
    for (const double ms : {0.0, -1.0}) {
        json wrong = first;
        set_best(wrong, ms);
        const json excluded = compared(line, wrong);
        ASSERT_EQ(excluded.at("not_comparable").size(), 1u);
        EXPECT_EQ(excluded.at("not_comparable").at(0).at("name"), line);
        EXPECT_TRUE(excluded.at("only_old").empty());
    }
}

TEST_F(Bench, ReportsSaySteadinessAndPrecision) {
    TOSAVK_NEEDS_DRIVER();
    const json result = report({"--op", "add f32 1000"});
    EXPECT_EQ(result.at("precision"), "declared");
    const json& problem = result.at("problems").at(0);
    EXPECT_TRUE(problem.at("wall_ms").at("steady").is_boolean());
    EXPECT_TRUE(problem.at("gpu_ms").is_null() || problem.at("gpu_ms").at("steady").is_boolean());
    EXPECT_EQ(report({"--op", "add f32 1000", "--precision", "fp16"}).at("precision"), "fp16");
    const Spawned text = bench({"--op", "add f32 1000", "--precision", "fp16"});
    EXPECT_NE(text.out.find("run in fp16"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("differs from the declared types' by "), std::string::npos) << text.out;
    const json differences =
        report({"--op", "add f32 1000", "--precision", "fp16"}).at("problems").at(0).at("fp16_differences");
    ASSERT_EQ(differences.size(), 1u);
    EXPECT_GT(differences.at(0).at("largest_difference").get<double>(), 0);
    EXPECT_LT(differences.at(0).at("largest_difference").get<double>(),
              0.01 * differences.at(0).at("largest_magnitude").get<double>());
    EXPECT_FALSE(report({"--op", "add f32 1000"}).at("problems").at(0).contains("fp16_differences"));
    // A mark in the table has its explanation, and there is none without a mark.
    const auto marks = std::count(text.out.begin(), text.out.end(), '~');
    EXPECT_EQ(marks > 0, text.out.find("~ the median was not steady") != std::string::npos) << text.out;
    EXPECT_NE(marks, 1) << text.out;
}

TEST_F(Bench, NoGpuTimeWithControlFlowOrWithoutDispatches) {
    TOSAVK_NEEDS_DRIVER();
    const Bytes file = write_tosa(testing::branch_graph(4));
    const std::string model = write("branch.tosa", {reinterpret_cast<const char*>(file.data()), file.size()});
    const json result = report({model}).at("problems").at(0);
    EXPECT_EQ(result.at("control_flow"), true);
    for (const char* unknown : {"gpu_ms", "percent_of_limit", "dispatches", "work", "bytes", "gflops"})
        EXPECT_TRUE(result.at(unknown).is_null()) << unknown;
    EXPECT_GT(result.at("wall_ms").at("median").get<double>(), 0);
    const Spawned text = bench({model});
    EXPECT_NE(text.out.find("not measured: the graph has control flow"), std::string::npos) << text.out;

    const Spawned none = bench({"--op", "identity f32 16"});
    EXPECT_EQ(none.exit_code, 0) << none.err;
    EXPECT_EQ(none.out.find("no timestamps"), std::string::npos) << none.out;
}

/// Before anything is measured, and before a device is asked for.
TEST_F(Bench, OutputsAreTriedFirst) {
    fs::create_directories(path("folder"));
    for (const char* option : {"--json", "--trace"}) {
        expect_error(bench({"--op", "add f32 4", "--device", "none", option, path("no-folder") + "/x.json"}), 3,
                     "no-folder");
        expect_error(bench({"--op", "add f32 4", "--device", "none", option, path("folder")}), 3, "cannot write");
    }
    expect_error(bench({"--op", "add f32 4", "--device", "none", "--html", path("no-folder") + "/x.html"}, true), 3,
                 "no-folder");
    // A run that fails later leaves what was there, and nothing new.
    write("kept.json", "as it was");
    const Spawned run =
        bench({"--op", "add f32 4", "--device", "none", "--json", path("kept.json"), "--trace", path("new.json")});
    EXPECT_EQ(run.exit_code, 4) << run.err;
    EXPECT_EQ(test::read_text(path("kept.json")), "as it was");
    for (const auto& entry : fs::directory_iterator(folder_))
        EXPECT_EQ(entry.path().filename().string().find(".json"),
                  entry.path().filename() == "kept.json" ? 4u : std::string::npos)
            << entry.path();
}

TEST_F(Bench, TraceAndPage) {
    TOSAVK_NEEDS_DRIVER();
    const std::string line = "conv2d f32 1x8x8x8 8x3x3 p1 clamp";
    const Spawned run = bench({"--op", line, "--trace", path("trace.json"), "--html", path("page.html")}, true);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const json trace = json::parse(test::read_text(path("trace.json")));
    std::size_t dispatches = 0, phases = 0;
    for (const json& event : trace.at("traceEvents")) {
        if (event.at("ph") != "X") continue;
        EXPECT_GE(event.at("dur").get<double>(), 0);
        if (event.at("name") == "CONV2D+CLAMP") ++dispatches;
        if (event.at("name") == "check" || event.at("name") == "runs") ++phases;
    }
    EXPECT_EQ(dispatches, 1u);
    EXPECT_EQ(phases, 2u);
    // The page holds the report as it is and asks for nothing from elsewhere.
    const std::string page = test::read_text(path("page.html"));
    const std::string begin = "type=\"application/json\">";
    const std::size_t from = page.find(begin) + begin.size();
    ASSERT_GT(from, begin.size());
    const json report = json::parse(page.substr(from, page.find("</script>", from) - from));
    EXPECT_EQ(report.at("problems").at(0).at("name"), line);
    for (const char* outside : {"src=", "href=", "@import", "url("})
        EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    expect_error(bench({"--op", "add f32 4", "--trace", path("no-folder") + "/t.json"}), 3, "no-folder");
    expect_error(bench({"--op", "add f32 4", "--html", path("page.html")}), 2, "--no-limits");
}

/// "-" is standard output, which then holds that result alone.
TEST_F(Bench, ResultsOnStandardOutput) {
    expect_error(bench({"--op", "add f32 4", "--json", "-", "--trace", "-"}), 2, "only one of");
    expect_error(bench({"--op", "add f32 4", "--trace", "-", "--html", "-"}, true), 2, "only one of");
    TOSAVK_NEEDS_DRIVER();
    const Spawned trace = bench({"--op", "add f32 4", "--no-check", "--trace", "-", "--json", path("beside.json")});
    ASSERT_EQ(trace.exit_code, 0) << trace.err;
    EXPECT_TRUE(json::parse(trace.out).contains("traceEvents"));
    EXPECT_TRUE(json::parse(test::read_text(path("beside.json"))).contains("problems"));
    const Spawned page = bench({"--op", "add f32 4", "--no-check", "--html", "-"}, true);
    ASSERT_EQ(page.exit_code, 0) << page.err;
    EXPECT_EQ(page.out.rfind("<!doctype html>", 0), 0u);
    EXPECT_TRUE(page.out.ends_with("</html>\n"));
    EXPECT_FALSE(fs::exists("-"));
    // What a trace has no place for is said on stderr.
    json before = report({"--op", "add f32 4", "--no-check"});
    for (const char* key : {"gpu_ms", "wall_ms"})
        if (!before["problems"][0][key].is_null()) before["problems"][0][key]["min"] = 1e-9;
    const Spawned slower =
        bench({"--op", "add f32 4", "--no-check", "--trace", "-", "--compare", write("old.json", before.dump())});
    EXPECT_EQ(slower.exit_code, 1);
    EXPECT_TRUE(json::parse(slower.out).contains("traceEvents"));
    EXPECT_NE(slower.err.find("slower"), std::string::npos) << slower.err;
}

TEST_F(Bench, Suites) {
    TOSAVK_NEEDS_DRIVER();
    const std::string suite = write("suite.txt", "# of two\n\nadd f32 100   # small\n\tchain f32 16 add*5\r\n");
    const json result = report({"--suite", suite});
    EXPECT_TRUE(result.at("limits").empty());
    EXPECT_TRUE(result.at("problems").at(0).at("percent_of_limit").is_null());
    ASSERT_EQ(result.at("problems").size(), 2u);
    EXPECT_EQ(result.at("problems").at(0).at("name"), "add f32 100");
    EXPECT_EQ(result.at("problems").at(1).at("name"), "chain f32 16 add*5");
    const Spawned text = bench({"--suite", suite, "--no-check"});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_NE(text.out.find("% of limit"), std::string::npos) << text.out;
}

/// Every line of the committed suites must be one.
TEST_F(Bench, CommittedSuitesAreWellFormed) {
    const char* source = std::getenv("TOSAVK_SOURCE");
    TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE");
    std::size_t lines = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(source) / "bench" / "suites")) {
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) {
            line = line.substr(0, line.find('#'));
            if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
            ++lines;
            tosavk_graph* graph = nullptr;
            tosavk_error* error = nullptr;
            EXPECT_EQ(tosavk_graph_load_problem(line.c_str(), nullptr, &graph, &error), TOSAVK_OK)
                << entry.path() << ": " << (error ? tosavk_error_message(error) : "");
            tosavk_error_release(error);
            tosavk_graph_release(graph);
        }
    }
    EXPECT_GT(lines, 50u);
}

}  // namespace
}  // namespace tosavk
