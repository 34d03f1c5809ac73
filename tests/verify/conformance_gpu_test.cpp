// The conformance command and its C function on the device: rows, choice, repetition, exit codes.
#include "support/driver.hpp"
#include "support/spawn.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace tosavk {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class Conformance : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        folder_ = fs::temp_directory_path() / ("tosavk-conformance-" + std::to_string(::getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }

    test::Spawned spawn(std::vector<std::string> arguments,
                        const std::vector<std::pair<std::string, std::string>>& environment = {}) const {
        arguments.insert(arguments.begin(), "conformance");
        return test::spawn(folder_, "tosa-vk", arguments, environment);
    }
    static std::vector<json> rows(const cpp::Device& device, const cpp::ConformanceOptions& options,
                                  tosavk_conformance_summary* summary = nullptr) {
        std::vector<json> all;
        const auto total = cpp::run_conformance(device, options, [&](const char* text, std::uint64_t) {
            all.push_back(json::parse(text));
            return true;
        });
        if (summary) *summary = total;
        return all;
    }

    fs::path folder_;
};

cpp::ConformanceOptions choose(const std::string& op, const std::string& type = {}, std::int64_t cases = 2) {
    cpp::ConformanceOptions options;
    options.op = op;
    options.type = type;
    options.spec = "1.0";
    options.cases = cases;
    return options;
}

TEST_F(Conformance, RowsTellWhatWasDone) {
    const cpp::Device device;
    tosavk_conformance_summary summary{};
    const auto all = rows(device, choose("MATMUL"), &summary);
    std::size_t values = 0, errors = 0;
    std::uint64_t cases = 0;
    for (const json& row : all) {
        for (const char* key :
             {"kind", "op", "spec", "types", "cases", "failed", "passed", "worst_error", "bound", "seed", "repro"})
            EXPECT_TRUE(row.contains(key)) << key << " in " << row.dump();
        EXPECT_EQ(row.at("op"), "MATMUL");
        EXPECT_TRUE(row.at("passed")) << row.dump(2);
        EXPECT_EQ(row.at("repro").get<std::string>().rfind("tosa-vk conformance --op MATMUL ", 0), 0u);
        cases += row.at("cases").get<std::uint64_t>();
        if (row.at("kind") == "values") {
            ++values;
            const bool is_float = row.at("types").at("in_t").get<std::string>()[0] != 'i';
            EXPECT_EQ(row.at("cases"), is_float ? 8 : 2);
            EXPECT_EQ(row.at("bound") == "exact", !is_float);
            EXPECT_LE(row.at("worst_error"), is_float ? 1 : 0);
        } else {
            ++errors;
            EXPECT_FALSE(row.at("error_if").get<std::string>().empty());
        }
    }
    EXPECT_GE(values, 2u);
    EXPECT_GE(errors, 3u);
    EXPECT_EQ(summary.rows, all.size());
    EXPECT_EQ(summary.cases, cases);
    EXPECT_EQ(summary.rows_failed + summary.cases_failed, 0u);
    EXPECT_EQ(summary.stopped, 0);
}

TEST_F(Conformance, AChosenTypeRunsAlone) {
    const cpp::Device device;
    const auto all = rows(device, choose("ADD", "i32", 3));
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].at("types"), json::parse(R"({"in_out_t":"i32_t"})"));
    EXPECT_EQ(all[0].at("cases"), 3);
}

TEST_F(Conformance, JobsChangeNothing) {
    const cpp::Device device;
    cpp::ConformanceOptions options = choose("CLAMP");
    const auto one = rows(device, options);
    options.jobs = 3;
    EXPECT_EQ(rows(device, options), one);
}

// Every kernel and variant that a tuner could choose, on the same graphs.
TEST_F(Conformance, AllCandidates) {
    const cpp::Device device;
    const std::pair<const char*, const char*> chosen[] = {{"CONV2D", "i8,i8,i32,i32"},
                                                          {"DEPTHWISE_CONV2D", "i8,i8,i32,i32"},
                                                          {"MATMUL", "i8,i32"},
                                                          {"REDUCE_SUM", "i32,i32"},
                                                          {"TRANSPOSE", "i8"}};
    for (const auto& [op, type] : chosen) {
        auto options = choose(op, type);
        tosavk_conformance_summary own{}, all{};
        rows(device, options, &own);
        options.all_candidates = true;
        const auto found = rows(device, options, &all);
        EXPECT_EQ(all.cases, own.cases);
        EXPECT_EQ(all.cases_failed, 0u);
        EXPECT_GE(all.worst, own.worst);
        for (const json& row : found) EXPECT_TRUE(row.at("passed").get<bool>()) << row.dump();
        const auto values =
            std::find_if(found.begin(), found.end(), [](const json& row) { return row.at("kind") == "values"; });
        ASSERT_NE(values, found.end());
        EXPECT_NE(values->at("repro").get<std::string>().find(" --candidates"), std::string::npos);
    }
}

