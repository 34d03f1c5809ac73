// .tosa files: recorded files of three generations, every network of the corpus through a file and back, and damaged
// files.
#include "base/files.hpp"
#include "frontends/frontend.hpp"
#include "frontends/tosa/file.hpp"
#include "ops/builder.hpp"
#include "ops/compare.hpp"
#include "ops/print.hpp"
#include "reference/reference.hpp"
#include "support/control_graphs.hpp"
#include "support/corpus.hpp"
#include "support/damaged.hpp"
#include "support/environment.hpp"
#include "support/require.hpp"
#include "support/tosa_builder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

namespace tosavk {
namespace {

namespace fs = std::filesystem;
using test::OldFile;

// ---- recorded files -----------------------------------------------------------------------------------------------

std::vector<fs::path> recorded_files(const fs::path& root) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (entry.path().extension() == ".tosa") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<HostTensor> recorded_inputs(const fs::path& folder, std::size_t count) {
    std::vector<HostTensor> inputs;
    for (std::size_t k = 0; k < count; ++k) {
        inputs.push_back(load_npy(folder / ("placeholder_" + std::to_string(k) + ".npy")));
    }
    return inputs;
}

TEST(TosaCorpus, RecordedFilesGiveTheRecordedResults) {
    const auto root = test::corpus();
    TOSAVK_NEEDS_CORPUS(root);
    const auto files = recorded_files(root / "tosa-files");
    ASSERT_EQ(files.size(), 9u);
    for (const fs::path& path : files) {
        SCOPED_TRACE(path.string());
        const Graph graph = import_file(path, {});
        ASSERT_EQ(graph.outputs.size(), 1u);
        const auto inputs = recorded_inputs(path.parent_path(), graph.inputs.size());
        const auto outputs = reference_run(graph, inputs);
        const HostTensor expected = load_npy(path.parent_path() / "tflite_result.npy");
        EXPECT_EQ(test::compare(outputs.at(0), expected, 0, 1e-5), "");

        const Graph again = import_model(write_tosa(graph), "rewritten", {});
        EXPECT_EQ(graph_difference(graph, again), "");
        EXPECT_EQ(reference_run(again, inputs).at(0).bytes, outputs.at(0).bytes);
    }
}

TEST(TosaCorpus, GenerationsOfOneGraphAgree) {
    const auto root = test::corpus();
    TOSAVK_NEEDS_CORPUS(root);
    const auto generation = [](const fs::path& path) {
        const Bytes bytes = read_file(path);
        return TosaFile(bytes, TosaSpec::recognise).generation;
    };
    for (const fs::path& path : recorded_files(root / "tosa-files" / "1.0")) {
        const auto other = [&](const char* name) {
            return root / "tosa-files" / name / path.parent_path().filename() / path.filename();
        };
        EXPECT_EQ(generation(path), TosaGeneration::v1_0);
        EXPECT_EQ(generation(other("0.80")), TosaGeneration::regions_0_80);
        EXPECT_EQ(generation(other("0.30")), TosaGeneration::blocks_0_30);
        const Graph a = import_file(path, {}), b = import_file(other("0.80"), {}), c = import_file(other("0.30"), {});
        ASSERT_EQ(a.nodes.size(), b.nodes.size());
        ASSERT_EQ(a.nodes.size(), c.nodes.size());
        for (NodeId n = 0; n < a.nodes.size(); ++n) {
            EXPECT_EQ(a.node(n).op, c.node(n).op);
            EXPECT_EQ(attributes_text(a.node(n)), attributes_text(b.node(n)));
            EXPECT_EQ(attributes_text(a.node(n)), attributes_text(c.node(n)));
        }
    }
}

// ---- there and back -----------------------------------------------------------------------------------------------

void expect_round_trip(const Graph& graph, std::uint64_t seed) {
    const Bytes file = write_tosa(graph);
    const Graph again = import_model(file, "written", {});
    ASSERT_EQ(graph_difference(graph, again), "");
    std::vector<HostTensor> inputs;
    for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
        const Value& v = graph.value(graph.inputs[k]);
        inputs.push_back(random_tensor(v.type, v.shape, seed + k));
    }
    const auto expected = reference_run(graph, inputs), got = reference_run(again, inputs);
    ASSERT_EQ(expected.size(), got.size());
    for (std::size_t k = 0; k < got.size(); ++k) EXPECT_EQ(expected[k].bytes, got[k].bytes) << "output " << k;
}

TEST(TosaRoundTrip, EveryNetworkOfTheCorpus) {
    const auto root = test::corpus();
    TOSAVK_NEEDS_CORPUS(root);
    const auto folders = test::case_folders(root / "models");
    EXPECT_FALSE(folders.empty());
    for (const auto& path : folders) {
        SCOPED_TRACE(path.filename().string());
        expect_round_trip(import_file(path / "model.tflite", {}), 7);
    }
}

TEST(TosaRoundTrip, EverySingleOperatorOfTheCorpus) {
    const auto root = test::corpus();
    TOSAVK_NEEDS_CORPUS(root);
    std::size_t checked = 0;
    for (const auto& path : test::case_folders(root / "tflite-ops")) {
        SCOPED_TRACE(path.filename().string());
        Graph graph;
        try {
            graph = import_file(path / "model.tflite", {});
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), ErrorCode::unsupported) << e.what();
            continue;
        }
        expect_round_trip(graph, 11);
        ++checked;
    }
    EXPECT_GT(checked, 100u);
}

