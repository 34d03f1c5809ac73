// tosa-vk run: arrays of every type of numpy, state, and results on standard output.
#include "frontends/tosa/tosa.hpp"
#include "support/cli.hpp"
#include "support/control_graphs.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tuple>

namespace tosavk {
namespace {

using nlohmann::json;
using CliRun = test::Cli;
using test::Spawned;
namespace fs = std::filesystem;

/// An input in another of numpy's types is taken where the model's holds its values.
TEST_F(CliRun, InputsOfOtherTypes) {
    const auto result_of = [&](const std::string& line, const NpyArray& input) {
        write_npy(path("x.npy"), input.kind, input.item_size, input.shape, input.data);
        const Spawned run =
            spawn({"run", "--op", line, "--reference", "--input", "0=" + path("x.npy"), "--output-dir", path("types")});
        EXPECT_EQ(run.exit_code, 0) << run.err;
        const HostTensor y = load_npy(path("types/output_0.npy"));
        return decode_reals(y.type, y.bytes);
    };
    const auto array_of = [&](NpyKind kind, std::size_t size, const std::vector<int>& values) {
        NpyArray result{kind, size, {static_cast<std::int64_t>(values.size())}, Bytes(values.size() * size)};
        for (std::size_t k = 0; k < values.size(); ++k)
            result.data[k * size] = std::byte(values[k] & 0xff);  // the lowest byte; none is negative
        return result;
    };
    for (const std::size_t size : {1u, 2u, 4u, 8u}) {
        for (const NpyKind kind : {NpyKind::natural, NpyKind::integer}) {
            EXPECT_EQ(result_of("abs i32 4", array_of(kind, size, {5, 0, 127, 2})),
                      (std::vector<double>{5, 0, 127, 2}));
        }
    }
    const auto floats = [&](NpyKind kind, DType type) {
        const std::vector<double> values = {-5, 0, 127, -0.5};
        return NpyArray{kind, size_of(type), {4}, encode_reals(type, values)};
    };
    const std::vector<double> magnitudes = {5, 0, 127, 0.5};
    EXPECT_EQ(result_of("abs f32 4", floats(NpyKind::real, DType::fp16)), magnitudes);
    EXPECT_EQ(result_of("abs bf16 4", floats(NpyKind::opaque, DType::bf16)), magnitudes);
    EXPECT_EQ(result_of("abs bf16 4", floats(NpyKind::real, DType::fp32)), magnitudes);
    for (const auto& [line, type] :
         {std::pair{"cast e4m3 4 f32", DType::fp8e4m3}, {"cast e5m2 4 f32", DType::fp8e5m2}}) {
        NpyArray bits{NpyKind::opaque, 1, {4}, encode_reals(type, std::vector<double>{-4, 0, 112, -0.5})};
        EXPECT_EQ(result_of(line, bits), (std::vector<double>{-4, 0, 112, -0.5})) << line;
    }

    const auto refused = [&](const std::string& line, const NpyArray& input, const std::string& part) {
        write_npy(path("x.npy"), input.kind, input.item_size, input.shape, input.data);
        expect_error(spawn({"run", "--op", line, "--reference", "--input", "0=" + path("x.npy")}), 3, part);
    };
    refused("abs i32 4", array_of(NpyKind::opaque, 1, {1, 2, 3, 4}), "void8 4, but input 0");
    refused("abs f32 4", array_of(NpyKind::opaque, 1, {1, 2, 3, 4}), "void8 cannot stand for type fp32");
    refused("abs f16 4", array_of(NpyKind::opaque, 2, {1, 2, 3, 4}), "void16 cannot stand for type fp16");
    refused("cast i8 4 i32", array_of(NpyKind::natural, 1, {1, 2, 200, 255}),
            "x.npy: element 2 is 200, which type i8 does not hold (-128 to 127)");
    refused("abs f32 4", array_of(NpyKind::natural, 1, {1, 2, 3, 4}), "uint8 4, but input 0");
    refused("abs bf16 4",
            NpyArray{NpyKind::real, 4, {4}, encode_reals(DType::fp32, std::vector<double>{1, 2, 1.001, 0})},
            "element 2 is 1.001");
}

TEST_F(CliRun, RawOutputs) {
    for (const auto& [line, type, size] : {std::tuple{"abs bf16 1x8", DType::bf16, 2u},
                                           {"cast f32 1x8 e4m3", DType::fp8e4m3, 1u},
                                           {"cast f32 1x8 e5m2", DType::fp8e5m2, 1u},
                                           {"abs f32 1x8", DType::fp32, 4u}}) {
        const auto outputs = [&](std::vector<std::string> more) {
            more.insert(more.begin(), {"run", "--op", line, "--reference", "--output-dir", path("raw")});
            const Spawned run = spawn(more);
            EXPECT_EQ(run.exit_code, 0) << run.err;
            return read_npy(path("raw/output_0.npy"));
        };
        const NpyArray wide = outputs({}), raw = outputs({"--raw-outputs"});
        EXPECT_EQ(wide.kind, NpyKind::real) << line;
        EXPECT_EQ(wide.item_size, 4u) << line;
        EXPECT_EQ(raw.kind, type == DType::fp32 ? NpyKind::real : NpyKind::opaque) << line;
        EXPECT_EQ(raw.item_size, size) << line;
        EXPECT_EQ(to_tensor(raw, type, "raw").bytes, to_tensor(wide, type, "wide").bytes) << line;
    }
    expect_error(spawn({"run", "--op", "abs bf16 8", "--reference", "--raw-outputs"}), 2, "--output-dir");
}

/// The outputs are those of the first run, whatever a second one finds in its variables.
TEST_F(CliRun, VariablesBeginWithTheirInitialValues) {
    TOSAVK_NEEDS_DRIVER();
    const std::string x = array("x.npy", DType::fp32, {2}, {10, 100});
    const std::string model = write("state.tosa", write_tosa(testing::accumulator_graph({1, 2})));
    const auto outputs = [&](const std::string& more) {
        std::vector<std::string> arguments = {"run", model, "--input", "0=" + x, "--output-dir", path("state")};
        if (!more.empty()) arguments.insert(arguments.end(), {"--profile", path(more)});
        const Spawned run = spawn(arguments);
        EXPECT_EQ(run.exit_code, 0) << run.err;
        std::vector<std::vector<double>> values;
        for (const char* name : {"state/output_0.npy", "state/output_1.npy"}) {
            const HostTensor y = load_npy(path(name));
            values.push_back(decode_reals(y.type, y.bytes));
        }
        return values;
    };
    const std::vector<std::vector<double>> wanted = {{1, 2}, {11, 102}};
    EXPECT_EQ(outputs(""), wanted);
    EXPECT_EQ(outputs("profile.json"), wanted);
    EXPECT_EQ(json::parse(test::read_text(path("profile.json"))).at("runs"), 2);
}

/// "-" is standard output, which then holds that result alone.
TEST_F(CliRun, ResultsOnStandardOutput) {
    expect_error(spawn({"run", float_model_, "--profile", "-", "--json"}), 2, "standard output");
    expect_error(spawn({"run", float_model_, "--reference", "--output-dir", "-"}), 2, "standard output");
    expect_error(spawn({"compile", float_model_, "-o", "-"}), 2, "standard output");
    TOSAVK_NEEDS_DRIVER();
    const Spawned run = spawn({"run", float_model_, "--profile", "-", "--output-dir", path("out")});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json profile = json::parse(run.out);
    EXPECT_EQ(profile.at("runs"), 2);
    EXPECT_EQ(profile.at("dispatches"), profile.at("per_dispatch").size());
    EXPECT_TRUE(fs::exists(path("out/output_0.npy")));
    EXPECT_FALSE(fs::exists("-"));
}

}  // namespace
}  // namespace tosavk
