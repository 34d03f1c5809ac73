// The programs from outside: results, files, exit codes, and one sentence for every error.
#include "support/cli.hpp"
#include "frontends/tosa/tosa.hpp"
#include "graph/array.hpp"
#include "ops/builder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace tosavk {
namespace {

using nlohmann::json;
using test::Cli;
using test::Spawned;
namespace fs = std::filesystem;

// ---- without a device --------------------------------------------------------------------------------------------

TEST_F(Cli, ConvertsToTosa) {
    for (const std::string& model : {float_model_, int8_model_}) {
        const std::string tosa = path("converted.tosa");
        const Spawned convert = spawn({"convert", model, tosa});
        EXPECT_EQ(convert.exit_code, 0) << convert.err;
        EXPECT_EQ(convert.out + convert.err, "");
        const Spawned dump = spawn({"dump", tosa});
        EXPECT_EQ(dump.exit_code, 0) << dump.err;
        EXPECT_EQ(dump.out.rfind("graph 'main': TOSA 1.0, ", 0), 0u) << dump.out;
        // Random inputs depend on the seed alone, so that both files must give the same bytes.
        for (const std::string& file : {model, tosa}) {
            const std::string to = path(file == tosa ? "from-tosa" : "from-tflite");
            EXPECT_EQ(spawn({"run", file, "--reference", "--output-dir", to}).exit_code, 0) << file;
        }
        const auto names = names_in(path("from-tflite"));
        EXPECT_FALSE(names.empty());
        EXPECT_EQ(names, names_in(path("from-tosa")));
        for (const std::string& name : names) {
            const auto content = [&](const char* folder) {
                std::ifstream stream(path(folder) + "/" + name, std::ios::binary);
                return std::string(std::istreambuf_iterator<char>(stream), {});
            };
            EXPECT_EQ(content("from-tflite"), content("from-tosa")) << name;
        }
        expect_error(spawn({"dump", tosa, "--spec", "0.30"}), 2, "not of 0.30");
        for (const char* folder : {"from-tflite", "from-tosa"}) fs::remove_all(path(folder));
    }
    expect_error(spawn({"convert", float_model_, path("converted.onnx")}), 2, "only .tosa files");
    expect_error(spawn({"convert", float_model_, path("no-folder") + "/x.tosa"}), 3, "no-folder/x.tosa");
    expect_error(spawn({"convert", path("missing.tflite"), path("x.tosa")}), 3, "missing.tflite");
    expect_error(spawn({"convert", float_model_}), 2, "OUT");
}

TEST_F(Cli, HelpAndVersion) {
    for (const char* program : {"tosa-vk", "tosa-vk-bench"}) {
        const Spawned version = spawn({"--version"}, {}, program);
        EXPECT_EQ(version.exit_code, 0);
        EXPECT_EQ(version.out, program + (" " + std::string(tosavk_version())) + "\n");
        const Spawned help = spawn({"--help"}, {}, program);
        EXPECT_EQ(help.exit_code, 0);
        EXPECT_NE(help.out.find("Example: "), std::string::npos);
    }
    for (const char* command : {"run", "verify", "info", "ops", "probe", "dump", "convert"}) {
        const Spawned help = spawn({command, "--help"});
        EXPECT_EQ(help.exit_code, 0) << command;
        EXPECT_NE(help.out.find(std::string("Example: tosa-vk ") + command), std::string::npos) << help.out;
        EXPECT_EQ(help.err, "");
    }
}

TEST_F(Cli, ProblemLines) {
    const std::string line = "conv2d i8 1x5x6x3 4x3x3 p1 rescale clamp";
    const Spawned dump = spawn({"dump", "--op", line});
    EXPECT_EQ(dump.exit_code, 0) << dump.err;
    EXPECT_NE(dump.out.find("CONV2D"), std::string::npos) << dump.out;
    // As a path that names no file it means the same.
    EXPECT_EQ(spawn({"dump", line}).out, dump.out);
    EXPECT_EQ(spawn({"run", line, "--reference"}).exit_code, 0);
    EXPECT_EQ(spawn({"convert", line, path("problem.tosa")}).exit_code, 0);
    EXPECT_EQ(spawn({"convert", "--op", line, "-o", path("problem2.tosa")}).exit_code, 0);
    EXPECT_EQ(test::read_text(path("problem2.tosa")), test::read_text(path("problem.tosa")));
    expect_error(spawn({"convert", "--op", line, "-o", path("problem.txt")}), 2, "only .tosa files");
    EXPECT_EQ(spawn({"dump", path("problem.tosa")}).exit_code, 0);
    expect_error(spawn({"dump", "--op", "fly f32 4"}), 2, "no operator 'fly'");
    expect_error(spawn({"run", float_model_, "--op", line}), 2, "--op");
    expect_error(spawn({"--op", "add f32 4 jump"}, {}, "tosa-vk-bench"), 2, "'jump'");
    const Spawned help = spawn({"--help-problems"}, {}, "tosa-vk-bench");
    EXPECT_EQ(help.exit_code, 0) << help.err;
    for (const char* text : {"conv2d i8 1x56x56x64", "sigmoid f32", "chain f32"})
        EXPECT_NE(help.out.find(text), std::string::npos) << text;
}

TEST_F(Cli, WrongUsage) {
    expect_error(spawn({}), 2, "no command");
    expect_error(spawn({"fly"}), 2, "fly");
    expect_error(spawn({"run"}), 2, "MODEL");
    expect_error(spawn({"run", float_model_, "--no-such-option"}), 2, "--no-such-option");
    expect_error(spawn({"run", float_model_, "--rounding", "triple"}), 2, "--rounding");
    expect_error(spawn({"run", float_model_, "--hybrid", "often"}), 2, "--hybrid");
    expect_error(spawn({"run", float_model_, "--level", "9K"}), 2, "--level");
    expect_error(spawn({"run", float_model_, "--seed", "many"}), 2, "--seed");
    expect_error(spawn({"run", float_model_, "--reference", "--profile", path("p.json")}), 2, "--profile");
    expect_error(spawn({"run", float_model_, "--reference", "--input", "nonsense"}), 2, "NAME_OR_INDEX");
    expect_error(spawn({"run", float_model_, "--seed", "many"}), 2, "see tosa-vk run --help");
    expect_error(spawn({"verify", float_model_, "--seeds", "0"}), 2, "--seeds");
    expect_error(spawn({"verify", float_model_, "--seeds", "3", "--cases", path("")}), 2, "");
    expect_error(spawn({"dump", float_model_, "--plan", "--dot"}), 2, "");
    expect_error(spawn({}, {}, "tosa-vk-bench"), 2, "MODEL");
    const std::string x = array("x.npy", DType::fp32, {1, 4}, {1, 2, 3, 4});
    expect_error(spawn({"run", float_model_, "--reference", "--input", "y=" + x}), 2, test::small_input_name);
    expect_error(spawn({"run", float_model_, "--reference", "--input", "1=" + x}), 2, "no such input");
    expect_error(spawn({"run", float_model_, "--reference", "--input", "0=" + x, "--input", "0=" + x}), 2, "twice");
}

TEST_F(Cli, BadModels) {
    const Bytes model = test::small_float_model();
    std::string noise;
    std::mt19937 random(7);
    for (int k = 0; k < 5000; ++k) noise += static_cast<char>(random() & 0xff);
    const std::pair<std::string, std::string> files[] = {
        {write("truncated.tflite",
               Bytes(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(model.size() * 2 / 3))),
         "truncated.tflite"},
        {write("noise.tflite", noise), "noise.tflite"},
        {write("text.tflite", std::string("This is a letter, not a network.\n")), "text"},
        {write("empty.tflite", std::string()), "empty"},
        {write("unknown.tflite", test::small_float_model(static_cast<tflite::BuiltinOperator>(9999))),
         "unknown.tflite"},
        {path("missing.tflite"), "missing.tflite"},
        {folder_.string(), "directory"},
    };
    for (const auto& [file, part] : files) {
        for (const char* command : {"run", "verify", "dump"}) expect_error(spawn({command, file}), 3, part);
        expect_error(spawn({file}, {}, "tosa-vk-bench"), 3, part);
    }
}

TEST_F(Cli, BadInputs) {
    const auto run = [&](const std::string& file) {
        return spawn({"run", float_model_, "--reference", "--input", "0=" + file});
    };
    expect_error(run(array("type.npy", DType::i8, {1, 4}, {1, 2, 3, 4})), 3, "int8 1x4");
    expect_error(run(array("shape.npy", DType::fp32, {1, 5}, {1, 2, 3, 4, 5})), 3, "float32 1x5");
    expect_error(run(array("rank.npy", DType::fp32, {4}, {1, 2, 3, 4})), 3, "float32 4");
    expect_error(run(write("text.npy", std::string("hello"))), 3, "text.npy");
    expect_error(run(path("missing.npy")), 3, "missing.npy");
    const std::string good = array("good.npy", DType::fp32, {1, 4}, {1, 2, 3, 4});
    const std::string whole = test::read_text(good);
    expect_error(run(write("short.npy", whole.substr(0, whole.size() - 3))), 3, "short.npy");
    expect_error(spawn({"run", path("missing.tflite"), "--input", "0=" + path("missing.npy")}), 3, "missing.tflite");
    expect_error(spawn({"run", "a missing model.tflite"}), 3, "there is no such file");
}

TEST_F(Cli, UnwritableOutputs) {
    const std::string file = write("a-file", std::string("x"));
    expect_error(spawn({"run", float_model_, "--reference", "--output-dir", file}), 3, "a-file");
    expect_error(spawn({"run", float_model_, "--reference", "--output-dir", file + "/below"}), 3, "a-file/below");
    expect_error(spawn({"run", float_model_, "--reference", "--output-dir", "/proc/tosavk"}), 3, "/proc/tosavk");
    EXPECT_EQ(test::read_text(file), "x");
    // Nothing is left of a run that fails, and an empty name is none.
    expect_error(spawn({"run", float_model_, "--reference", "--input", "0=" + path("missing.npy"), "--output-dir",
                        path("new/folders")}),
                 3, "missing.npy");
    expect_error(spawn({"run", float_model_, "--device", "no such device", "--output-dir", path("new/folders/here")}),
                 4, "no such device");
    EXPECT_FALSE(fs::exists(folder_ / "new"));
    for (const char* option : {"--output-dir", "--profile"})
        expect_error(spawn({"run", float_model_, "--reference", option, ""}), 2, option);
    expect_error(spawn({"compile", float_model_, "-o", ""}), 2, "--output");
    // One output that cannot be put in its place keeps back the others.
    const fs::path directory = folder_ / "blocked";
    fs::create_directories(directory / "outputs.json" / "full");
    expect_error(spawn({"run", float_model_, "--reference", "--output-dir", directory.string()}), 3, "blocked");
    EXPECT_EQ(names_in(directory), (std::vector<std::string>{"outputs.json"}));
    // A directory made for a run that fails is not left behind.
    expect_error(spawn({"run", float_model_, "--device", "no such device", "--output-dir", path("fresh")}), 4, "");
    EXPECT_FALSE(fs::exists(path("fresh")));
}

TEST_F(Cli, NoDriverAndNoDevice) {
    const std::vector<std::pair<std::string, std::string>> nothing = {{"VK_DRIVER_FILES", "/nonexistent"},
                                                                      {"VK_ICD_FILENAMES", "/nonexistent"}};
    expect_error(spawn({"run", float_model_}, nothing), 4, "Vulkan");
    expect_error(spawn({"verify", float_model_}, nothing), 4, "Vulkan");
    expect_error(spawn({"info"}, nothing), 4, "Vulkan");
    expect_error(spawn({"dump", float_model_, "--plan"}, nothing), 4, "Vulkan");
    expect_error(spawn({float_model_}, nothing, "tosa-vk-bench"), 4, "Vulkan");
    // What needs no device works without one.
    EXPECT_EQ(spawn({"run", float_model_, "--reference"}, nothing).exit_code, 0);
    EXPECT_EQ(spawn({"dump", float_model_}, nothing).exit_code, 0);
    EXPECT_EQ(spawn({"ops"}, nothing).exit_code, 0);
    TOSAVK_NEEDS_DRIVER();
    for (const char* name : {"no such device", "99"}) {
        expect_error(spawn({"run", float_model_, "--device", name}), 4, name);
        expect_error(spawn({"verify", float_model_, "--device", name}), 4, name);
        expect_error(spawn({float_model_, "--device", name}, {}, "tosa-vk-bench"), 4, name);
    }
}

TEST_F(Cli, StandardOutputThatIsFull) {
    if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
    const std::string command =
        "'" + (test::programs() / "tosa-vk").string() + "' ops > /dev/full 2> '" + path("stderr") + "'";
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 3);
    EXPECT_NE(test::read_text(path("stderr")).find("standard output"), std::string::npos);
}

