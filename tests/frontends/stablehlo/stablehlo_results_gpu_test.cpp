// Programs of the corpus with recorded results give these on the device, too: of every 24 one, others with each seed,
// in the variants of the driver one of 192, or all where TOSAVK_STABLEHLO_WHOLE is set.
#include "frontends/stablehlo/recorded_programs.hpp"
#include "support/gpu_test.hpp"
#include "support/run.hpp"

namespace tosavk {
namespace {

using StablehloOnDevice = test::GpuTest;

TEST_F(StablehloOnDevice, ProgramsGiveWhatWasRecorded) {
    test::RecordedPrograms programs;
    programs.unpack();
    if (!programs.is_unpacked()) GTEST_SKIP() << "the corpus has no StableHLO programs";
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    const std::size_t of = std::getenv("TOSAVK_STABLEHLO_WHOLE") ? 1 : std::getenv("TOSAVK_TEST_PART") ? 192 : 24;
    const auto counts = programs.check(
        [](const Graph& graph, const std::vector<HostTensor>& inputs) {
            const auto shared = std::make_shared<const Graph>(graph);
            Context context(Executable::create(device_, shared, make_plan(*shared, device_->plan(), {})), false);
            return test::run(context, *shared, inputs);
        },
        seed % of, of);
    if (std::getenv("TOSAVK_STABLEHLO_ONLY")) return;
    EXPECT_GE(counts.passed + counts.as_f32, 1200 / of);
}

}  // namespace
}  // namespace tosavk
