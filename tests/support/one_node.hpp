// Helpers of the operator tests: graphs of one node, run by the reference.
#pragma once

#include "ops/builder.hpp"
#include "ops/op.hpp"
#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace tosavk::testing {

inline HostTensor ints(DType type, Shape shape, const std::vector<std::int64_t>& values) {
    HostTensor t(type, std::move(shape));
    t.bytes = encode_ints(type, values);
    return t;
}

inline HostTensor floats(Shape shape, const std::vector<double>& values) {
    HostTensor t(DType::fp32, std::move(shape));
    t.bytes = encode_reals(DType::fp32, values);
    return t;
}

inline HostTensor filled(DType type, const Shape& shape, double value) {
    HostTensor t(type, shape);
    t.bytes = encode_reals(type, std::vector<double>(static_cast<std::size_t>(t.count()), value));
    return t;
}

inline HostTensor shape_values(const std::vector<std::int64_t>& values) {
    return ints(DType::shape, {static_cast<std::int64_t>(values.size())}, values);
}

inline HostTensor zero_point(DType type, double value = 0) { return filled(type, {1}, value); }

inline std::vector<std::int64_t> int_values(const HostTensor& t) { return decode_ints(t.type, t.bytes); }
inline std::vector<double> real_values(const HostTensor& t) { return decode_reals(t.type, t.bytes); }

/// A graph of one node. Operands that the operator wants constant are constants, the others graph inputs.
struct OneNode {
    Graph graph;
    std::vector<HostTensor> operands;

    OneNode(Op op, std::vector<HostTensor> tensors, DType output, Attributes attrs = {}, const Level& level = level_8k)
        : operands(std::move(tensors)) {
        GraphBuilder builder("one_node", level);
        const OpDef& def = op_def(op);
        std::vector<ValueId> ids;
        for (std::size_t k = 0; k < operands.size(); ++k) {
            const HostTensor& t = operands[k];
            const std::string name = "in" + std::to_string(k);
            const bool constant = def.inputs.size() > k && !def.inputs[0].list && def.inputs[k].ctc;
            ids.push_back(constant ? builder.constant(name, t.type, t.shape, t.bytes)
                                   : builder.input(name, t.type, t.shape));
        }
        builder.output(builder.add1(op, ids, output, std::move(attrs), "node"));
        graph = builder.finish();
    }

    NodeView view() const { return NodeView(graph, 0); }
    std::vector<const HostTensor*> pointers() const {
        std::vector<const HostTensor*> p;
        for (const HostTensor& t : operands) p.push_back(&t);
        return p;
    }
    HostTensor run() const { return reference_node(view(), pointers()).at(0); }
    CheckResult check(const HostTensor& actual) const { return check_node_result(view(), pointers(), 0, actual); }
};

inline HostTensor run_op(Op op, std::vector<HostTensor> operands, DType output, Attributes attrs = {}) {
    return OneNode(op, std::move(operands), output, std::move(attrs)).run();
}

/// The message with which a node is rejected as bad_model; empty when it is accepted.
inline std::string rejection(Op op, std::vector<HostTensor> operands, DType output, Attributes attrs = {},
                             const Level& level = level_8k) {
    try {
        OneNode node(op, std::move(operands), output, std::move(attrs), level);
        return {};
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::bad_model) << e.what();
        return e.what();
    }
}

#define EXPECT_REJECTED(message, word) \
    EXPECT_NE((message).find(word), std::string::npos) << "message: '" << (message) << "'"

/// A small generator for shapes and choices in tests.
struct Dice {
    std::uint64_t state;
    explicit Dice(std::uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 1) {}
    std::int64_t roll(std::int64_t low, std::int64_t high) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return low + static_cast<std::int64_t>((state >> 11) % static_cast<std::uint64_t>(high - low + 1));
    }
};

}  // namespace tosavk::testing