TEST_F(Conformance, TheCallbackMayStop) {
    const cpp::Device device;
    int calls = 0;
    const auto summary = cpp::run_conformance(device, choose("CLAMP"), [&](const char*, std::uint64_t total) {
        EXPECT_GT(total, 2u);
        return ++calls < 2;
    });
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(summary.rows, 2u);
    EXPECT_EQ(summary.stopped, 1);
    EXPECT_THROW(cpp::run_conformance(device, choose("CLAMP"),
                                      [](const char*, std::uint64_t) -> bool { throw std::runtime_error("enough"); }),
                 std::runtime_error);
}

TEST_F(Conformance, WrongChoicesAndDefaults) {
    const cpp::Device device;
    const auto expect_usage = [&](const cpp::ConformanceOptions& options, const std::string& part) {
        try {
            rows(device, options);
            ADD_FAILURE() << part;
        } catch (const cpp::Error& error) {
            EXPECT_EQ(error.status(), TOSAVK_ERROR_USAGE);
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    };
    expect_usage(choose("CONV9D"), "CONV9D");
    expect_usage(choose("ADD", "bool_t"), "bool_t");
    auto many = choose("ADD");
    many.jobs = 1000;
    expect_usage(many, "64");
    EXPECT_EQ(tosavk_conformance_run(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), TOSAVK_ERROR_USAGE);
    // An older program's struct ends before the later fields, which then have their defaults: 20 cases, of 1.0 and of
    // 0.30.
    tosavk_conformance_options old{};
    old.struct_size = offsetof(tosavk_conformance_options, spec);
    old.op = "LOGICAL_NOT";
    old.type = "bool_t";
    tosavk_conformance_summary summary{};
    summary.struct_size = sizeof summary;
    EXPECT_EQ(tosavk_conformance_run(device.get(), &old, nullptr, nullptr, &summary, nullptr), TOSAVK_OK);
    EXPECT_EQ(summary.cases, 40u);
}

TEST_F(Conformance, TheCommand) {
    TOSAVK_NEEDS_PROGRAM("tosa-vk");
    const test::Spawned text = spawn({"--op", "ABS", "--cases", "2"});
    EXPECT_EQ(text.exit_code, 0) << text.out << text.err;
    EXPECT_EQ(text.err, "");
    EXPECT_NE(text.out.find("ABS"), std::string::npos);
    const test::Spawned array =
        spawn({"--op", "EXP", "--type", "fp32_t", "--spec", "1.0", "--seed", "7", "--cases", "3", "--json"});
    EXPECT_EQ(array.exit_code, 0) << array.err;
    const json rows = json::parse(array.out);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].at("cases"), 3);
    EXPECT_GT(rows[0].at("worst_error"), 0);
    // The repro's case alone has the same worst error.
    std::istringstream words(rows[0].at("repro").get<std::string>());
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    ASSERT_EQ(arguments[1], "conformance");
    arguments.erase(arguments.begin(), arguments.begin() + 2);
    arguments.push_back("--json");
    const test::Spawned again = spawn(arguments);
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_EQ(json::parse(again.out)[0].at("worst_error"), rows[0].at("worst_error"));

    EXPECT_EQ(spawn({"--op", "NOTHING"}).exit_code, 2);
    EXPECT_EQ(spawn({"--cases", "-1"}).exit_code, 2);
    EXPECT_EQ(spawn({"--op", "ABS", "--device", "no such device"}).exit_code, 4);
}

TEST_F(Conformance, AFailureIsExitCodeOneAndIsExplained) {
    TOSAVK_NEEDS_PROGRAM("tosa-vk");
    // A device that binds one buffer runs nothing.
    const std::string caps = (folder_ / "caps.json").string();
    std::ofstream(caps) << R"({"max_storage_buffers_per_stage": 1})";
    const test::Spawned text = spawn({"--op", "ADD", "--type", "i32_t", "--cases", "2"}, {{"TOSAVK_CAPS", caps}});
    EXPECT_EQ(text.exit_code, 1) << text.out << text.err;
    EXPECT_NE(text.out.find("tosa-vk conformance --op ADD --type i32_t --seed 1 --cases 1"), std::string::npos)
        << text.out;
    const test::Spawned array =
        spawn({"--op", "ADD", "--type", "i32_t", "--cases", "2", "--json"}, {{"TOSAVK_CAPS", caps}});
    EXPECT_EQ(array.exit_code, 1);
    const json row = json::parse(array.out).at(0);
    EXPECT_FALSE(row.at("passed"));
    EXPECT_EQ(row.at("failed"), 2);
    EXPECT_FALSE(row.at("detail").get<std::string>().empty());
}

}  // namespace
}  // namespace tosavk
