// .tosa files made by hand: each rule that upgrades an old operator, the habits of early writers of 1.0, and what is
// refused with which sentence.
#include "frontends/frontend.hpp"
#include "reference/reference.hpp"
#include "support/tosa_builder.hpp"

#include "ops/compare.hpp"
#include "tosa_1_0_generated.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace tosavk {
namespace {

using test::OldFile;

// ---- old files, made by hand --------------------------------------------------------------------------------------

using Ints = std::vector<std::int64_t>;

TEST(TosaUpgrade, FullyConnectedBecomesConv2d) {
    for (const bool regions : {true, false}) {
        OldFile f(regions);
        f.tensor("x", "INT8", {2, 2}).input("x").constant("w", "INT8", {3, 2}, {1, 2, 3, 4, 5, 6});
        f.constant("b", "INT32", {3}, {100, 200, 300}).tensor("y", "INT32", {2, 3}).output("y");
        f.add({"FULLY_CONNECTED", {"x", "w", "b"}, {"y"}, f.fully_connected(1, -1)});
        const Graph graph = import_model(f.bytes(), "old", {});
        EXPECT_EQ(graph.nodes.size(), 3u);
        EXPECT_EQ(test::run_ints(graph, {{1, 2, 3, 5}}),
                  (Ints{100 + 3, 200 + 5, 300 + 7, 100 + 2 * 2 + 4 * 3, 200 + 2 * 4 + 4 * 5, 300 + 2 * 6 + 4 * 7}));
    }
}

TEST(TosaUpgrade, OutPadThatTookAway) {
    for (const bool regions : {true, false}) {
        OldFile f(regions);
        f.tensor("x", "INT8", {1, 2, 2, 1}).input("x").constant("w", "INT8", {1, 2, 2, 1}, {1, 2, 3, 4});
        f.constant("b", "INT32", {1}, {0}).tensor("y", "INT32", {1, 1, 3, 1}).output("y");
        // Of 3x3, the first two rows go, more than the kernel's 2 - 1 per side.
        f.add({"TRANSPOSE_CONV2D", {"x", "w", "b"}, {"y"}, f.transpose_conv({2, 0, 0, 0}, {1, 1}, {1, 1, 3, 1})});
        const Graph graph = import_model(f.bytes(), "old", {});
        EXPECT_EQ(graph.nodes.size(), 2u) << "TRANSPOSE_CONV2D and SLICE";
        EXPECT_EQ(test::run_ints(graph, {{1, 2, 3, 4}}), (Ints{9, 24, 16}));
        OldFile g(regions);
        g.tensor("x", "INT8", {1, 2, 2, 1}).input("x").constant("w", "INT8", {1, 2, 2, 1}, {1, 2, 3, 4});
        g.constant("b", "INT32", {1}, {0}).tensor("y", "INT32", {1, 2, 2, 1}).output("y");
        g.add({"TRANSPOSE_CONV2D", {"x", "w", "b"}, {"y"}, g.transpose_conv({1, 0, 0, 1}, {1, 1}, {1, 2, 2, 1})});
        EXPECT_EQ(test::run_ints(import_model(g.bytes(), "old", {}), {{1, 2, 3, 4}}), (Ints{6, 20, 9, 24}));
    }
}

TEST(TosaUpgrade, AttributesBecomeInputs) {
    for (const bool regions : {true, false}) {
        SCOPED_TRACE(regions);
        const auto one = [&](const char* type, Shape from, const char* out_type, Shape to, const char* op,
                             const std::function<test::OldAttribute(OldFile&)>& attribute, const Ints& input) {
            OldFile f(regions);
            f.tensor("x", type, from).input("x").tensor("y", out_type, to).output("y");
            f.add({op, {"x"}, {"y"}, attribute(f)});
            return test::run_ints(import_model(f.bytes(), "old", {}), {input});
        };
        EXPECT_EQ(one("INT8", {2}, "INT8", {5}, "PAD", [](OldFile& f) { return f.pad({1, 2}, -3); }, {1, 2}),
                  (Ints{-3, 1, 2, -3, -3}));
        EXPECT_EQ(one("INT8", {4}, "INT8", {2}, "SLICE", [](OldFile& f) { return f.slice({1}, {2}); }, {1, 2, 3, 4}),
                  (Ints{2, 3}));
        EXPECT_EQ(one("INT8", {2}, "INT8", {4}, "TILE", [](OldFile& f) { return f.tile({2}); }, {1, 2}),
                  (Ints{1, 2, 1, 2}));
        EXPECT_EQ(
            one("INT32", {4}, "INT32", {2, 2}, "RESHAPE", [](OldFile& f) { return f.reshape({2, -1}); }, {1, 2, 3, 4}),
            (Ints{1, 2, 3, 4}));
        EXPECT_EQ(one("INT8", {4}, "INT8", {4}, "CLAMP", [](OldFile& f) { return f.clamp(-2, 1000, 0, 0); },
                      {-128, -1, 0, 127}),
                  (Ints{-2, -1, 0, 127}));
        EXPECT_EQ(one("INT8", {2}, "INT8", {2}, "NEGATE", [](OldFile& f) { return f.negate(1, 2); }, {5, -7}),
                  (Ints{1 + 2 - 5, 1 + 2 + 7}));
        EXPECT_EQ(one("INT8", {1, 2, 2, 1}, "INT8", {1, 1, 1, 1}, "MAX_POOL2D",
                      [](OldFile& f) { return f.pool({2, 2}, {1, 1}, {0, 0, 0, 0}, 0, 0); }, {1, 9, 3, 4}),
                  (Ints{9}));
        EXPECT_EQ(one("INT8", {1, 2, 2, 1}, "INT8", {1, 1, 1, 1}, "AVG_POOL2D",
                      [](OldFile& f) { return f.pool({2, 2}, {1, 1}, {0, 0, 0, 0}, 2, -1); }, {4, 8, 4, 8}),
                  (Ints{3}));
        EXPECT_EQ(one("INT8", {2}, "INT8", {2}, "TABLE",
                      [](OldFile& f) {
                          std::vector<std::int16_t> t(256);
                          for (int i = 0; i < 256; ++i)
                              t[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(127 - i);
                          return f.table(t);
                      },
                      {-128, 3}),
                  (Ints{127, -4}));
        // Unsigned bytes are what RESCALE reads: 200 and 3 with zero point 128, doubled.
        EXPECT_EQ(one("UINT8", {2}, "INT16", {2}, "RESCALE",
                      [](OldFile& f) { return f.rescale(128, 0, {1 << 30}, {29}, true, true, false); }, {200 - 256, 3}),
                  (Ints{144, -250}));
        EXPECT_EQ(one("INT32", {2, 3}, "INT32", {2, 1}, "REDUCE_SUM", [](OldFile& f) { return f.axis(1); },
                      {1, 2, 3, 4, 5, 6}),
                  (Ints{6, 15}));
        EXPECT_EQ(one("INT32", {2, 3}, "INT32", {3, 2}, "TRANSPOSE", [](OldFile& f) { return f.transpose({1, 0}); },
                      {1, 2, 3, 4, 5, 6}),
                  (Ints{1, 4, 2, 5, 3, 6}));
    }
}

TEST(TosaUpgrade, ResizeOfThreeLayouts) {
    // Corners meet: 2 columns become 3, in units of 1/2.
    for (const int layout : {30, 40, 80}) {
        OldFile f(layout == 80);
        f.tensor("x", "INT8", {1, 1, 2, 1}).input("x").tensor("y", "INT32", {1, 1, 3, 1}).output("y");
        f.add({"RESIZE",
               {"x"},
               {"y"},
               layout == 30 ? f.early_resize({1, 3}, {1, 1}, {0, 0}, 1, {}, {}, 2)
                            : f.resize({2, 1, 2, 1}, {0, 0}, {0, 0}, 2)});
        EXPECT_EQ(test::run_ints(import_model(f.bytes(), "old", {}), {{3, 5}}), (Ints{12, 16, 20})) << layout;
    }
    // The size in the file asks for more columns than stride and offset give: a border.
    OldFile f(false);
    f.tensor("x", "INT8", {1, 1, 2, 1}).input("x").tensor("y", "INT8", {1, 1, 4, 1}).output("y");
    f.add({"RESIZE", {"x"}, {"y"}, f.early_resize({1, 4}, {2, 2}, {0, -1}, 2, {}, {}, 1)});
    EXPECT_EQ(test::run_ints(import_model(f.bytes(), "old", {}), {{3, 5}}), (Ints{3, 3, 5, 5}));
    OldFile g(false);
    g.tensor("x", "FP32", {1, 1, 2, 1}).input("x").tensor("y", "FP32", {1, 1, 3, 1}).output("y");
    g.add({"RESIZE", {"x"}, {"y"}, g.early_resize({1, 3}, {}, {}, 0, {1, 0.5F}, {0, 0}, 2)});
    HostTensor x(DType::fp32, {1, 1, 2, 1});
    x.bytes = encode_reals(DType::fp32, std::vector<double>{3, 5});
    const HostTensor y = reference_run(import_model(g.bytes(), "old", {}), std::vector{x}).at(0);
    EXPECT_EQ(decode_reals(y.type, y.bytes), (std::vector<double>{3, 4, 5}));
}

TEST(TosaUpgrade, FourierTransformsOfOldFiles) {
    for (const std::int64_t rows : {4, 3}) {
        OldFile f(true);
        f.tensor("x", "FP32", {1, 4, 2}).input("x").tensor("r", "FP32", {1, rows, 2}).tensor("i", "FP32", {1, rows, 2});
        f.output("r").output("i").add({"RFFT2D", {"x"}, {"r", "i"}, f.rfft()});
        HostTensor x(DType::fp32, {1, 4, 2});
        x.bytes = encode_reals(x.type, std::vector<double>{1, 0, 0, 0, 0, 0, 0, 0});
        const HostTensor y = reference_run(import_model(f.bytes(), "old", {}), std::vector{x}).at(0);
        EXPECT_EQ(decode_reals(y.type, y.bytes), std::vector<double>(static_cast<std::size_t>(2 * rows), 1.0));
    }
    OldFile f(true);
    f.tensor("a", "FP32", {1, 1, 2}).tensor("b", "FP32", {1, 1, 2}).input("a").input("b");
    f.tensor("r", "FP32", {1, 1, 2}).tensor("i", "FP32", {1, 1, 2}).output("r").output("i");
    f.add({"FFT2D", {"a", "b"}, {"r", "i"}, f.fft(true)});
    HostTensor a(DType::fp32, {1, 1, 2}), b(DType::fp32, {1, 1, 2});
    a.bytes = encode_reals(a.type, std::vector<double>{3, 1});
    const HostTensor y = reference_run(import_model(f.bytes(), "old", {}), std::vector{a, b}).at(0);
    EXPECT_EQ(decode_reals(y.type, y.bytes), (std::vector<double>{4, 2}));
}

TEST(TosaUpgrade, TablesOfTheEarliestLayoutAreWide) {
    OldFile f(false);
    f.tensor("x", "INT8", {2}).input("x").tensor("m", "INT8", {2}).tensor("y", "INT8", {2}).output("y");
    std::vector<std::int32_t> entries;
    for (int i = 0; i < 256; ++i) entries.push_back(127 - i);
    f.add({"TABLE", {"x"}, {"m"}, f.wide_table(entries)});
    f.add({"NEGATE", {"m"}, {"y"}, {}, {1, 0, 0}});
    EXPECT_EQ(test::run_ints(import_model(f.bytes(), "old", {}), {{-128, 3}}), (Ints{-127, 4}));
}

TEST(TosaUpgrade, BroadcastsBeyondBothInputs) {
    OldFile f(true);
    f.tensor("a", "INT32", {1, 1}).tensor("b", "INT32", {1, 2}).input("a").input("b");
    f.tensor("y", "INT32", {3, 2}).output("y").add({"ADD", {"a", "b"}, {"y"}, {}});
    const Graph graph = import_model(f.bytes(), "old", {});
    EXPECT_EQ(test::run_ints(graph, {{10}, {1, 2}}), (Ints{11, 12, 11, 12, 11, 12}));
}

TEST(TosaUpgrade, MulShiftMatmulAndNarrowShifts) {
    for (const bool regions : {true, false}) {
        const auto two = [&](const char* type, Shape a, Shape b, const char* out_type, Shape y, const char* op,
                             const std::function<test::OldAttribute(OldFile&)>& attribute, const Ints& x0,
                             const Ints& x1) {
            OldFile f(regions);
            f.tensor("a", type, a).tensor("b", type, b).input("a").input("b").tensor("y", out_type, y).output("y");
            f.add({op, {"a", "b"}, {"y"}, attribute(f)});
            return test::run_ints(import_model(f.bytes(), "old", {}), {x0, x1});
        };
        const auto none = [](OldFile&) { return test::OldAttribute{}; };
        EXPECT_EQ(two("INT32", {2}, {2}, "INT32", {2}, "MUL", [](OldFile& f) { return f.mul(1); }, {3, 5}, {5, 7}),
                  (Ints{8, 18}));
        EXPECT_EQ(two("INT8", {1, 1, 2}, {1, 2, 1}, "INT32", {1, 1, 1}, "MATMUL",
                      [](OldFile& f) { return f.matmul(1, 2); }, {3, 5}, {4, 7}),
                  (Ints{2 * 2 + 4 * 5}));
        EXPECT_EQ(two("INT8", {3}, {3}, "INT8", {3}, "LOGICAL_RIGHT_SHIFT", none, {-1, -1, 64}, {1, 9, 31}),
                  (Ints{127, 0, 0}));
        EXPECT_EQ(two("INT16", {2}, {2}, "INT16", {2}, "LOGICAL_LEFT_SHIFT", none, {3, 3}, {2, 20}), (Ints{12, 0}));
    }
}

TEST(TosaUpgrade, ZeroPointsOfTheEarliestLayout) {
    OldFile f(false);
    f.tensor("x", "INT8", {1, 2}).input("x").constant("w", "INT8", {1, 2}, {1, 2});
    f.constant("b", "INT32", {1}, {0}).tensor("y", "INT32", {1, 1}).output("y");
    f.add({"FULLY_CONNECTED", {"x", "w", "b"}, {"y"}, {}, {2, 3, 1}});
    EXPECT_EQ(test::run_ints(import_model(f.bytes(), "old", {}), {{5, 7}}), (Ints{2 * 0 + 4 * 1}));
}

TEST(TosaUpgrade, OperatorsInAnyOrder) {
    OldFile f(true);
    f.tensor("x", "INT32", {1}).input("x").tensor("m", "INT32", {1}).tensor("y", "INT32", {1}).output("y");
    f.add({"BITWISE_NOT", {"m"}, {"y"}, {}}).add({"ABS", {"x"}, {"m"}, {}});
    EXPECT_EQ(test::run_ints(import_model(f.bytes(), "old", {}), {{-5}}), (Ints{~5}));
}

TEST(TosaUpgrade, AVersionTableWithoutNumbers) {
    OldFile f(true);
    f.version(-1, -1);
    f.tensor("x", "INT32", {1}).input("x").tensor("y", "INT32", {1}).output("y").add({"ABS", {"x"}, {"y"}, {}});
    EXPECT_EQ(test::run_ints(import_model(f.bytes(), "old", {}), {{-5}}), (Ints{5}));
    ImportOptions options;
    options.spec = TosaSpec::v0_80;
    EXPECT_EQ(test::run_ints(import_model(f.bytes(), "old", options), {{-5}}), (Ints{5}));
    options.spec = TosaSpec::v0_30;
    EXPECT_THROW(import_model(f.bytes(), "old", options), Error);
    options.spec = TosaSpec::v1_0;
    EXPECT_THROW(import_model(f.bytes(), "old", options), Error) << "31 is no ABS in 1.0";
}

// ---- what is refused, and how -------------------------------------------------------------------------------------

std::string refusal(const Bytes& file, ErrorCode code) {
    try {
        import_model(file, "f", {});
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        return e.what();
    }
    ADD_FAILURE() << "imported";
    return {};
}

TEST(TosaRefusal, SaysWhatIsWrong) {
    const auto file = [](auto&& change) {
        OldFile f(true);
        f.tensor("x", "INT32", {2}).input("x").tensor("y", "INT32", {2}).output("y");
        change(f);
        return f.bytes();
    };
    const auto expect = [](const Bytes& bytes, ErrorCode code, const std::string& part) {
        const std::string message = refusal(bytes, code);
        EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    const auto bad = ErrorCode::bad_model, unsupported = ErrorCode::unsupported;
    expect(file([](OldFile& f) { f.add({"COND_IF", {"x"}, {"y"}, {}}); }), bad, "COND_IF");
    expect(file([](OldFile& f) { f.add({"CUSTOM", {"x"}, {"y"}, {}}); }), bad, "CUSTOM");
    expect(file([](OldFile& f) { f.add({"DIM", {"x"}, {"y"}, {}}); }), unsupported, "DIM");
    expect(file([](OldFile& f) { f.add({"99", {"x"}, {"y"}, {}}); }), unsupported, "99");
    expect(file([](OldFile&) {}), bad, "never computed");
    expect(file([](OldFile& f) { f.add({"ABS", {"z"}, {"y"}, {}}); }), bad, "there is no tensor 'z'");
    expect(file([](OldFile& f) { f.add({"ABS", {"y"}, {"y"}, {}}); }), bad, "cycle");
    expect(file([](OldFile& f) { f.add({"ABS", {"x"}, {"x"}, {}}); }), bad, "has a value already");
    expect(file([](OldFile& f) { f.add({"ABS", {"x"}, {}, {}}); }), bad, "has no output");
    expect(file([](OldFile& f) { f.tensor("m", "INT32", {2}).add({"ABS", {"m"}, {"y"}, {}}); }), bad,
           "nothing computes");
    expect(file([](OldFile& f) { f.tensor("x", "INT32", {2}); }), bad, "two tensors have the name 'x'");
    expect(file([](OldFile& f) { f.input("x"); }), bad, "listed twice");
    expect(file([](OldFile& f) { f.input("q"); }), bad, "there is no tensor 'q'");
    expect(file([](OldFile& f) { f.add({"ADD", {"x"}, {"y"}, {}}); }), bad, "needs 2 inputs");
    expect(file([](OldFile& f) { f.add({"MUL", {"x", "x"}, {"y"}, {}}); }), bad, "attributes of kind Mul");
    expect(file([](OldFile& f) { f.add({"MUL", {"x", "x"}, {"y"}, f.axis(0)}); }), bad, "attributes of kind Mul");
    expect(file([](OldFile& f) { f.tensor("s", "SHAPE", {2}).add({"ABS", {"s"}, {"y"}, {}}); }), unsupported, "SHAPE");
    expect(file([](OldFile& f) { f.tensor("s", "77", {2}).add({"ABS", {"s"}, {"y"}, {}}); }), unsupported, "type 77");
    expect(file([](OldFile& f) { f.tensor("h", "UINT8", {2}).input("h").add({"CLZ", {"h"}, {"y"}, {}}); }), unsupported,
           "i8");
    expect(file([](OldFile& f) { f.tensor("t", "INT32", {3}).add({"ABS", {"x"}, {"t"}, {}}); }), bad,
           "is i32 3 in the file, but the operator computes i32 2");
    expect(file([](OldFile& f) { f.constant("c", "INT32", {4}, {1}).add({"ADD", {"x", "c"}, {"y"}, {}}); }), bad,
           "need 16 bytes, but its data has 4");
    expect(file([](OldFile& f) { f.constant("c", "INT32", {-4}, {1}).add({"ADD", {"x", "c"}, {"y"}, {}}); }), bad,
           "every dimension must be at least 1");
    expect(file([](OldFile& f) { f.tensor("r", "INT32", {1, 1, 1, 1}).add({"RESIZE", {"x"}, {"y"}, f.axis(0)}); }), bad,
           "attributes of kind Resize");
    expect(file([](OldFile& f) { f.add({"RESIZE", {"x"}, {"y"}, f.resize({1, 1, 1, 1}, {0, 0}, {0, 0}, 3)}); }), bad,
           "mode 3 is not known");
    expect(file([](OldFile& f) { f.version(0, 90); }), unsupported, "version 0.90");
    expect(file([](OldFile& f) { f.version(2, 0); }), unsupported, "version 2.0");
}

// ---- 1.0, made by hand --------------------------------------------------------------------------------------------

struct NewTensor {
    std::string name;
    tosa10::DType type;
    std::vector<std::int32_t> shape;
    Bytes data;
    bool variable = false, unranked = false;
    std::uint64_t offset = 0;
};

struct NewOp {
    Op op;
    std::vector<std::string> inputs, outputs;
    unsigned attribute;  ///< the discriminator; the table has no field set
};

/// x (fp32 2x3) to y by these operators.
Bytes new_file(const std::vector<NewTensor>& tensors, const std::vector<NewOp>& ops, int minor = 0) {
    test::FileBuilder b;
    std::vector<flatbuffers::Offset<tosa10::TosaTensor>> tensor_list;
    std::vector<flatbuffers::Offset<tosa10::TosaOperator>> op_list;
    for (const NewTensor& t : tensors) {
        const auto name = b.CreateString(t.name);
        const auto shape = b.CreateVector(t.shape);
        const auto data = b.CreateVector(reinterpret_cast<const std::uint8_t*>(t.data.data()), t.data.size());
        tensor_list.push_back(tosa10::CreateTosaTensor(b, name, shape, static_cast<std::uint32_t>(t.type), data,
                                                       t.variable, t.unranked, 0, t.offset));
    }
    for (const NewOp& op : ops) {
        const auto in = b.CreateVectorOfStrings(op.inputs), out = b.CreateVectorOfStrings(op.outputs);
        const auto attribute = tosa10::CreateNoAttribute(b).Union();
        op_list.push_back(tosa10::CreateTosaOperator(b, static_cast<std::uint32_t>(op.op),
                                                     static_cast<tosa10::Attribute>(op.attribute), attribute, in, out));
    }
    const auto name = b.CreateString("some_block");
    const auto operators = b.CreateVector(op_list);
    const auto all_tensors = b.CreateVector(tensor_list);
    const auto inputs = b.CreateVectorOfStrings({"x"}), outputs = b.CreateVectorOfStrings({"y"});
    const auto block = tosa10::CreateTosaBasicBlock(b, name, operators, all_tensors, inputs, outputs);
    const auto region = tosa10::CreateTosaRegion(b, b.CreateString("main"), b.CreateVector(&block, 1));
    const auto version = tosa10::CreateVersion(b, 1, minor, 0, true);
    tosa10::FinishTosaGraphBuffer(b, tosa10::CreateTosaGraph(b, version, b.CreateVector(&region, 1)));
    const auto* begin = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
    return Bytes(begin, begin + b.GetSize());
}

const NewTensor x_tensor{"x", tosa10::DType::FP32, {2, 3}, {}}, y_tensor{"y", tosa10::DType::FP32, {2, 3}, {}};

TEST(TosaEarlyWriters, ShapesAreTensors) {
    const std::int64_t shape[] = {3, 2};
    const Bytes file = new_file({x_tensor,
                                 {"s", tosa10::DType::SHAPE, {2}, encode_ints(DType::shape, shape)},
                                 {"y", tosa10::DType::FP32, {3, 2}, {}}},
                                {{Op::reshape, {"x", "s"}, {"y"}, 57}, {Op::const_shape, {}, {"s"}, 75}}, 1);
    const Graph graph = import_model(file, "early", {});
    ASSERT_EQ(graph.nodes.size(), 1u);
    EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{3, 2}));
    EXPECT_EQ(graph_difference(graph, import_model(write_tosa(graph), "written", {})), "");
}

TEST(TosaRefusal, SaysWhatIsWrongIn10) {
    const auto expect = [](const Bytes& bytes, ErrorCode code, const std::string& part) {
        const std::string message = refusal(bytes, code);
        EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    const auto abs = [](const NewTensor& more, const char* from) {
        return new_file({x_tensor, y_tensor, more}, {{Op::abs, {from}, {"y"}, 32}});
    };
    const auto one = [](Op op, std::vector<std::string> in, unsigned attribute) {
        return new_file({x_tensor, y_tensor}, {{op, std::move(in), {"y"}, attribute}});
    };
    const auto bad = ErrorCode::bad_model, unsupported = ErrorCode::unsupported;
    expect(abs({"v", tosa10::DType::FP32, {2, 3}, {}, true}, "v"), bad, "without VARIABLE_READ");
    expect(abs({"u", tosa10::DType::FP32, {}, {}, false, true}, "u"), unsupported, "has no rank");
    expect(abs({"o", tosa10::DType::FP32, {2, 3}, {}, false, false, 4096}, "o"), unsupported, "outside the flatbuffer");
    expect(abs({"t", static_cast<tosa10::DType>(17), {2, 3}, {}}, "t"), unsupported, "INT64");
    expect(abs({"t", static_cast<tosa10::DType>(99), {2, 3}, {}}, "t"), unsupported, "type 99");
    expect(one(Op::identity, {"x"}, 74), bad, "VARIABLE_READ (number 0 in the file) names no variable");
    expect(one(Op::variable_write, {"x"}, 73), bad, "VARIABLE_WRITE (number 0 in the file) names no variable");
    expect(one(Op::while_loop, {"x"}, 71), bad, "there is no region ''");
    expect(one(static_cast<Op>(81), {"x"}, 0), unsupported, "operator ADD_SHAPE");
    expect(one(static_cast<Op>(999), {"x"}, 0), unsupported, "operator 999");
    expect(one(Op::reverse, {"x"}, 0), bad, "attributes are missing");
    expect(one(Op::reverse, {"x"}, 54), bad, "attributes of another operator");
    expect(one(Op::clamp, {"x"}, 11), bad, "min_val of CLAMP 'y'");
    expect(one(Op::reshape, {"x"}, 57), bad, "needs 2 inputs");
    expect(one(Op::abs, {"x", "x"}, 32), bad, "needs 1 input");
    expect(new_file({x_tensor, y_tensor}, {{Op::abs, {"x"}, {"y"}, 32}}, 2), unsupported, "version 1.2");
    // Of a type that CONV2D and ABS do not have here.
    const NewTensor wide_y{"y", tosa10::DType::INT48, {2, 3}, {}};
    expect(new_file({x_tensor, wide_y}, {{Op::abs, {"x"}, {"y"}, 32}}), unsupported, "type i48 of tensor 'y'");
}

TEST(TosaRefusal, ConstantsThatShareTheirBytes) {
    // 5000 constants of 1 MiB in a file of little more than 1 MiB.
    test::FileBuilder b;
    const std::vector<std::uint8_t> mebibyte(1 << 20);
    const auto data = b.CreateVector(mebibyte);
    const auto shape = b.CreateVector(std::vector<std::int32_t>{1 << 18});
    std::vector<flatbuffers::Offset<tosa10::TosaTensor>> tensors;
    std::vector<flatbuffers::Offset<tosa10::TosaOperator>> ops;
    const auto none = b.CreateVectorOfStrings({});
    const auto add = [&](const std::string& name) {
        const auto text = b.CreateString(name);
        tensors.push_back(tosa10::CreateTosaTensor(b, text, shape, 7, data));
    };
    for (int k = 0; k < 5000; ++k) {
        const std::string c = "c" + std::to_string(k), y = "y" + std::to_string(k);
        add(c);
        add(y);
        const auto c_list = b.CreateVectorOfStrings({c}), y_list = b.CreateVectorOfStrings({y});
        ops.push_back(tosa10::CreateTosaOperator(b, 67, tosa10::Attribute::NONE, 0, none, c_list));
        ops.push_back(tosa10::CreateTosaOperator(b, 32, tosa10::Attribute::NONE, 0, c_list, y_list));
    }
    const auto operators = b.CreateVector(ops);
    const auto all_tensors = b.CreateVector(tensors);
    const auto outputs = b.CreateVectorOfStrings({"y0"});
    const auto main = b.CreateString("main");
    const auto block = tosa10::CreateTosaBasicBlock(b, main, operators, all_tensors, none, outputs);
    const auto region = tosa10::CreateTosaRegion(b, main, b.CreateVector(&block, 1));
    const auto version = tosa10::CreateVersion(b, 1, 0, 0, false);
    tosa10::FinishTosaGraphBuffer(b, tosa10::CreateTosaGraph(b, version, b.CreateVector(&region, 1)));
    const auto* begin = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
    EXPECT_NE(refusal(Bytes(begin, begin + b.GetSize()), ErrorCode::bad_model).find("more room"), std::string::npos);
}

}  // namespace
}  // namespace tosavk
