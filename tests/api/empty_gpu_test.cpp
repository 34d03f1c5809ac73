// Tensors of every rank, and tensors without elements, through every door of the C ABI: set and got, converted, in
// buffers, recorded, packed.
#include "support/driver.hpp"
#include "support/own_vulkan.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using Bytes = std::vector<std::byte>;
using test::OwnVulkan;

class EmptyGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        device_.emplace();
    }
    std::optional<cpp::Device> device_;
};
using RanksGpu = EmptyGpu;

template <class F> std::string error_of(tosavk_status wanted, F call) {
    try {
        call();
    } catch (const cpp::Error& e) {
        EXPECT_EQ(e.status(), wanted) << e.what();
        return e.what();
    }
    ADD_FAILURE() << "no error";
    return {};
}
#define EXPECT_HAS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

std::vector<Bytes> random_inputs(const cpp::Graph& graph) {
    std::vector<Bytes> inputs;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) inputs.push_back(graph.random_input(k, 7));
    return inputs;
}

std::vector<Bytes> outputs_of(cpp::Context& context, const cpp::Graph& graph) {
    std::vector<Bytes> outputs;
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) {
        outputs.emplace_back(graph.output(k).size_bytes);
        context.get_output(k, outputs.back());
    }
    return outputs;
}

std::vector<Bytes> run(const cpp::Executable& executable, const cpp::Graph& graph, const std::vector<Bytes>& inputs) {
    cpp::Context context(executable);
    for (std::uint32_t k = 0; k < inputs.size(); ++k) context.set_input(k, inputs[k]);
    context.run();
    return outputs_of(context, graph);
}

/// All inputs and outputs in buffers, each `shift` bytes into its own.
std::vector<Bytes> run_bound(const cpp::Device& device, const cpp::Executable& executable, const cpp::Graph& graph,
                             const std::vector<Bytes>& inputs, std::uint64_t shift) {
    cpp::Context context(executable);
    std::vector<cpp::Buffer> in, out;
    for (std::uint32_t k = 0; k < inputs.size(); ++k) {
        in.push_back(cpp::Buffer(device, shift + inputs[k].size()).slice(shift, inputs[k].size()));
        in.back().upload(inputs[k]);
        context.bind_input(k, in.back());
    }
    std::vector<Bytes> outputs;
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) {
        const std::size_t size = graph.output(k).size_bytes;
        out.push_back(cpp::Buffer(device, shift + size).slice(shift, size));
        context.bind_output(k, out.back());
    }
    context.run();
    for (const cpp::Buffer& buffer : out) {
        outputs.emplace_back(buffer.info().size_bytes);
        buffer.download(outputs.back());
    }
    EXPECT_EQ(outputs_of(context, graph), outputs);
    return outputs;
}

// ---- ranks ----------------------------------------------------------------------------------------------------------

cpp::Shape shape_of(std::size_t rank) {
    const std::int64_t dims[] = {2, 3, 1, 2, 5, 1, 2, 3};
    return cpp::Shape(std::begin(dims), std::begin(dims) + rank);
}

