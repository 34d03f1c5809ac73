// What a damaged file may become: a sentence, or a graph that keeps every rule, is no larger than its file or its
// tensors explain and runs on the reference.
#pragma once

#include "frontends/frontend.hpp"
#include "ops/empty.hpp"
#include "ops/op.hpp"
#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace tosavk::test {

class DamagedFiles {
public:
    explicit DamagedFiles(std::string name, std::uint64_t runs = 200) : name_(std::move(name)), runs_left_(runs) {}

    /// Imports the file or expects a sentence; looks at what was imported. Of every eighth file, probe() says the same.
    void import_or_refuse(std::span<const std::byte> file) {
        Graph graph;
        const bool asks = seen_++ % 8 == 0;
        try {
            graph = import_model(file, name_, {});
        } catch (const Error& error) {
            EXPECT_STRNE(error.what(), "");
            EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
            EXPECT_FALSE(asks && is_taken(file)) << error.what();
            return;
        }
        ++imported_;
        EXPECT_TRUE(!asks || is_taken(file));
        EXPECT_NO_THROW(check_graph(graph, has_empty_ends(graph) ? with_empty(level_8k) : level_8k));
        EXPECT_LE(constant_bytes(graph), (std::size_t{1} << 20) + 64 * file.size() + 32 * most_elements(graph));
        if (runs_left_ > 0 && is_tiny(graph)) run(graph);
    }

    int imported() const { return imported_; }
    int ran() const { return ran_; }

private:
    bool is_taken(std::span<const std::byte> file) const {
        try {
            return probe_model(file, name_, {}).taken();
        } catch (const Error& error) {
            EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
            return false;
        }
    }

    static std::size_t constant_bytes(const Graph& graph) {
        std::size_t bytes = 0;
        for (const Value& value : graph.values) {
            if (!value.is_constant()) continue;
            EXPECT_EQ(value.data->size(), static_cast<std::size_t>(element_count(value.shape)) * size_of(value.type));
            bytes += value.data->size();
        }
        for (const Node& node : graph.nodes)
            for (const auto& region : node.regions) bytes += constant_bytes(*region);
        return bytes;
    }

    /// Of a tensor that is computed: places in it may be constants.
    static std::size_t most_elements(const Graph& graph) {
        std::int64_t most = 0;
        for (const Value& value : graph.values) {
            if (!value.is_constant()) most = std::max(most, element_count(value.shape));
        }
        return static_cast<std::size_t>(most);
    }

    /// Few elements, so that any product of them is quickly computed, and no loop, which damage may have made endless.
    static bool is_tiny(const Graph& graph) {
        std::int64_t elements = 0;
        for (const Value& value : graph.values) {
            elements += element_count(value.shape);
            if (elements > 3000) return false;
        }
        for (const Node& node : graph.nodes)
            if (!node.regions.empty() || node.op == Op::custom) return false;
        return true;
    }

    void run(const Graph& graph) {
        --runs_left_;
        std::vector<HostTensor> inputs;
        for (const ValueId id : graph.inputs)
            inputs.push_back(random_tensor(graph.value(id).type, graph.value(id).shape, inputs.size()));
        try {
            const std::vector<HostTensor> outputs = reference_run(graph, inputs);
            ASSERT_EQ(outputs.size(), graph.outputs.size());
            for (std::size_t k = 0; k < outputs.size(); ++k) {
                EXPECT_EQ(outputs[k].type, graph.value(graph.outputs[k]).type);
                EXPECT_EQ(outputs[k].shape, graph.value(graph.outputs[k]).shape);
            }
            ++ran_;
        } catch (const Error& error) {
            EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
        }
    }

    std::string name_;
    std::uint64_t runs_left_;
    int imported_ = 0, ran_ = 0;
    std::size_t seen_ = 0;
};

}  // namespace tosavk::test