TEST_F(Cli, ReferenceRunWritesItsOutputs) {
    const std::string x = array("x.npy", DType::fp32, {2, 4}, {0.5, 0.5, -10, 100, -1, 2, -3, 4.5});
    // The name holds '/' and '='; the dynamic dimension follows the array.
    const Spawned run =
        spawn({"run", float_model_, "--reference", "--input", std::string(test::small_input_name) + "=" + x,
               "--output-dir", path("made/here"), "--top", "2", "--json"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    const HostTensor y = load_npy(path("made/here/output_0.npy"));
    EXPECT_EQ(y.shape, (Shape{2, 4}));
    EXPECT_EQ(decode_reals(y.type, y.bytes), (std::vector<double>{1.5, 0, 0, 96, 0, 0, 0, 0.5}));
    EXPECT_EQ(names_in(path("made/here")), (std::vector<std::string>{"output_0.npy", "outputs.json"}));
    const json index = json::parse(test::read_text(path("made/here/outputs.json")));
    EXPECT_EQ(index, (json::parse(R"([{"index":0,"name":"result","type":"fp32","shape":[2,4]}])")));
    const json result = json::parse(run.out);
    const json& output = result.at("outputs").at(0);
    EXPECT_EQ(output.at("max"), 96);
    EXPECT_EQ(output.at("min"), 0);
    EXPECT_EQ(output.at("mean"), 98.0 / 8);
    ASSERT_EQ(output.at("top").size(), 2u);
    EXPECT_EQ(output.at("top")[0].at("index"), 3);
    EXPECT_EQ(output.at("top")[1].at("index"), 0);
    EXPECT_FALSE(result.at("inputs")[0].at("random"));
}

TEST_F(Cli, InputFilesMayHoldAnEqualsSign) {
    const std::string x = array("a=b.npy", DType::fp32, {1, 4}, {1, 2, 3, 4});
    EXPECT_EQ(spawn({"run", float_model_, "--reference", "--input", "0=" + x}).exit_code, 0);
    EXPECT_EQ(
        spawn({"run", float_model_, "--reference", "--input", std::string(test::small_input_name) + "=" + x}).exit_code,
        0);
}

TEST_F(Cli, RandomInputsComeFromTheSeedAndItSaysSo) {
    const auto run = [&](const char* seed) {
        return spawn({"run", int8_model_, "--reference", "--seed", seed, "--output-dir", path("out")});
    };
    const Spawned first = run("5");
    ASSERT_EQ(first.exit_code, 0) << first.err;
    EXPECT_NE(first.out.find("random numbers from seed 5"), std::string::npos) << first.out;
    const std::string bytes = test::read_text(path("out/output_0.npy"));
    run("6");
    EXPECT_NE(test::read_text(path("out/output_0.npy")), bytes);
    run("5");
    EXPECT_EQ(test::read_text(path("out/output_0.npy")), bytes);
}

TEST_F(Cli, Probe) {
    Spawned run = spawn({"probe", int8_model_});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_NE(run.out.find("operators are taken\n"), std::string::npos) << run.out;
    run = spawn({"probe", int8_model_, "--json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(json::parse(run.out).at("taken"), true);

    test::TfliteBuilder t;
    const test::TensorSpec spec{{4}, tflite::TensorType::FLOAT32};
    const int x = t.tensor(spec), y = t.tensor(spec), z = t.tensor(spec);
    t.op(tflite::BuiltinOperator::RELU, {x}, {y});
    t.op(tflite::BuiltinOperator::LSH_PROJECTION, {y}, {z});
    const std::string refused = write("refused.tflite", t.finish({x}, {z}));
    run = spawn({"probe", refused});
    EXPECT_EQ(run.exit_code, 1) << run.err;
    EXPECT_NE(run.out.find("TFLite operator LSH_PROJECTION (node 1) is not supported"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("1 of 2 operators are taken\n"), std::string::npos) << run.out;
    // What only a custom operator makes runnable.
    GraphBuilder b("custom");
    const OutputType made[] = {{DType::fp32, {2}}};
    b.output(b.custom("a.domain", "TWIST", {}, {b.input("x", DType::fp32, {2})}, made, "t").front());
    const Bytes custom = write_tosa(b.finish());
    run = spawn(
        {"probe", write("custom.tosa", std::string(reinterpret_cast<const char*>(custom.data()), custom.size()))});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_NE(run.out.find("CUSTOM 'a.domain.TWIST'"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("a custom operator of this name"), std::string::npos) << run.out;
    run = spawn({"probe", refused, "--json"});
    EXPECT_EQ(run.exit_code, 1) << run.err;
    const json report = json::parse(run.out);
    EXPECT_EQ(report.at("taken"), false);
    EXPECT_EQ(report.at("operators").at(0).at("taken"), true);
    EXPECT_EQ(report.at("operators").at(1).at("name"), "LSH_PROJECTION");

    expect_error(spawn({"probe", write("text.tflite", std::string("a text"))}), 3, "this is text, not a model");
    expect_error(spawn({"probe", path("none.tflite")}), 3, "none.tflite");
    expect_error(spawn({"probe"}), 2, "MODEL");
}

TEST_F(Cli, DumpAndOps) {
    const Spawned listing = spawn({"dump", float_model_});
    EXPECT_NE(listing.out.find("ADD"), std::string::npos);
    EXPECT_NE(spawn({"dump", float_model_, "--dot"}).out.find("digraph"), std::string::npos);
    const json ops = json::parse(spawn({"ops", "--json"}).out);
    ASSERT_FALSE(ops.empty());
    for (const json& row : ops) {
        for (const char* key : {"op", "types", "requires", "spec", "reference", "gpu", "fusable"})
            EXPECT_TRUE(row.contains(key)) << row.dump();
    }
    EXPECT_NE(spawn({"ops"}).out.find("CONV2D"), std::string::npos);
    const json of_0_30 = json::parse(spawn({"ops", "--json", "--spec", "0.30"}).out);
    EXPECT_LT(of_0_30.size(), ops.size());
    for (const json& row : of_0_30) EXPECT_EQ(row.at("spec").at(0), "0.30") << row.dump();
    EXPECT_NE(spawn({"ops", "--spec", "0.30"}).out.find("FULLY_CONNECTED"), std::string::npos);
    EXPECT_EQ(spawn({"ops", "--spec", "1.0"}).out.find("FULLY_CONNECTED"), std::string::npos);
    expect_error(spawn({"ops", "--spec", "0.40"}), 2, "0.40");
}

// ---- with a device -----------------------------------------------------------------------------------------------

TEST_F(Cli, RunOnADevice) {
    TOSAVK_NEEDS_DRIVER();
    for (const std::string& model : {float_model_, int8_model_}) {
        const Spawned device =
            spawn({"run", model, "--seed", "3", "--output-dir", path("device"), "--profile", path("profile.json")});
        ASSERT_EQ(device.exit_code, 0) << device.err;
        EXPECT_EQ(device.err, "");
        ASSERT_EQ(spawn({"run", model, "--seed", "3", "--reference", "--output-dir", path("reference")}).exit_code, 0);
        EXPECT_EQ(test::read_text(path("device/output_0.npy")), test::read_text(path("reference/output_0.npy")));
        const json profile = json::parse(test::read_text(path("profile.json")));
        EXPECT_EQ(profile.at("submits"), 1);
        EXPECT_EQ(profile.at("dispatches"), profile.at("per_dispatch").size());
        EXPECT_EQ(profile.at("runs"), 2);
        EXPECT_GT(profile.at("allocations"), 0);
        EXPECT_GE(profile.at("first_run_ms"), 0);
        const json& after = profile.at("after_first_run");
        EXPECT_EQ(after.at("allocations"), 0);
        EXPECT_EQ(after.at("pipelines_created"), 0);
        EXPECT_EQ(after.at("weight_bytes_copied"), 0);
        EXPECT_EQ(after.at("submits"), 1);
        for (const json& dispatch : profile.at("per_dispatch")) {
            EXPECT_TRUE(dispatch.contains("label") && dispatch.contains("kernel") && dispatch.contains("gpu_ms"));
        }
    }
    // Found before anything runs.
    expect_error(spawn({"run", float_model_, "--profile", path("no/such/folder/p.json"), "--output-dir", path("none")}),
                 3, "p.json");
    EXPECT_FALSE(fs::exists(path("none")));
}

TEST_F(Cli, InfoAndDumpOfADevice) {
    TOSAVK_NEEDS_DRIVER();
    const json info = json::parse(spawn({"info", "--json"}).out);
    ASSERT_FALSE(info.empty());
    EXPECT_TRUE(info[0].contains("caps"));
    EXPECT_NE(spawn({"info"}).out.find("device 0: "), std::string::npos);
    EXPECT_NE(spawn({"dump", float_model_, "--plan"}).out.find("ADD"), std::string::npos);
    EXPECT_NE(spawn({"dump", float_model_, "--glsl"}).out.find("#version"), std::string::npos);
}

TEST_F(Cli, VerifyRandom) {
    TOSAVK_NEEDS_DRIVER();
    const Spawned text = spawn({"verify", int8_model_, "--seeds", "3", "--seed", "10"});
    EXPECT_EQ(text.exit_code, 0) << text.out << text.err;
    EXPECT_EQ(text.err, "");
    EXPECT_NE(text.out.find("seeds 10 to 12"), std::string::npos) << text.out;
    const json result = json::parse(spawn({"verify", float_model_, "--seeds", "2", "--json"}).out);
    EXPECT_TRUE(result.at("passed"));
    EXPECT_EQ(result.at("seeds_run"), 2);
    EXPECT_LE(result.at("worst"), 1);
}

TEST_F(Cli, VerifyCases) {
    TOSAVK_NEEDS_DRIVER();
    array("in.npy", DType::fp32, {2, 4}, {0.5, 0.5, -10, 100, -1, 2, -3, 4.5});
    array("right.npy", DType::fp32, {2, 4}, {1.5, 0, 0, 96, 0, 0, 0, 0.5});
    array("near.npy", DType::fp32, {2, 4}, {1.5, 0, 0.01, 96, 0, 0, 0, 0.5});
    array("shape.npy", DType::fp32, {8}, {1.5, 0, 0, 96, 0, 0, 0, 0.5});
    const auto verify = [&](const std::string& expected, const std::string& rtol,
                            const std::string& key = "reference") {
        write("cases.json", R"({"atol":0,"rtol":)" + rtol + R"(,"cases":[{"case":4,"inputs":["in.npy"],"expected":{")" +
                                key + R"(":[")" + expected + R"("]}}]})");
        return spawn({"verify", float_model_, "--cases", folder_.string(), "--json"});
    };
    const Spawned right = verify("right.npy", "0");
    EXPECT_EQ(right.exit_code, 0) << right.out << right.err;
    EXPECT_EQ(verify("near.npy", "0.001").exit_code, 0);
    EXPECT_EQ(verify("right.npy", "0", "tflite").exit_code, 0);
    expect_error(verify("right.npy", "0", "double_round"), 3, "case 4");
    expect_error(verify("right.npy", "0", "single_round"), 3, "case 4");
    const Spawned wrong = verify("near.npy", "0.00001");
    EXPECT_EQ(wrong.exit_code, 1);
    const json result = json::parse(wrong.out).at("results").at(0);
    for (const char* who : {"device", "reference"}) {
        EXPECT_FALSE(result.at(who).at("passed"));
        EXPECT_EQ(result.at(who).at("element"), 2);
        EXPECT_EQ(result.at(who).at("mismatches"), 1);
    }
    const Spawned text = spawn({"verify", float_model_, "--cases", folder_.string()});
    EXPECT_EQ(text.exit_code, 1);
    EXPECT_NE(text.out.find("case 4, output 0 'result', device: 1 elements differ, worst element 2"), std::string::npos)
        << text.out;
    expect_error(verify("shape.npy", "0"), 3, "shape.npy");
    expect_error(verify("missing.npy", "0"), 3, "missing.npy");
    write("cases.json", std::string("{"));
    expect_error(spawn({"verify", float_model_, "--cases", folder_.string()}), 3, "cases.json");
    expect_error(spawn({"verify", float_model_, "--cases", path("nowhere")}), 3, "nowhere");
}

TEST_F(Cli, Bench) {
    TOSAVK_NEEDS_DRIVER();
    const Spawned bench =
        spawn({float_model_, int8_model_, "--min-time", "0", "--json", path("bench.json")}, {}, "tosa-vk-bench");
    ASSERT_EQ(bench.exit_code, 0) << bench.err;
    EXPECT_NE(bench.out.find("equal to the reference"), std::string::npos) << bench.out;
    const json result = json::parse(test::read_text(path("bench.json")));
    EXPECT_TRUE(result.at("limits").is_object());
    ASSERT_EQ(result.at("problems").size(), 2u);
    for (const json& problem : result.at("problems")) {
        EXPECT_EQ(problem.at("dispatches"), problem.at("per_dispatch").size());
        EXPECT_TRUE(problem.at("checked"));
        for (const char* key : {"name", "gpu_ms", "wall_ms", "first_run_ms", "gflops", "gbytes_per_s",
                                "percent_of_limit", "limit", "peak_bytes"}) {
            EXPECT_TRUE(problem.contains(key)) << key;
        }
        const json& wall = problem.at("wall_ms");
        EXPECT_LE(wall.at("min"), wall.at("median"));
        EXPECT_LE(wall.at("median"), wall.at("max"));
    }
    const Spawned unchecked =
        spawn({float_model_, "--min-time", "0", "--no-check", "--json", "-"}, {}, "tosa-vk-bench");
    EXPECT_TRUE(json::parse(unchecked.out).at("problems")[0].at("checked").is_null());
}

}  // namespace
}  // namespace tosavk
