// The TFLite importer on recorded networks (through the reference interpreter) and on damaged files.
#include "base/files.hpp"
#include "frontends/frontend.hpp"
#include "reference/reference.hpp"
#include "support/corpus.hpp"
#include "support/damaged.hpp"
#include "support/environment.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <random>

namespace tosavk {
namespace {

using test::CaseFolder;

ImportOptions with_rounding(TfliteRounding rounding) {
    ImportOptions options;
    options.rounding = rounding;
    return options;
}

void check_folder(const std::filesystem::path& path) {
    SCOPED_TRACE(path.filename().string());
    const CaseFolder folder(path);
    for (const auto& [rounding, key] :
         {std::pair{TfliteRounding::tflite, "tflite"}, std::pair{TfliteRounding::double_round, "double_round"},
          std::pair{TfliteRounding::single_round, "single_round"}}) {
        const Graph graph = import_file(folder.model(), with_rounding(rounding));
        for (std::size_t i = 0; i < folder.cases.size(); ++i) {
            const auto c = folder.load(i, key);
            ASSERT_TRUE(c) << "case " << i << " has no " << key;
            const std::vector<HostTensor> outputs = reference_run(graph, c->inputs);
            ASSERT_EQ(outputs.size(), c->expected.size());
            for (std::size_t k = 0; k < outputs.size(); ++k) {
                EXPECT_EQ(test::compare(outputs[k], c->expected[k], folder.atol, folder.rtol), "")
                    << key << ", case " << i << ", output " << k;
            }
        }
        if (folder.cases.at(0).at("expected").contains("reference")) break;  // rounding means nothing to floats
    }
}

TEST(TfliteCorpus, NetworksGiveTheRecordedResults) {
    const auto root = test::corpus();
    TOSAVK_NEEDS_CORPUS(root);
    const auto folders = test::case_folders(root / "models");
    EXPECT_FALSE(folders.empty());
    for (const auto& path : folders) check_folder(path);
}

TEST(TfliteCorpus, SingleOperatorsGiveTheRecordedResults) {
    const auto root = test::corpus();
    TOSAVK_NEEDS_CORPUS(root);
    std::size_t checked = 0;
    for (const auto& path : test::case_folders(root / "tflite-ops")) {
        check_folder(path);
        ++checked;
    }
    EXPECT_GT(checked, 100u);
}

// ---- damaged files ------------------------------------------------------------------------------------------------

class Damaged : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        const auto root = test::corpus();
        TOSAVK_NEEDS_CORPUS(root);
        bytes_ = read_file(root / GetParam() / "model.tflite");
    }
    Bytes bytes_;
};

TEST_P(Damaged, TruncatedAnywhere) {
    test::DamagedFiles files("damaged.tflite");
    const std::size_t step = bytes_.size() < 4096 ? 1 : 23;
    for (std::size_t n = 0; n < bytes_.size(); n += n < 1024 ? 1 : step) {
        files.import_or_refuse(Bytes(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(n)));
    }
}

TEST_P(Damaged, RandomBytesFlipped) {
    const auto seed = static_cast<unsigned>(test::number_from_environment("TOSAVK_TEST_SEED", 20240917));
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    test::DamagedFiles files("damaged.tflite");
    for (int round = 0; round < 2000; ++round) {
        Bytes copy = bytes_;
        const int flips = 1 + static_cast<int>(random() % 4);
        for (int i = 0; i < flips; ++i) copy[random() % copy.size()] = static_cast<std::byte>(random());
        files.import_or_refuse(copy);
    }
    EXPECT_GT(files.imported(), 0);
}

TEST_P(Damaged, WordsReplacedByExtremes) {
    test::DamagedFiles files("damaged.tflite");
    for (const std::uint32_t word : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0x00010000u}) {
        const std::size_t step = bytes_.size() < 4096 ? 1 : 307;
        for (std::size_t at = 0; at + 4 <= bytes_.size(); at += step) {
            Bytes copy = bytes_;
            std::memcpy(copy.data() + at, &word, 4);
            files.import_or_refuse(copy);
        }
    }
}

TEST_P(Damaged, NotAlignedInMemory) {
    Bytes shifted(bytes_.size() + 1);
    std::copy(bytes_.begin(), bytes_.end(), shifted.begin() + 1);
    EXPECT_NO_THROW(import_model(std::span(shifted).subspan(1), "shifted", {}));
}

INSTANTIATE_TEST_SUITE_P(Corpus, Damaged,
                         ::testing::Values("models/kws_int8", "tflite-ops/seanet_add0",
                                           "tflite-ops/seanet_strided_slice0", "tflite-ops/resnet8_int8.op015_SOFTMAX",
                                           "tflite-ops/resnet8_fp32.op013_RESHAPE"),
                         [](const auto& param_info) {
                             std::string name = param_info.param;
                             for (char& c : name) {
                                 if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                             }
                             return name;
                         });

// ---- files that are something else --------------------------------------------------------------------------------

std::string message_of(const std::string& content, ErrorCode code) {
    Bytes bytes(content.size());
    std::transform(content.begin(), content.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
    try {
        import_model(bytes, "file", {});
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        return e.what();
    }
    ADD_FAILURE() << "imported";
    return {};
}

TEST(ImportModel, SaysWhatAFileIsNot) {
    EXPECT_EQ(message_of("", ErrorCode::bad_model), "file: the file is empty");
    EXPECT_EQ(message_of("hello, this is a text file\n", ErrorCode::bad_model), "file: this is text, not a model");
    EXPECT_EQ(message_of(std::string("\1\2\3", 3), ErrorCode::bad_model), "file: 3 bytes are too short for a model");
    EXPECT_EQ(message_of(std::string("\x93NUMPY\1\0\1\0\1\0", 12), ErrorCode::bad_model),
              "file: this is neither a TFLite, a TOSA nor a StableHLO model");
    EXPECT_EQ(message_of(std::string("\x20\0\0\0TOSA\0\0\0\0", 12), ErrorCode::bad_model),
              "file: TOSA file: the file is damaged or truncated (flatbuffer verification failed)");
    EXPECT_NE(message_of(std::string("\x20\0\0\0TFL3\0\0\0\0", 12), ErrorCode::bad_model).find("file: TFLite model:"),
              std::string::npos);
}

TEST(ImportModel, SaysWhyAFileCannotBeRead) {
    const auto code_of = [](const std::filesystem::path& path) {
        try {
            import_file(path, {});
        } catch (const Error& e) {
            EXPECT_NE(std::string(e.what()).find(path.string()), std::string::npos) << e.what();
            return e.code();
        }
        return ErrorCode::internal;
    };
    EXPECT_EQ(code_of("/there/is/no/such/model.tflite"), ErrorCode::io);
    EXPECT_EQ(code_of(std::filesystem::temp_directory_path()), ErrorCode::io);
}

}  // namespace
}  // namespace tosavk