/// One graph with every attribute that a node can have.
Graph graph_of_everything() {
    GraphBuilder b("everything");
    const ValueId x = b.input("x", DType::fp32, {1, 6, 6, 2}), q = b.input("q", DType::i8, {1, 6, 6, 2});
    const ValueId n = b.input("n", DType::i32, {2, 3}), s = b.input("s", DType::i16, {2, 3});
    const ValueId fz = b.scalar(DType::fp32, 0), qz = b.scalar(DType::i8, 0);
    Attributes pool;
    pool.kernel = {2, 2};
    pool.stride = {2, 2};
    pool.pad = {0, 0, 0, 0};
    pool.acc_type = DType::fp32;
    pool.nan_mode = NanMode::ignore;
    b.output(b.add1(Op::avg_pool2d, {x, fz, fz}, DType::fp32, pool, "avg"));
    b.output(b.add1(Op::max_pool2d, {x}, DType::fp32, pool, "max"));
    pool.acc_type = DType::i32;
    b.output(b.add1(Op::avg_pool2d, {q, b.scalar(DType::i8, -3), b.scalar(DType::i8, 5)}, DType::i8, pool, "avg_q"));
    Attributes conv;
    conv.pad = {1, 1, 1, 1};
    conv.stride = {1, 1};
    conv.dilation = {1, 2};
    conv.acc_type = DType::fp32;
    conv.local_bound = true;
    conv.pad = {1, 1, 2, 2};
    std::vector<float> weights(3 * 3 * 3 * 2);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) * 0.125f - 1;
    const float bias[] = {1, -2, 3};
    const ValueId w = b.constant_floats("w", DType::fp32, {3, 3, 3, 2}, weights);
    const ValueId bs = b.constant_floats("b", DType::fp32, {3}, bias);
    b.output(b.add1(Op::conv2d, {x, w, bs, fz, fz}, DType::fp32, conv, "conv"));
    Attributes transposed;
    transposed.pad = {-1, 0, 1, 2};
    transposed.stride = {2, 1};
    transposed.acc_type = DType::fp32;
    b.output(b.add1(Op::transpose_conv2d, {x, w, bs, fz, fz}, DType::fp32, transposed, "tconv"));
    Attributes clamp;
    clamp.min_val = -0.0;
    clamp.max_val = 0.1f;
    clamp.nan_mode = NanMode::ignore;
    b.output(b.add1(Op::clamp, {x}, DType::fp32, clamp, "clamp"));
    clamp.min_val = -7;
    clamp.max_val = 100;
    b.output(b.add1(Op::clamp, {q}, DType::i8, clamp, "clamp_q"));
    clamp.min_val = -30000;
    b.output(b.add1(Op::clamp, {s}, DType::i16, clamp, "clamp_s"));
    Attributes a;
    a.axis = 1;
    a.nan_mode = NanMode::ignore;
    a.round = true;
    for (const Op op : {Op::reduce_max, Op::reduce_min, Op::reduce_sum, Op::reduce_product, Op::reverse}) {
        b.output(b.add1(op, {x}, DType::fp32, a, std::string(name_of(op))));
    }
    b.output(b.add1(Op::argmax, {x}, DType::i32, a, "argmax"));
    b.output(b.add1(Op::concat, {x, x, x}, DType::fp32, a, "concat"));
    b.output(b.add1(Op::maximum, {x, x}, DType::fp32, a, "maximum"));
    const std::int64_t twos[] = {2, 2, 2, 2, 2, 2};
    const ValueId amount = b.constant_ints("amount", DType::i32, {2, 3}, twos);
    b.output(b.add1(Op::arithmetic_right_shift, {n, amount}, DType::i32, a, "shifted"));
    b.output(b.add1(Op::mul, {n, n, b.scalar(DType::i8, 3)}, DType::i32, {}, "mul"));
    Attributes perms;
    perms.perms = {3, 0, 2, 1};
    b.output(b.add1(Op::transpose, {x}, DType::fp32, perms, "transpose"));
    const ValueId sigmoid = b.add1(Op::sigmoid, {x}, DType::fp32, {}, "sigmoid");
    const ValueId large = b.add1(Op::greater, {x, sigmoid}, DType::boolean, {}, "greater");
    Attributes axis0;
    axis0.axis = 3;
    b.output(b.add1(Op::reduce_all, {large}, DType::boolean, axis0, "all"));
    b.output(b.add1(Op::reduce_any, {large}, DType::boolean, axis0, "any"));
    const std::int64_t multipliers[] = {1 << 30, 1000000007}, shifts[] = {35, 12};
    Attributes rescale;
    rescale.per_channel = true;
    rescale.rounding = Rounding::inexact_round;
    const ValueId m = b.constant_ints("m", DType::i32, {2}, multipliers);
    const ValueId sh = b.constant_ints("sh", DType::i8, {2}, shifts);
    b.output(b.add1(Op::rescale, {q, m, sh, b.scalar(DType::i8, 4), b.scalar(DType::i16, 0)}, DType::i16, rescale,
                    "rescale"));
    Attributes narrow;
    narrow.scale32 = false;
    narrow.input_unsigned = true;
    const std::int64_t m16 = 20000, sh16 = 15;
    b.output(b.add1(Op::rescale,
                    {q, b.constant_ints("m16", DType::i16, {1}, std::span(&m16, 1)),
                     b.constant_ints("sh16", DType::i8, {1}, std::span(&sh16, 1)), qz, qz},
                    DType::i8, narrow, "rescale_u"));
    const Shape one_cell{}, rows{3, 2}, pads{0, 0, 1, 2, 0, 0, 0, 0};
    b.output(b.add1(Op::reshape, {n, b.shape(rows)}, DType::i32, {}, "reshape"));
    b.output(b.add1(Op::reshape, {b.input("one", DType::i32, {1, 1}), b.shape(one_cell)}, DType::i32, {}, "to_scalar"));
    b.output(b.add1(Op::pad, {x, b.shape(pads), b.scalar(DType::fp32, -1.5)}, DType::fp32, {}, "padded"));
    const std::int64_t bits[] = {1, 0, 1};
    b.output(b.add1(Op::logical_not, {b.constant("flags", DType::boolean, {3}, encode_ints(DType::boolean, bits))},
                    DType::boolean, {}, "not"));
    return b.finish();
}