/// Elementwise with a broadcast operand, RESHAPE to one dimension and to the highest rank, and where there is an axis
/// what reduces, moves and repeats along the first, the middle and the last one.
cpp::Graph ranks_graph(std::size_t rank, tosavk_level level) {
    cpp::Builder b("ranks", level);
    const cpp::Shape shape = shape_of(rank), ones(rank, 1);
    const auto x = b.input("x", {TOSAVK_FP32, shape}), y = b.input("y", {TOSAVK_FP32, ones});
    const auto sum = b.node1("ADD", {x, y});
    b.output(sum);
    b.output(b.node1("GREATER", {x, y}));
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    const std::int64_t flat[] = {count};
    const auto line = b.node1("RESHAPE", {sum, b.shape(flat)});
    b.output(line);
    cpp::Shape most(level == TOSAVK_LEVEL_8K ? 6 : 8, 1);
    most[1] = count;
    b.output(b.node1("ABS", {b.node1("RESHAPE", {line, b.shape(most)})}));
    if (rank == 0) return b.finish();
    std::vector<std::int64_t> perms(rank), padding(2 * rank, 1);
    std::iota(perms.rbegin(), perms.rend(), 0);
    for (const std::size_t axis : std::set<std::size_t>{0, rank / 2, rank - 1}) {
        b.output(b.node1("REDUCE_SUM", {sum}, {{"axis", axis}}));
        b.output(b.node1("REDUCE_MAX", {sum}, {{"axis", axis}}));
        b.output(b.node1("REVERSE", {sum}, {{"axis", axis}}));
        b.output(b.node1("CONCAT", {sum, x}, {{"axis", axis}}));
        b.output(b.node1("ARGMAX", {sum}, {{"axis", axis}}));
    }
    b.output(b.node1("TRANSPOSE", {sum}, {{"perms", perms}}));
    std::vector<std::int64_t> start(rank, 0), size = shape, multiples(rank, 1);
    start[0] = 1;
    size[0] -= 1;
    multiples.back() = 2;
    multiples[0] = 2;
    b.output(b.node1("SLICE", {sum, b.shape(start), b.shape(size)}));
    b.output(b.node1("TILE", {sum, b.shape(multiples)}));
    b.output(b.node1("SELECT", {b.node1("GREATER", {y, x}), x, y}));
    b.output(b.node1("CAST", {sum}, {}, {{TOSAVK_FP16, {}}}));
    const float three = 3;
    const auto value = b.constant("", {TOSAVK_FP32, {1}}, std::as_bytes(std::span(&three, 1)));
    b.output(b.node1("PAD", {sum, b.shape(padding), value}));
    return b.finish();
}

TEST_F(RanksGpu, EveryRank) {
    for (const tosavk_level level : {TOSAVK_LEVEL_8K, TOSAVK_LEVEL_NONE}) {
        for (std::size_t rank = 0; rank <= 8; ++rank) {
            SCOPED_TRACE(testing::Message() << "rank " << rank << ", level " << level);
            if (level == TOSAVK_LEVEL_8K && rank > 6) {
                EXPECT_HAS(error_of(TOSAVK_ERROR_BAD_MODEL, [&] { ranks_graph(rank, level); }), "8K");
                continue;
            }
            const cpp::Graph graph = ranks_graph(rank, level);
            EXPECT_EQ(graph.input(0).rank, rank);
            const auto inputs = random_inputs(graph);
            const auto wanted = graph.reference_run(inputs);
            const cpp::Executable executable(*device_, graph);
            const auto got = run(executable, graph, inputs);
            ASSERT_EQ(got.size(), wanted.size());
            EXPECT_EQ(got, run(cpp::Executable(*device_, graph, false), graph, inputs));
            EXPECT_EQ(run_bound(*device_, executable, graph, inputs, 0), got);
            EXPECT_EQ(run_bound(*device_, executable, graph, inputs, 4), got) << "copied, since unaligned";
            const cpp::CheckReport report = cpp::Checker(*device_, graph).run(3);
            EXPECT_TRUE(report.passed) << report.detail;

            cpp::LoadOptions options;
            options.level = level;
            const cpp::Graph packed = cpp::Graph::load(cpp::save_package(*device_, graph), options);
            EXPECT_EQ(run(cpp::Executable(*device_, packed), packed, inputs), got);
            EXPECT_EQ(cpp::Graph::load(graph.save(), options).reference_run(inputs), wanted);

            // The first input from doubles and the first output to doubles.
            cpp::Context context(executable);
            const std::size_t count = inputs[0].size() / sizeof(float);
            std::vector<double> wide(count), back(count);
            for (std::size_t k = 0; k < count; ++k) {
                float element = 0;
                std::memcpy(&element, &inputs[0][k * sizeof element], sizeof element);
                wide[k] = static_cast<double>(element);
            }
            context.set_input_as(0, TOSAVK_HOST_F64, std::as_bytes(std::span(wide)));
            context.set_input(1, inputs[1]);
            context.run();
            context.get_output_as(0, TOSAVK_HOST_F64, std::as_writable_bytes(std::span(back)));
            for (std::size_t k = 0; k < count; ++k) {
                float element = 0;
                std::memcpy(&element, &got[0][k * sizeof element], sizeof element);
                EXPECT_EQ(back[k], static_cast<double>(element));
            }
        }
    }
}

