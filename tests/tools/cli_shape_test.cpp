// --shape at every command that loads a model.
#include "support/cli.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tosavk {
namespace {

using test::Cli;
using test::Spawned;

TEST_F(Cli, ShapesOfOpenDimensions) {
    const Spawned dump = spawn({"dump", float_model_, "--shape", "0=5x4"});
    EXPECT_EQ(dump.exit_code, 0) << dump.err;
    EXPECT_NE(dump.out.find("output %3 'result' fp32[5x4]"), std::string::npos) << dump.out;
    // The last = ends the name, which has one itself.
    const std::string by_name = std::string(test::small_input_name) + "=3x4";
    const std::string tosa = path("three.tosa"), to = path("outputs");
    EXPECT_EQ(spawn({"convert", float_model_, tosa, "--shape", by_name}).exit_code, 0);
    EXPECT_NE(spawn({"dump", tosa}).out.find("[3x4]"), std::string::npos);
    const Spawned run = spawn({"run", float_model_, "--reference", "--json", "--shape", by_name});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(nlohmann::json::parse(run.out)["outputs"][0]["shape"], nlohmann::json({3, 4}));
    const Spawned probe = spawn({"probe", float_model_, "--shape", by_name});
    EXPECT_EQ(probe.exit_code, 0) << probe.out << probe.err;
    // A shape that is in the file anyway may be told too.
    EXPECT_EQ(spawn({"dump", int8_model_, "--shape", "a=1x3x5", "--shape", "1=1x3x5"}).exit_code, 0);
}

TEST_F(Cli, ShapesThatCannotBe) {
    const auto dump = [&](const std::string& shape) { return spawn({"dump", float_model_, "--shape", shape}); };
    expect_error(dump("0=5x5"), 3, "dimension 1 is 4 in the model");
    expect_error(dump("0=5"), 3, "rank");
    expect_error(dump("0=0x4"), 2, "no shape such as");
    expect_error(dump("0=5x"), 2, "no shape such as");
    expect_error(dump("0=x5"), 2, "no shape such as");
    expect_error(dump("0=99999999999999999999x4"), 2, "no shape such as");
    expect_error(dump("1=5x4"), 2, "no input '1'");
    expect_error(dump("5x4"), 2, "NAME_OR_INDEX=SHAPE");
    expect_error(spawn({"dump", float_model_, "--shape", "0=5x4", "--shape", "0=5x4"}), 2, "twice");
    expect_error(spawn({"dump", "--op", "add f32 8", "--shape", "0=8"}), 2, "--shape is for files");
    expect_error(spawn({"dump", "add f32 8", "--shape", "0=8"}), 2, "--shape is for files");
    const Spawned probe = spawn({"probe", float_model_, "--shape", "0=5x5"});
    EXPECT_EQ(probe.exit_code, 1) << probe.err;
    EXPECT_NE(probe.out.find("dimension 1 is 4 in the model"), std::string::npos) << probe.out;
}

}  // namespace
}  // namespace tosavk