TEST(TosaRoundTrip, EveryAttribute) { expect_round_trip(graph_of_everything(), 3); }

TEST(TosaRoundTrip, FourAndFortyEightBits) {
    GraphBuilder b("narrow_and_wide");
    const std::int64_t weights[] = {-7, 7, 0, -1, 3, 2, 1, -6, 5},
                       sums[] = {-(std::int64_t{1} << 46), 1, (std::int64_t{1} << 46) - 1};
    const ValueId q = b.input("q", DType::i8, {1, 4, 1, 3}), s = b.input("s", DType::i16, {1, 4, 1, 3});
    const ValueId i4 = b.constant_ints("w4", DType::i4, {3, 1, 1, 3}, weights),
                  i48 = b.constant_ints("b48", DType::i48, {3}, sums);
    Attributes conv;
    conv.pad = {0, 0, 0, 0};
    conv.stride = conv.dilation = {1, 1};
    conv.acc_type = DType::i32;
    b.output(b.add1(Op::conv2d, {q, i4, b.scalar(DType::i32, 5), b.scalar(DType::i8, -3), b.scalar(DType::i4, 0)},
                    DType::i32, conv, "by4"));
    conv.acc_type = DType::i48;
    const ValueId w8 = b.constant_ints("w8", DType::i8, {3, 1, 1, 3}, weights);
    const ValueId sum =
        b.add1(Op::conv2d, {s, w8, i48, b.scalar(DType::i16, 0), b.scalar(DType::i8, 2)}, DType::i48, conv, "by8");
    b.output(sum);
    Attributes scale;
    scale.scale32 = false;
    scale.rounding = Rounding::inexact_round;
    b.output(b.add1(
        Op::rescale,
        {sum, b.scalar(DType::i16, 32767), b.scalar(DType::i8, 46), b.scalar(DType::i48, 0), b.scalar(DType::i16, 0)},
        DType::i16, scale, "scaled"));
    b.output(b.add1(Op::identity, {i4}, DType::i4, {}, "same4"));
    b.output(b.add1(Op::identity, {i48}, DType::i48, {}, "same48"));
    b.output(b.add1(Op::identity, {b.input("x48", DType::i48, {2, 5})}, DType::i48, {}, "x48_again"));
    b.output(b.add1(Op::identity, {b.input("x4", DType::i4, {3, 3})}, DType::i4, {}, "x4_again"));
    expect_round_trip(b.finish(), 12);
}