// ---- no elements ----------------------------------------------------------------------------------------------------

/// Inputs and outputs without elements among others: y = |x|, and sums, products and copies of nothing.
cpp::Graph mixed_graph() {
    cpp::Builder b("mixed");
    const auto none = b.input("none", {TOSAVK_FP32, {2, 0}}), x = b.input("x", {TOSAVK_FP32, {2, 3}});
    const auto bytes = b.input("bytes", {TOSAVK_I8, {0}});
    b.output(b.node1("EXP", {none}));
    b.output(b.node1("ABS", {x}));
    b.output(none);
    b.output(b.node1("REDUCE_SUM", {none}, {{"axis", 1}}));
    b.output(b.node1("CONCAT",
                     {none, b.node1("NEGATE", {x, b.constant("", {TOSAVK_FP32, {1}}, Bytes(4)),
                                               b.constant("", {TOSAVK_FP32, {1}}, Bytes(4))})},
                     {{"axis", 1}}));
    b.output(b.constant("empty", {TOSAVK_I32, {3, 0, 2}}, {}));
    b.output(b.node1("CAST", {bytes}, {}, {{TOSAVK_I32, {}}}));
    return b.finish();
}

TEST_F(EmptyGpu, SetBoundAndPacked) {
    const cpp::Graph graph = mixed_graph();
    EXPECT_EQ(graph.input(0).size_bytes, 0u);
    EXPECT_EQ(graph.input(0).dims[1], 0);
    EXPECT_EQ(graph.output(5).rank, 3u);
    EXPECT_EQ(graph.output(5).dims[1], 0);
    const auto inputs = random_inputs(graph);
    const auto wanted = graph.reference_run(inputs);
    EXPECT_EQ(wanted[3], Bytes(8)) << "sums of nothing";
    EXPECT_EQ(wanted[4].size(), 24u);
    for (const bool fuse : {true, false}) {
        const cpp::Executable executable(*device_, graph, fuse);
        EXPECT_EQ(run(executable, graph, inputs), wanted);
        EXPECT_EQ(run_bound(*device_, executable, graph, inputs, 0), wanted);
        EXPECT_EQ(run_bound(*device_, executable, graph, inputs, 4), wanted);
        for (const std::uint32_t k : {0u, 2u}) {
            const tosavk_binding_info info = executable.input_binding(k);
            EXPECT_EQ(info.size_bytes, 0u);
            EXPECT_EQ(info.padded_bytes, 0u);
            EXPECT_EQ(info.direct, 1);
        }
        EXPECT_EQ(executable.output_binding(0).size_bytes, 0u);
    }
    EXPECT_EQ(run(cpp::Executable(*device_, graph, true, true), graph, inputs), wanted) << "all values kept";
    const cpp::CheckReport report = cpp::Checker(*device_, graph).run(3);
    EXPECT_TRUE(report.passed) << report.detail;

    const cpp::Graph packed = cpp::Graph::load(cpp::save_package(*device_, graph));
    EXPECT_EQ(packed.input(0).dims[1], 0);
    const cpp::Executable executable(*device_, packed);
    cpp::Context context(executable);
    EXPECT_EQ(context.counters().package, 1u);
    EXPECT_EQ(run(executable, packed, inputs), wanted);
    EXPECT_HAS(error_of(TOSAVK_ERROR_UNSUPPORTED, [&] { graph.save(); }), "has no elements");
}

