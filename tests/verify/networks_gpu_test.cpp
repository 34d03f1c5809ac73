// Whole networks on the device: the recorded corpus, the check against the reference, repeated and concurrent runs.
// TOSAVK_TEST_SEEDS sets the number of random input sets per network (default 3).
#include "frontends/frontend.hpp"
#include "reference/reference.hpp"
#include "support/corpus.hpp"
#include "support/gpu_test.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "verify/checker.hpp"
#include "vk/run/context.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

namespace tosavk {
namespace {

namespace fs = std::filesystem;

class Networks : public test::GpuTest {
protected:
    static std::shared_ptr<Executable> compile(std::shared_ptr<const Graph> graph, PlanOptions options = {}) {
        Plan plan = make_plan(*graph, device_->plan(), options);
        return Executable::create(device_, std::move(graph), std::move(plan));
    }

    /// Runs every recorded case of a folder; returns how many, or nothing when the importer lacks the operator.
    static std::optional<std::size_t> check_folder(const fs::path& path, TfliteRounding rounding) {
        const test::CaseFolder folder(path);
        ImportOptions options;
        options.rounding = rounding;
        std::shared_ptr<const Graph> graph;
        try {
            graph = std::make_shared<const Graph>(import_file(folder.model(), options));
        } catch (const Error& error) {
            if (error.code() != ErrorCode::unsupported) throw;
            return std::nullopt;
        }
        Context context(compile(graph), false);
        const char* key = rounding == TfliteRounding::tflite       ? "tflite"
                        : rounding == TfliteRounding::double_round ? "double_round"
                                                                   : "single_round";
        for (std::size_t i = 0; i < folder.cases.size(); ++i) {
            const auto recorded = folder.load(i, key);
            if (!recorded) continue;
            const std::vector<HostTensor> outputs = test::run(context, *graph, recorded->inputs);
            for (std::size_t k = 0; k < outputs.size(); ++k) {
                EXPECT_EQ(test::compare(outputs[k], recorded->expected.at(k), folder.atol, folder.rtol), "")
                    << path.filename() << " case " << i << " output " << k << " " << key;
            }
        }
        return folder.cases.size();
    }

    static void check_all(const fs::path& root, std::size_t least_folders, const std::vector<std::string>& may_lack) {
        std::size_t done = 0, index = 0;
        for (const fs::path& path : test::case_folders(root)) {
            if (!test::in_this_part(index++)) continue;
            const bool is_float = path.filename().string().find("fp32") != std::string::npos;
            bool ran = true;
            for (const TfliteRounding rounding :
                 {TfliteRounding::tflite, TfliteRounding::double_round, TfliteRounding::single_round}) {
                if (is_float && rounding != TfliteRounding::tflite) continue;
                ran = check_folder(path, rounding).has_value();
                if (!ran) break;
            }
            done += ran;
            const auto lacks = [&](const std::string& part) {
                return path.filename().string().find(part) != std::string::npos;
            };
            EXPECT_TRUE(ran || std::any_of(may_lack.begin(), may_lack.end(), lacks))
                << path.filename() << " was not imported";
        }
        EXPECT_GE(index, least_folders);
        EXPECT_GT(done, 0u);
    }

