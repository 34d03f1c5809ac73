// The helper that skips or fails where something is missing, and that what TOSAVK_REQUIRE names is there.
#include "support/corpus.hpp"
#include "support/driver.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace tosavk {
namespace {

class WithRequire : public ::testing::Test {
protected:
    void SetUp() override {
        if (const char* text = std::getenv("TOSAVK_REQUIRE")) before_ = text;
    }
    void TearDown() override { ::setenv("TOSAVK_REQUIRE", before_.c_str(), 1); }

    std::string before_;
};

void needs_a_driver(bool there) {
    if (!there) TOSAVK_MISSING("driver", "there is no Vulkan driver");
}

/// How a test ends that lacks a driver: the type of its only result, or success.
::testing::TestPartResult::Type ended(const char* require, bool there) {
    ::setenv("TOSAVK_REQUIRE", require, 1);
    ::testing::TestPartResultArray results;
    {
        const ::testing::ScopedFakeTestPartResultReporter reporter(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
        needs_a_driver(there);
    }
    EXPECT_LE(results.size(), 1);
    return results.size() ? results.GetTestPartResult(0).type() : ::testing::TestPartResult::kSuccess;
}

TEST_F(WithRequire, FailsOnlyWhatIsMissingAndNamed) {
    using Result = ::testing::TestPartResult;
    for (const char* require : {"driver", "corpus,driver", "driver,swiftshader", ",,driver,"})
        EXPECT_EQ(ended(require, false), Result::kFatalFailure) << require;
    for (const char* require : {"", "corpus", "drivers", "swiftshader,corpus", "drive,r", "my driver"})
        EXPECT_EQ(ended(require, false), Result::kSkip) << require;
    for (const char* require : {"driver", ""}) EXPECT_EQ(ended(require, true), Result::kSuccess) << require;
}

TEST(Require, NamesOnlyWhatTestsAskFor) {
    const char* list = std::getenv("TOSAVK_REQUIRE");
    for (const std::string& name : test::split_names(list ? list : "")) {
        EXPECT_NE(std::find(test::requirements.begin(), test::requirements.end(), name), test::requirements.end())
            << "TOSAVK_REQUIRE names '" << name << "', which no test needs";
    }
}

TEST(Require, Driver) { TOSAVK_NEEDS_DRIVER(); }

TEST(Require, Corpus) { TOSAVK_NEEDS_CORPUS(test::corpus()); }

TEST(Require, Programs) {
    TOSAVK_NEEDS_PROGRAM("tosa-vk");
    TOSAVK_NEEDS_PROGRAM("tosa-vk-bench");
}

/// The driver is told by a variable that ctest sets: a wrong path must not go unseen.
TEST(Require, SwiftShader) {
    const char* icd = std::getenv("TOSAVK_SWIFTSHADER_ICD");
    if (!icd || !std::filesystem::exists(icd))
        TOSAVK_MISSING("swiftshader", "SwiftShader is not there (scripts/swiftshader)");
}

}  // namespace
}  // namespace tosavk