TEST_F(EmptyGpu, NobodyNeedsToSetThem) {
    const cpp::Graph graph = mixed_graph();
    const auto inputs = random_inputs(graph);
    const auto wanted = graph.reference_run(inputs);
    const cpp::Executable executable(*device_, graph);
    cpp::Context context(executable);
    error_of(TOSAVK_ERROR_USAGE, [&] { context.run(); });
    context.set_input(1, inputs[1]);
    context.run();
    EXPECT_EQ(outputs_of(context, graph), wanted);
    // Set, converted, with and without a pointer, bound and not any more.
    context.set_input(0, {});
    context.set_input_as(0, TOSAVK_HOST_F64, {});
    context.set_input_as(2, TOSAVK_HOST_I64, {});
    const std::byte some[4]{};
    context.set_input(0, std::span(some).first(0));
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { context.set_input(0, some); });
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { context.set_input_as(0, TOSAVK_HOST_U8, some); });
    EXPECT_EQ(tosavk_context_set_input(context.get(), 1, nullptr, 24, nullptr), TOSAVK_ERROR_USAGE);
    const cpp::Buffer none(*device_, 0), part = cpp::Buffer(*device_, 8).slice(8, 0);
    EXPECT_EQ(none.info().size_bytes, 0u);
    context.bind_input(0, none);
    context.bind_input(2, part);
    context.bind_output(0, none);
    context.bind_output(2, none);
    context.run();
    EXPECT_EQ(outputs_of(context, graph), wanted);
    context.unbind_input(0);
    context.unbind_output(0);
    context.run();
    EXPECT_EQ(outputs_of(context, graph), wanted);
    context.get_output_as(0, TOSAVK_HOST_F64, {});
    context.get_output_as(6, TOSAVK_HOST_U8, {});
    EXPECT_EQ(tosavk_context_get_output(context.get(), 0, nullptr, 0, nullptr), TOSAVK_OK);
    std::byte more[4]{};
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { context.get_output(0, more); });
    EXPECT_HAS(error_of(TOSAVK_ERROR_BAD_INPUT, [&] { context.bind_input(1, none); }), "its buffer 0");
}

TEST_F(EmptyGpu, BuffersOfNoBytes) {
    for (const auto kind : {TOSAVK_MEMORY_DEVICE, TOSAVK_MEMORY_SHARED, TOSAVK_MEMORY_HOST}) {
        cpp::Buffer none(*device_, 0, kind), some(*device_, 16, kind);
        EXPECT_EQ(none.info().size_bytes, 0u);
        none.upload({});
        none.download({});
        none.fill(1, 0, 0);
        none.copy_from(some, 16, 0, 0);
        some.copy_from(none, 0, 3, 0);
        EXPECT_EQ(none.slice(0, 0).info().size_bytes, 0u);
        const std::byte one[1]{};
        error_of(TOSAVK_ERROR_BAD_INPUT, [&] { none.upload(one); });
        error_of(TOSAVK_ERROR_BAD_INPUT, [&] { none.slice(0, 1); });
        if (none.info().mapped) {
            EXPECT_EQ(none.map().size(), 0u);
            none.unmap();
        }
    }
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::Buffer::import_host(*device_, {reinterpret_cast<std::byte*>(4096), 0}); });
}