TEST(TosaRoundTrip, NamesThatCollideOrAreMissing) {
    GraphBuilder b;
    const ValueId x = b.input("same", DType::fp32, {2});
    const ValueId y = b.add1(Op::abs, {x}, DType::fp32, {}, "middle");
    const ValueId z = b.add1(Op::exp, {y}, DType::fp32, {}, "z");
    b.value(z).name = "same";
    b.output(z);
    Graph graph = b.finish();
    graph.values[y].name.clear();
    const Graph again = import_model(write_tosa(graph), "written", {});
    EXPECT_EQ(again.value(again.inputs[0]).name, "same");
    EXPECT_EQ(again.nodes.size(), 2u);
    EXPECT_NE(graph_difference(graph, again), "");
}

TEST(GraphDifference, SeesWiringThatNamesDoNotTell) {
    const auto make = [](bool crossed) {
        GraphBuilder b;
        const ValueId x = b.input("v", DType::fp32, {2}), y = b.add1(Op::abs, {x}, DType::fp32, {}, "w");
        const ValueId z = b.add1(Op::exp, {crossed ? x : y}, DType::fp32, {}, "z");
        b.value(y).name = "v";
        b.output(y);
        b.output(z);
        return b.finish();
    };
    EXPECT_EQ(graph_difference(make(false), make(false)), "");
    EXPECT_NE(graph_difference(make(false), make(true)), "");
}

