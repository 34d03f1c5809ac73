// Every program of the corpus is read, has the inputs and outputs that its index says, and is printed so that it is
// read again. Where $TOSAVK_STABLEHLO_TEXTS names what make_programs.py --texts wrote, JAX's text of each gives the
// same.
#include "frontends/stablehlo/bytecode.hpp"
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "support/corpus.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace tosavk {
namespace {

namespace fs = std::filesystem;

/// "f32[2,3]", as the index writes types.
std::string index_name(const stablehlo::Type& type) {
    std::string name(stablehlo::name_of(type.element));
    if (name.starts_with("ui")) name = "u" + name.substr(2);
    std::string dims;
    for (const std::int64_t dim : type.dims) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    return name + "[" + dims + "]";
}

class StablehloCorpus : public ::testing::Test {
protected:
    void SetUp() override {
        root_ = test::corpus();
        TOSAVK_NEEDS_CORPUS(root_);
        root_ /= "stablehlo";
        if (!fs::exists(root_ / "programs.tar.xz")) TOSAVK_MISSING("corpus", "the corpus has no StableHLO programs");
        std::string name = (fs::temp_directory_path() / "tosavk_stablehlo_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        const std::string command = fmt::format("tar -xJf '{}' -C '{}' --wildcards '*/main.mlirbc'",
                                                (root_ / "programs.tar.xz").string(), name);
        if (std::system(command.c_str()) != 0) TOSAVK_MISSING("corpus", "tar cannot unpack the StableHLO programs");
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }

    fs::path root_, folder_;
};

TEST_F(StablehloCorpus, EveryProgramIsRead) {
    const Bytes text = read_file(root_ / "index.json");
    const auto index = nlohmann::json::parse(reinterpret_cast<const char*>(text.data()),
                                             reinterpret_cast<const char*>(text.data()) + text.size());
    const char* texts = std::getenv("TOSAVK_STABLEHLO_TEXTS");
    std::size_t programs = 0, ends = 0, compared = 0;
    for (const auto& entry : index) {
        const std::string name = entry.at("name");
        SCOPED_TRACE(name);
        stablehlo::Program program;
        try {
            program = test::load_stablehlo(folder_ / name / "main.mlirbc");
        } catch (const Error& error) {
            ADD_FAILURE() << error.what();
            continue;
        }
        ++programs;
        const auto main = std::find_if(program.functions.begin(), program.functions.end(),
                                       [](const auto& function) { return function.name == "main"; });
        ASSERT_NE(main, program.functions.end());
        for (const auto& [key, types] :
             {std::pair("inputs", &main->argument_types), std::pair("outputs", &main->result_types)}) {
            if (!entry.contains(key)) continue;
            std::vector<std::string> names;
            for (const auto& type : *types) names.push_back(index_name(*type));
            EXPECT_EQ(names, entry.at(key).get<std::vector<std::string>>());
            ++ends;
        }
        const std::string printed = stablehlo::print(program);
        test::expect_same_program(printed, stablehlo::print(test::stablehlo_of(printed)));
        if (!texts) continue;
        test::expect_same_program(printed, stablehlo::print(test::load_stablehlo(fs::path(texts) / (name + ".mlir"))));
        test::expect_same_program(
            test::print_with_locations(program),
            test::print_with_locations(test::load_stablehlo(fs::path(texts) / (name + ".generic.mlir"))));
        ++compared;
    }
    std::printf("%zu programs, %zu lists of types, %zu compared with their text\n", programs, ends, compared);
    EXPECT_EQ(programs, index.size());
    EXPECT_GT(ends, 1000u);
    EXPECT_EQ(compared, texts ? programs : 0);
}

}  // namespace
}  // namespace tosavk