TEST_F(EmptyGpu, NothingElse) {
    // A graph that moves no byte at all.
    cpp::Builder b("nothing");
    const auto x = b.input("x", {TOSAVK_FP16, {0}});
    b.output(b.node1("ABS", {x}));
    b.output(x);
    const cpp::Graph graph = b.finish();
    EXPECT_EQ(graph.node_count(), 0u);
    const cpp::Executable executable(*device_, graph);
    for (int turn = 0; turn < 2; ++turn) EXPECT_EQ(run(executable, graph, {{}}), (std::vector<Bytes>(2)));
    EXPECT_EQ(run_bound(*device_, executable, graph, {{}}, 0), (std::vector<Bytes>(2)));
    const cpp::Graph packed = cpp::Graph::load(cpp::save_package(*device_, graph));
    EXPECT_EQ(run(cpp::Executable(*device_, packed), packed, {{}}), (std::vector<Bytes>(2)));
    EXPECT_TRUE(cpp::Checker(*device_, graph).run(1).passed);
}

TEST_F(EmptyGpu, ThroughLoopsAndInFp16) {
    cpp::Builder b("loop", TOSAVK_LEVEL_8K, TOSAVK_PRECISION_FP16);
    const cpp::TensorType count{TOSAVK_I32, {1}}, none{TOSAVK_FP32, {0, 4}}, some{TOSAVK_FP32, {4}};
    const std::int32_t three[] = {3}, one[] = {1};
    const std::uint32_t list[] = {b.input("i", count), b.input("none", none), b.input("x", some)};
    cpp::Builder condition = b.region("condition"), body = b.region("body");
    const auto ci = condition.input("i", count);
    condition.input("none", none);
    condition.input("x", some);
    condition.output(condition.node1("GREATER", {condition.constant("", count, std::as_bytes(std::span(three))), ci}));
    const auto i = body.input("i", count), n = body.input("none", none), x = body.input("x", some);
    body.output(body.node1("ADD", {i, body.constant("", count, std::as_bytes(std::span(one)))}));
    body.output(body.node1("EXP", {n}));
    body.output(body.node1("ADD", {x, body.node1("RESHAPE", {body.node1("REDUCE_SUM", {n}, {{"axis", 0}}),
                                                             body.shape(std::vector<std::int64_t>{4})})}));
    const cpp::Builder* const regions[] = {&condition, &body};
    for (const auto value : b.node("WHILE_LOOP", list, {}, {}, "loop", regions)) b.output(value);
    const cpp::Graph graph = b.finish();
    auto inputs = random_inputs(graph);
    inputs[0] = Bytes(4);
    const auto wanted = graph.reference_run(inputs);
    EXPECT_EQ(wanted[1], Bytes());
    EXPECT_EQ(wanted[2], inputs[2]);
    const cpp::Executable executable(*device_, graph);
    EXPECT_EQ(run(executable, graph, inputs), wanted);
    EXPECT_EQ(run_bound(*device_, executable, graph, inputs, 0), wanted);
}

