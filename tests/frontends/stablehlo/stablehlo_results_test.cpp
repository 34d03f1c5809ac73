// Every program of the corpus with recorded results gives these on the reference interpreter.
#include "frontends/stablehlo/recorded_programs.hpp"
#include "reference/reference.hpp"

namespace tosavk {
namespace {

TEST(StablehloResults, EveryProgramGivesWhatWasRecorded) {
    test::RecordedPrograms programs;
    programs.unpack();
    if (!programs.is_unpacked()) GTEST_SKIP() << "the corpus has no StableHLO programs";
    const auto counts = programs.check(
        [](const Graph& graph, const std::vector<HostTensor>& inputs) { return reference_run(graph, inputs); });
    if (std::getenv("TOSAVK_STABLEHLO_ONLY")) return;
    // All but those of types that are refused; of floats of 64 bits there are 205 programs.
    EXPECT_GE(counts.passed, 1200u);
    EXPECT_GE(counts.as_f32, 205u);
    for (const auto& [reason, names] : counts.refused) {
        const bool of_type = reason.find("is only moved and converted") != std::string::npos;
        EXPECT_TRUE(of_type) << reason << ": " << names.front();
    }
    EXPECT_EQ(counts.loaded, 193u);
}

}  // namespace
}  // namespace tosavk
