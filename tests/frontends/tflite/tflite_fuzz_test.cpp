// Models of every operator, altered: a sentence or a graph that keeps every rule, never a crash. The corpus is made by
// the sweep's writer (scripts/tflite-sweep --corpus tests/frontends/tflite/fuzz_corpus) and holds what once went wrong;
// scripts/nightly goes on with other seeds under AddressSanitizer and UndefinedBehaviorSanitizer.
#include "base/files.hpp"
#include "support/case_keeper.hpp"
#include "support/damaged.hpp"
#include "support/environment.hpp"
#include "support/require.hpp"
#include "support/tflite_mutator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

namespace tosavk {
namespace {

namespace fs = std::filesystem;

class TfliteFuzz : public ::testing::Test {
protected:
    struct Made {
        std::string name;
        Bytes file;
    };

    void SetUp() override {
        TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE");
        const fs::path folder = fs::path(std::getenv("TOSAVK_SOURCE")) / "tests/frontends/tflite/fuzz_corpus";
        for (const auto& entry : fs::directory_iterator(folder))
            made_.push_back({entry.path().filename().string(), read_file(entry.path())});
        std::sort(made_.begin(), made_.end(), [](const Made& a, const Made& b) { return a.name < b.name; });
        ASSERT_GT(made_.size(), 100u);
    }

    static bool is_whole(const Bytes& file) {
        flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
        return tflite::VerifyModelBuffer(verifier);
    }

    std::vector<Made> made_;
};

TEST_F(TfliteFuzz, Corpus) {
    test::DamagedFiles files("corpus.tflite", made_.size());
    for (const Made& made : made_) {
        SCOPED_TRACE(made.name);
        files.import_or_refuse(made.file);
    }
    EXPECT_GT(files.imported(), 30);
    EXPECT_GT(files.ran(), 20);
}

TEST_F(TfliteFuzz, SizesOfNothing) {
    // Each size that a model has becomes 0 wherever it stands, and each dimension of each tensor by itself.
    std::erase_if(made_, [](const Made& made) { return !is_whole(made.file); });
    std::vector<Bytes> altered;
    for (const Made& made : made_) {
        const auto model = test::TfliteMutator::unpack(made.file);
        std::set<std::int32_t> sizes;
        for (const auto& graph : model->subgraphs) {
            for (const auto& tensor : graph->tensors) {
                for (std::int32_t& size : tensor->shape) {
                    sizes.insert(size);
                    const std::int32_t was = std::exchange(size, 0);
                    altered.push_back(test::TfliteMutator::pack(*model));
                    size = was;
                }
            }
        }
        for (const std::int32_t size : sizes) {
            const auto without = test::TfliteMutator::unpack(made.file);
            for (const auto& graph : without->subgraphs) {
                for (const auto& tensor : graph->tensors)
                    std::replace(tensor->shape.begin(), tensor->shape.end(), size, 0);
            }
            altered.push_back(test::TfliteMutator::pack(*without));
        }
    }
    test::DamagedFiles files("nothing.tflite", altered.size());
    test::CaseKeeper keeper;
    for (const Bytes& file : altered) {
        keeper.keep(file);
        files.import_or_refuse(file);
        ASSERT_FALSE(HasFailure());
    }
    std::printf("%zu models, %d imported, %d ran\n", altered.size(), files.imported(), files.ran());
    EXPECT_GT(files.imported(), 100);
}

TEST_F(TfliteFuzz, AlteredModels) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    const std::uint64_t cases = test::number_from_environment("TOSAVK_TEST_CASES", 40);
    std::erase_if(made_, [](const Made& made) { return !is_whole(made.file); });
    test::DamagedFiles files("altered.tflite", 20 * cases);
    test::CaseKeeper keeper;
    std::uint64_t all = 0;
    std::pair<double, std::string> slowest;  // seconds
    for (std::size_t m = 0; m < made_.size(); ++m) {
        for (std::uint64_t k = 0; k < cases; ++k, ++all) {
            test::TfliteMutator mutator(seed * 1000003 + m * 7919 + k);
            const Bytes file = mutator.alter(made_[m].file, made_[(m * 31 + k * 17 + seed) % made_.size()].file);
            keeper.keep(file);
            const auto begun = std::chrono::steady_clock::now();
            files.import_or_refuse(file);
            slowest =
                std::max(slowest, {std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(),
                                   made_[m].name + ", case " + std::to_string(k)});
            ASSERT_FALSE(HasFailure()) << made_[m].name << ", case " << k << " of seed " << seed;
        }
    }
    std::printf("seed %llu: %llu models, %d imported, %d ran; slowest: %s, %.2f s\n",
                static_cast<unsigned long long>(seed), static_cast<unsigned long long>(all), files.imported(),
                files.ran(), slowest.second.c_str(), slowest.first);
    EXPECT_GT(files.imported(), static_cast<int>(all / 50));
}

}  // namespace
}  // namespace tosavk