TEST_F(EmptyGpu, RecordedRuns) {
    OwnVulkan own;
    {
        const cpp::Device device = cpp::adopt_device(own.lent());
        const cpp::Graph graph = mixed_graph();
        const auto inputs = random_inputs(graph);
        const auto wanted = graph.reference_run(inputs);
        const cpp::Executable executable(device, graph);
        std::vector<OwnVulkan::Memory> memories;
        std::vector<std::vector<std::int64_t>> strides;
        strides.reserve(16);  // ranges point there
        for (const bool strided : {false, true}) {
            std::vector<tosavk_vulkan_range> in, out;
            const auto place = [&](const tosavk_tensor_info& info) {
                if (info.size_bytes == 0 && !strided) return cpp::detail::sized<tosavk_vulkan_range>();
                memories.emplace_back(own, std::max<std::size_t>(4, 2 * info.size_bytes));
                tosavk_vulkan_range range = memories.back().range();
                if (strided) {  // every other element
                    auto& list = strides.emplace_back(info.rank, 2 * std::int64_t(tosavk_type_size(info.type)));
                    for (std::size_t d = info.rank; d-- > 1;) list[d - 1] = list[d] * info.dims[d];
                    range.strides = list.data();
                }
                return range;
            };
            const std::size_t first = memories.size();
            for (std::uint32_t k = 0; k < graph.input_count(); ++k) in.push_back(place(graph.input(k)));
            for (std::uint32_t k = 0; k < graph.output_count(); ++k) out.push_back(place(graph.output(k)));
            for (std::size_t k = 0; k < inputs[1].size(); ++k) {
                const std::size_t at = strided ? k / 4 * 8 + k % 4 : k;
                memories[first + (strided ? 1 : 0)].bytes[at] = inputs[1][k];
            }
            const std::uint64_t bytes = cpp::vulkan_memory(executable).arena_bytes_with_copies;
            std::optional<OwnVulkan::Memory> arena;
            if (bytes > 0) arena.emplace(own, bytes);
            cpp::BindingSet set(executable);
            set.write(in, out, arena ? arena->range() : tosavk_vulkan_range{});
            const tosavk_vulkan_access access = set.access();
            own.run([&](VkCommandBuffer commands) {
                own.barrier(commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_WRITE_BIT, access.first_stages,
                            access.first_access);
                set.record(commands);
            });
            std::size_t m = first + (strided ? 3 : 1);
            for (std::uint32_t k = 0; k < wanted.size(); ++k) {
                if (wanted[k].empty() && !strided) continue;
                Bytes got(wanted[k].size());
                for (std::size_t i = 0; i < got.size(); ++i)
                    got[i] = memories[m].bytes[strided ? i / 4 * 8 + i % 4 : i];
                EXPECT_EQ(got, wanted[k]) << "output " << k << ", strided " << strided;
                ++m;
            }
        }
    }
    EXPECT_EQ(own.messages, 0);
}

/// Every other element, of a tensor of any rank.
TEST_F(RanksGpu, StridesOfEveryRank) {
    OwnVulkan own;
    {
        const cpp::Device device = cpp::adopt_device(own.lent());
        for (std::size_t rank = 0; rank <= 8; ++rank) {
            SCOPED_TRACE(rank);
            cpp::Builder b("strides", TOSAVK_LEVEL_NONE);
            const cpp::Shape shape = shape_of(rank);
            b.output(b.node1("NEGATE", {b.input("x", {TOSAVK_I32, shape}), b.constant("", {TOSAVK_I32, {1}}, Bytes(4)),
                                        b.constant("", {TOSAVK_I32, {1}}, Bytes(4))}));
            const cpp::Graph graph = b.finish();
            const auto inputs = random_inputs(graph);
            const auto wanted = graph.reference_run(inputs);
            const cpp::Executable executable(device, graph);
            std::vector<std::int64_t> strides(rank, 8);
            for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * shape[d];
            OwnVulkan::Memory x(own, 2 * inputs[0].size()), y(own, 2 * inputs[0].size());
            const std::uint64_t bytes = cpp::vulkan_memory(executable).arena_bytes_with_copies;
            std::optional<OwnVulkan::Memory> arena;
            if (bytes > 0) arena.emplace(own, bytes);
            tosavk_vulkan_range in = x.range(), out = y.range();
            in.strides = out.strides = strides.data();
            for (std::size_t k = 0; k < inputs[0].size(); ++k) x.bytes[k / 4 * 8 + k % 4] = inputs[0][k];
            cpp::BindingSet set(executable);
            set.write(std::span(&in, 1), std::span(&out, 1), arena ? arena->range() : tosavk_vulkan_range{});
            const tosavk_vulkan_access access = set.access();
            own.run([&](VkCommandBuffer commands) {
                own.barrier(commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_WRITE_BIT, access.first_stages,
                            access.first_access);
                set.record(commands);
            });
            Bytes got(wanted[0].size());
            for (std::size_t k = 0; k < got.size(); ++k) got[k] = y.bytes[k / 4 * 8 + k % 4];
            EXPECT_EQ(got, wanted[0]);
        }
    }
    EXPECT_EQ(own.messages, 0);
}

}  // namespace
