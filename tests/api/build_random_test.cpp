// Random calls of the builder.
#include "api/handles.hpp"
#include "ops/op.hpp"
#include "support/builder_calls.hpp"
#include "support/environment.hpp"

#include <random>

using namespace tosavk;
using namespace tosavk::test;

namespace {

/// Has values that take long to be made constant.
bool is_large(const tosavk_builder* builder, const std::vector<std::uint32_t>& values) {
    return std::any_of(values.begin(), values.end(), [&](std::uint32_t value) {
        tosavk_tensor_info info{};
        info.struct_size = sizeof info;
        return tosavk_builder_value(builder, value, &info, nullptr) == TOSAVK_OK && info.size_bytes > (1 << 24);
    });
}

// No call may crash, whatever it is given; one that fails has a sentence.
TEST(Build, RandomCalls) {
    const auto seed = static_cast<unsigned>(test::number_from_environment("TOSAVK_TEST_SEED", 20261124));
    SCOPED_TRACE("TOSAVK_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    std::size_t taken = 0, refused = 0, finished = 0;
    for (int round = 0; round < 150; ++round) {
        const BuilderHandle builder = make_builder();
        std::vector<std::uint32_t> values;
        for (int k = 0; k < 6; ++k) {
            Shape shape(below(6));
            for (std::int64_t& d : shape) d = below(9) ? 1 + below(5) : 0;
            const tosavk_tensor_desc desc = desc_of(static_cast<DType>(below(11)), shape);
            std::uint32_t value = 0;
            succeed([&](tosavk_error** e) { return tosavk_builder_input(builder.get(), nullptr, &desc, &value, e); });
            values.push_back(value);
        }
        for (int k = 0; k < 3; ++k) {
            std::vector<std::int64_t> numbers(below(9));
            for (std::int64_t& n : numbers) n = static_cast<std::int64_t>(below(8)) - 2;
            std::uint32_t value = 0;
            succeed([&](tosavk_error** e) {
                return tosavk_builder_shape(builder.get(), "", numbers.data(), numbers.size(), &value, e);
            });
            values.push_back(value);
        }
        for (const OpDef& def : registry()) {
            AttributeList attributes;
            for (const char* name : def.attributes) {
                switch (below(5)) {
                    case 0: break;
                    case 1: attributes.text(name, below(2) ? "i32" : "SET"); break;
                    case 2: attributes.real(name, below(2) ? 1e300 : -0.5); break;
                    default: {
                        constexpr std::int64_t extreme[] = {0, 1, 2, 3, -1, 1 << 30, INT32_MAX, INT32_MIN, INT64_MAX};
                        std::vector<std::int64_t> numbers(below(3) ? 1 + below(2) : below(8));
                        for (std::int64_t& n : numbers) n = extreme[below(below(4) ? 4 : 9)];
                        attributes.integers(name, std::move(numbers));
                    }
                }
            }
            std::vector<std::uint32_t> inputs(below(3) ? def.inputs.size() : below(6));
            for (std::uint32_t& value : inputs) value = values[below(static_cast<unsigned>(values.size()))];
            std::vector<tosavk_tensor_desc> outputs;
            if (below(2)) {
                for (std::size_t k = 0; k < def.outputs.size(); ++k)
                    outputs.push_back(desc_of(static_cast<DType>(below(11)), {}));
            }
            tosavk_node_desc desc{};
            desc.struct_size = sizeof desc;
            desc.op = def.name;
            desc.inputs = inputs.data();
            desc.input_count = inputs.size();
            desc.attributes = attributes.list().data();
            desc.attribute_count = attributes.list().size();
            desc.outputs = outputs.empty() ? nullptr : outputs.data();
            desc.output_count = outputs.size();
            tosavk_error* error = nullptr;
            std::uint32_t made = 0;
            std::size_t count = 0;
            const tosavk_status status = tosavk_builder_node(builder.get(), &desc, &made, 1, &count, &error);
            if (status == TOSAVK_OK) {
                ++taken;
                if (count > 0) values.push_back(made);
            } else {
                ++refused;
                EXPECT_GT(std::string(tosavk_error_message(error)).size(), 10u);
                EXPECT_NE(status, TOSAVK_ERROR_INTERNAL) << tosavk_error_message(error);
                tosavk_error_release(error);
            }
        }
        // What of it is a graph holds together, without operators on tensors that have no elements.
        std::size_t outputs = 0;
        for (const std::uint32_t value : values) {
            if (tosavk_builder_output(builder.get(), value, nullptr) == TOSAVK_OK) ++outputs;
        }
        tosavk_graph* made = nullptr;
        if (outputs == 0 || is_large(builder.get(), values)) continue;
        succeed([&](tosavk_error** e) { return tosavk_builder_finish(builder.get(), &made, e); });
        const GraphHandle graph(made);
        ++finished;
        check_graph(*graph->graph, with_empty(level_8k));
        for (const Node& node : graph->graph->nodes) {
            for (const ValueId id : node.inputs) {
                const Value& value = graph->graph->value(id);
                EXPECT_TRUE(value.type == DType::shape || !has_no_elements(value.shape)) << name_of(node.op);
            }
        }
    }
    EXPECT_GT(finished, 50u);
    EXPECT_GT(taken, 100u);
    EXPECT_GT(refused, 1000u);
}

}  // namespace