TEST(TosaPacking, FourAndFortyEightBits) {
    const std::int64_t small[] = {-7, 7, 0, -1, 3};
    const Bytes i4 = encode_ints(DType::i4, small);
    const Bytes packed = pack_tosa(DType::i4, i4);
    ASSERT_EQ(packed.size(), 3u);
    EXPECT_EQ(packed[0], std::byte{0x79});
    EXPECT_EQ(packed[2], std::byte{0x03});
    EXPECT_EQ(unpack_tosa(DType::i4, 5, packed, "x"), i4);
    const std::int64_t large[] = {-(std::int64_t{1} << 47), (std::int64_t{1} << 47) - 1, -1, 0x123456789abc};
    const Bytes i48 = encode_ints(DType::i48, large);
    Bytes file = pack_tosa(DType::i48, i48);
    ASSERT_EQ(file.size(), 24u);
    EXPECT_EQ(unpack_tosa(DType::i48, 4, file, "x"), i48);
    file.resize(40);
    EXPECT_EQ(unpack_tosa(DType::i48, 4, file, "x"), i48) << "zero padding";
    file[39] = std::byte{1};
    EXPECT_THROW(unpack_tosa(DType::i48, 4, file, "x"), Error);
    EXPECT_THROW(unpack_tosa(DType::i48, 4, std::span(file).first(23), "x"), Error);
    const Bytes two{std::byte{2}};
    EXPECT_THROW(unpack_tosa(DType::boolean, 1, two, "x"), Error);
}

// ---- damaged files ------------------------------------------------------------------------------------------------

std::vector<Bytes> sample_files() {
    std::vector<Bytes> files{write_tosa(graph_of_everything()), write_tosa(testing::nested_graph()),
                             write_tosa(testing::state_in_loop_graph())};
    for (const bool regions : {true, false}) {
        OldFile f(regions);
        f.tensor("x", "INT8", {2, 2}).input("x").constant("w", "INT8", {3, 2}, {1, 2, 3, 4, 5, 6});
        f.constant("b", "INT32", {3}, {100, 200, 300}).tensor("y", "INT32", {2, 3}).tensor("z", "INT8", {2, 3});
        f.tensor("p", "INT8", {3, 3}).tensor("r", "INT8", {9}).output("r");
        f.add({"FULLY_CONNECTED", {"x", "w", "b"}, {"y"}, f.fully_connected(1, -1)});
        f.add({"RESCALE", {"y"}, {"z"}, f.rescale(0, 3, {1 << 30}, {35}, true, true, false)});
        f.add({"PAD", {"z"}, {"p"}, f.pad({1, 0, 0, 0}, 5)}).add({"RESHAPE", {"p"}, {"r"}, f.reshape({9})});
        files.push_back(f.bytes());
    }
    if (const auto root = test::corpus(); !root.empty()) {
        for (const char* generation : {"1.0", "0.80", "0.30"}) {
            for (const fs::path& path : recorded_files(root / "tosa-files" / generation)) {
                files.push_back(read_file(path));
            }
        }
    }
    return files;
}

TEST(TosaDamaged, NeverMoreThanASentence) {
    const auto seed = static_cast<unsigned>(test::number_from_environment("TOSAVK_TEST_SEED", 20250611));
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    test::DamagedFiles damaged("damaged.tosa", 2000);
    for (const Bytes& file : sample_files()) {
        test::DamagedFiles whole("whole.tosa");
        whole.import_or_refuse(file);
        EXPECT_EQ(whole.imported(), 1);
        for (std::size_t n = 0; n < file.size(); n += 1 + file.size() / 400) {
            damaged.import_or_refuse(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n)));
        }
        for (int round = 0; round < 1000; ++round) {
            Bytes copy = file;
            const int flips = 1 + static_cast<int>(random() % 4);
            for (int i = 0; i < flips; ++i) copy[random() % copy.size()] = static_cast<std::byte>(random());
            damaged.import_or_refuse(copy);
        }
        for (const std::uint32_t word : {0u, 1u, 2u, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0x00010000u}) {
            for (std::size_t at = 0; at + 4 <= file.size(); at += 1 + file.size() / 500) {
                Bytes copy = file;
                std::memcpy(copy.data() + at, &word, 4);
                damaged.import_or_refuse(copy);
            }
        }
        Bytes shifted(file.size() + 1);
        std::copy(file.begin(), file.end(), shifted.begin() + 1);
        EXPECT_NO_THROW(import_model(std::span(shifted).subspan(1), "shifted", {}));
    }
    EXPECT_GT(damaged.imported(), 0);
    EXPECT_GT(damaged.ran(), 100);
}

}  // namespace
}  // namespace tosavk
