// COND_IF, WHILE_LOOP and CUSTOM in graphs of TOSA 0.30: the reference against values worked out by hand, and what the
// builder refuses.
#include "ops/custom.hpp"
#include "reference/reference.hpp"
#include "support/control_graphs_0_30.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tosavk {
namespace {

using namespace testing;
using v0_30::Builder;
using v0_30::Region;
using v0_30::Type;
using Ints = std::vector<std::int64_t>;

constexpr Type i8{DType::i8}, u8{DType::i8, true}, i32{DType::i32}, boolean{DType::boolean};

HostTensor tensor(DType type, Shape shape, const Ints& values) {
    HostTensor t(type, std::move(shape));
    t.bytes = encode_ints(type, values);
    return t;
}
Ints run(const Graph& graph, const std::vector<HostTensor>& inputs) {
    const HostTensor out = reference_run(graph, inputs).at(0);
    return decode_ints(out.type, out.bytes);
}

TEST(ControlFlow030, ALoopRunsItsBodyAsOftenAsTheConditionHolds) {
    const Graph graph = turning_graph_0_30();
    EXPECT_EQ(graph.version, SpecVersion::v1_0);
    const Ints expected[] = {{1, 2, 3}, {3, 1, 2}, {2, 3, 1}, {1, 2, 3}};
    for (std::int64_t times = 0; times < 4; ++times) {
        EXPECT_EQ(run(graph, {tensor(DType::i32, {1}, {times}), tensor(DType::i8, {1, 3}, {1, 2, 3})}),
                  expected[times]);
    }
}

TEST(ControlFlow030, BranchesOfUnsignedTensors) {
    const Graph graph = unsigned_branch_graph_0_30();
    // 0, 100, 200 and 255 as the bits of u8.
    const HostTensor x = tensor(DType::i8, {4}, {0, 100, -56, -1});
    EXPECT_EQ(run(graph, {tensor(DType::boolean, {}, {1}), x}), (Ints{2 - 128, 102 - 128, 202 - 128, 255 - 128}));
    EXPECT_EQ(run(graph, {tensor(DType::boolean, {}, {0}), x}), (Ints{-128, -128, 100 - 128, 155 - 128}));
}

TEST(ControlFlow030, CustomGoesByTheNamesOfLaterVersions) {
    CustomOperator op;
    op.domain = "test.0_30";
    op.name = "sum";
    op.reference = [](RefContext& c) {
        std::int64_t sum = 0;
        for (const std::int64_t v : c.ints(0)) sum += v & 255;
        c.set_ints(std::array{sum});
        c.set_ints(c.ints(0), 1);
    };
    Builder b("custom");
    const v0_30::Result results[] = {{"sum", i32, Shape{1}}, {"same", u8, Shape{3}}};
    const auto ids = b.custom("test.0_30", "sum", "attributes", {b.input("x", u8, {3})}, results, "mine");
    EXPECT_EQ(b.value(ids[0]).name, "sum");
    EXPECT_EQ(b.type(ids[1]), u8);
    b.output(ids[0]);
    b.output(b.add1(Op::rescale, {ids[1]}, i8, moved(128, 0), "signed"));
    const Graph graph = b.finish();
    EXPECT_EQ(graph.nodes[0].attrs.implementation_attrs, "attributes");
    const std::vector<HostTensor> inputs{tensor(DType::i8, {3}, {-1, 1, 2})};
    EXPECT_THROW(run(graph, inputs), Error) << "nobody knows it";
    CustomSet set;
    set.add(op);
    EXPECT_EQ(run(*with_customs(std::make_shared<const Graph>(graph), set), inputs), Ints{258});
}

TEST(ControlFlow030, ErrorsNameTheOperatorAndTheRegion) {
    const auto passes = [](Type type, const Shape& shape, std::size_t inputs = 1) {
        Builder b("same");
        for (std::size_t k = 0; k < inputs; ++k) b.output(b.input("x" + std::to_string(k), type, shape));
        return b.finish_region();
    };
    const auto answers = [](Type type, const Shape& shape) {
        Builder b("answer");
        b.input("x", type, shape);
        b.output(b.constant("no", boolean, {1}, encode_ints(DType::boolean, Ints{0})));
        return b.finish_region();
    };
    const auto expect = [](const std::string& part, const std::function<void(Builder&)>& build) {
        Builder b("refused");
        try {
            build(b);
            ADD_FAILURE() << "accepted; expected: " << part;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_model);
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    };
    const auto condition = [](Builder& b) { return b.input("c", boolean, {}); };
    expect("COND_IF 'choose': input 0 of else_graph is i8, but the operator's is u8", [&](Builder& b) {
        b.cond_if({b.input("x", u8, {2})}, condition(b), passes(u8, {2}), passes(i8, {2}), "choose");
    });
    expect("COND_IF 'choose': output 0 of else_graph is u8, but the operator's is i8", [&](Builder& b) {
        const auto made = [&](Type type) {
            Builder r("made");
            r.input("x", u8, {2});
            r.output(r.constant("y", type, {2}, Bytes(2)));
            return r.finish_region();
        };
        b.cond_if({b.input("x", u8, {2})}, condition(b), made(i8), made(u8), "choose");
    });
    expect("input 0 of then_graph is i32 3, but the operator's is i32 2", [&](Builder& b) {
        b.cond_if({b.input("x", i32, {2})}, condition(b), passes(i32, {3}), passes(i32, {3}), "choose");
    });
    expect("needs one element", [&](Builder& b) {
        b.cond_if({b.input("x", i32, {2})}, b.input("c", boolean, {2}), passes(i32, {2}), passes(i32, {2}), "choose");
    });
    expect("WHILE_LOOP 'loop': input 0 of cond_graph is u8, but the operator's is i8",
           [&](Builder& b) { b.while_loop({b.input("x", i8, {2})}, answers(u8, {2}), passes(i8, {2}), "loop"); });
    expect("body_graph has 2 inputs, but the operator has 1",
           [&](Builder& b) { b.while_loop({b.input("x", i8, {2})}, answers(i8, {2}), passes(i8, {2}, 2), "loop"); });
    expect("must give bool of one element",
           [&](Builder& b) { b.while_loop({b.input("x", i8, {2})}, passes(i8, {2}), passes(i8, {2}), "loop"); });
    expect("input 7 does not exist", [&](Builder& b) { b.while_loop({7}, answers(i8, {2}), passes(i8, {2}), "loop"); });
    expect("Builder has a function for it",
           [&](Builder& b) { b.add1(Op::cond_if, {condition(b)}, i32, {}, "choose"); });
    expect("output 'y' needs a shape", [&](Builder& b) {
        const v0_30::Result result{"y", i32, {}};
        b.custom("d", "o", "", {}, std::span(&result, 1), "mine");
    });
}

}  // namespace
}  // namespace tosavk