    static fs::path samples() {
        const char* folder = std::getenv("TOSAVK_SAMPLES");
        return folder ? fs::path(folder) : fs::path("examples/glyphs");
    }
};

TEST_F(Networks, RecordedNetworks) {
    TOSAVK_NEEDS_CORPUS(test::corpus());
    check_all(test::corpus() / "models", 7, {});
}

TEST_F(Networks, RecordedOperators) {
    TOSAVK_NEEDS_CORPUS(test::corpus());
    check_all(test::corpus() / "tflite-ops", 157, {});
}

TEST_F(Networks, RecordedNetworksOfPyTorch) {
    TOSAVK_NEEDS_CORPUS(test::corpus());
    check_all(test::corpus() / "pytorch", 7, {});
}

TEST_F(Networks, RandomInputsAgreeWithTheReference) {
    std::vector<fs::path> models = {samples() / "glyphs_int8.tflite", samples() / "glyphs_fp32.tflite"};
    if (!test::corpus().empty()) {
        for (const fs::path& path : test::case_folders(test::corpus() / "models"))
            models.push_back(path / "model.tflite");
    }
    for (std::size_t k = 0; k < models.size(); ++k) {
        if (!test::in_this_part(k)) continue;
        const fs::path& model = models[k];
        Checker checker(device_, std::make_shared<const Graph>(import_file(model, {})));
        const std::uint64_t seeds = test::number_from_environment("TOSAVK_TEST_SEEDS", 3);
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            const CheckReport report = checker.run(seed);
            ASSERT_TRUE(report.passed) << "tosa-vk verify " << model << " --seeds 1 --seed " << seed << "\n"
                                       << report.detail;
        }
    }
}

TEST_F(Networks, TheSampleReadsItsPictures) {
    for (const std::string kind : {"int8", "fp32"}) {
        const auto graph = std::make_shared<const Graph>(import_file(samples() / ("glyphs_" + kind + ".tflite"), {}));
        const HostTensor expected = load_npy(samples() / ("expected_" + kind + ".npy"));
        Context context(compile(graph), false);
        std::vector<fs::path> pictures;
        for (const auto& entry : fs::directory_iterator(samples() / "samples")) {
            if (entry.path().extension() == ".png") pictures.push_back(entry.path());
        }
        std::sort(pictures.begin(), pictures.end());
        ASSERT_EQ(static_cast<std::int64_t>(pictures.size()), expected.shape.at(0));
        for (std::size_t row = 0; row < pictures.size(); ++row) {
            fs::path file = pictures[row];
            const HostTensor got =
                test::run(context, *graph, {load_npy(file.replace_extension("." + kind + ".npy"))}).at(0);
            HostTensor want(got.type, got.shape);
            std::copy_n(expected.bytes.begin() + static_cast<std::ptrdiff_t>(row * want.bytes.size()),
                        want.bytes.size(), want.bytes.begin());
            EXPECT_EQ(test::compare(got, want, 0, 1e-5), "") << pictures[row];
        }
    }
}

TEST_F(Networks, HundredRunsGiveTheSameBitsAndAllocateNothing) {
    const auto graph = std::make_shared<const Graph>(import_file(samples() / "glyphs_int8.tflite", {}));
    const auto executable = compile(graph);
    Context context(executable, false);
    const std::vector<HostTensor> inputs = {random_tensor(DType::i8, graph->value(graph->inputs[0]).shape, 5)};
    const Bytes first = test::run(context, *graph, inputs).at(0).bytes;
    const ExecutableCounters made = executable->counters();
    const ContextCounters once = context.counters();
    for (int i = 1; i < 100; ++i) ASSERT_EQ(test::run(context, *graph, inputs).at(0).bytes, first) << "run " << i;
    EXPECT_EQ(context.counters().submits, 100u);
    EXPECT_EQ(context.counters().allocations, once.allocations);
    EXPECT_EQ(executable->counters().allocations, made.allocations);
    EXPECT_EQ(executable->counters().pipelines_created, made.pipelines_created);
    EXPECT_EQ(executable->counters().weight_bytes_copied, made.weight_bytes_copied);
}

TEST_F(Networks, ThreadsShareAnExecutable) {
    const auto graph = std::make_shared<const Graph>(import_file(samples() / "glyphs_int8.tflite", {}));
    const auto executable = compile(graph);
    std::vector<std::thread> threads;
    std::vector<int> wrong(2, 0);
    for (std::size_t t = 0; t < wrong.size(); ++t) {
        threads.emplace_back([&, t] {
            Context context(executable, false);
            for (std::uint64_t i = 0; i < 20; ++i) {
                const std::vector<HostTensor> inputs = {
                    random_tensor(DType::i8, graph->value(graph->inputs[0]).shape, 100 * t + i)};
                wrong[t] += test::run(context, *graph, inputs).at(0).bytes != reference_run(*graph, inputs).at(0).bytes;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace tosavk
