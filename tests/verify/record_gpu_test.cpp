// The sweep through recorded runs on a lent device: random graphs of every operator and type row, whose nodes the
// checker judges there, and which then run in the application's command buffer, with the same bits. Tensors lie at
// every alignment that the device allows, between guard bytes; what lies in the arena before is not a number.
// TOSAVK_TEST_CASES sets the number of graphs per row, TOSAVK_TEST_SEED the first one's seed.
#include "support/own_vulkan.hpp"

#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "reference/reference.hpp"
#include "support/environment.hpp"
#include "support/gpu_test.hpp"
#include "support/same_bits.hpp"
#include "verify/checker.hpp"
#include "verify/judge.hpp"
#include "vk/record/host_bindings.hpp"
#include "vk/run/context.hpp"

#include <cstring>
#include <iostream>
#include <optional>

namespace tosavk {
namespace {

using Memory = test::OwnVulkan::Memory;

class Recorded : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        try {
            if (Instance::get()->physical_devices().empty()) return;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::no_device) throw;
            return;
        }
        own_ = std::make_unique<test::OwnVulkan>();
        tosavk_vulkan_device lent = own_->lent();
        AdoptedDevice adopted;
        adopted.instance = lent.instance;
        adopted.physical_device = lent.physical_device;
        adopted.device = lent.device;
        adopted.get_instance_proc_addr = lent.get_instance_proc_addr;
        adopted.get_device_proc_addr = lent.get_device_proc_addr;
        adopted.api_version = lent.api_version;
        adopted.made_with = lent.create_info;
        adopted.queue_family = lent.queue_family;
        adopted.queue = lent.queue;
        adopted.queue_user = lent.user;
        adopted.lock_queue = lent.lock_queue;
        adopted.unlock_queue = lent.unlock_queue;
        device_ = adopt_device(adopted, {});
    }
    static void TearDownTestSuite() {
        device_.reset();
        EXPECT_EQ(own_ ? own_->messages.load() : 0, 0);
        own_.reset();
    }
    void SetUp() override {
        if (!device_) TOSAVK_MISSING("driver", "there is no Vulkan driver");
    }
    /// By a sentence, as what is beyond a driver's limits is: a long queue of soft suppression is one.
    static bool is_refused(const Graph& graph) {
        try {
            make_plan(graph, device_->plan(), {});
            return false;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::unsupported) throw;
            return true;
        }
    }

    inline static std::unique_ptr<test::OwnVulkan> own_;
    inline static std::shared_ptr<Device> device_;
};

constexpr std::uint64_t guard = 256;
constexpr std::byte guard_byte{0xa5};

struct Placed {
    Memory memory;
    std::uint64_t offset, size;

    BufferRange range() const { return {number_of(memory.buffer), offset, size}; }
    std::span<std::byte> tensor() const { return memory.bytes.subspan(offset, size); }
    bool is_guarded() const {
        for (std::uint64_t b = 0; b < memory.bytes.size(); ++b) {
            if ((b < offset || b >= offset + size) && memory.bytes[b] != guard_byte) return false;
        }
        return true;
    }
};

Placed place(test::OwnVulkan& own, const Value& value, std::uint64_t shift) {
    const auto size = static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
    return {Memory(own, guard + shift + size + guard, guard_byte), guard + shift, size};
}

/// One run of the executable in the application's command buffer; `shift(k)` for tensor number k.
std::vector<HostTensor> record_once(test::OwnVulkan& own, const std::shared_ptr<Executable>& executable,
                                    const std::vector<HostTensor>& inputs,
                                    const std::function<std::uint64_t(std::size_t)>& shift,
                                    std::uint64_t arena_offset = 0) {
    const Graph& graph = executable->graph();
    std::vector<Placed> in, out;
    HostTensors tensors;
    for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
        in.push_back(place(own, graph.value(graph.inputs[k]), shift(k)));
        std::memcpy(in.back().tensor().data(), inputs[k].bytes.data(), inputs[k].bytes.size());
        tensors.inputs.push_back(in.back().range());
    }
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
        out.push_back(place(own, graph.value(graph.outputs[k]), shift(in.size() + k)));
        tensors.outputs.push_back(out.back().range());
    }
    const std::uint64_t bytes = host_memory_needs(executable->state()).with_copies;
    const Memory arena(own, arena_offset + std::max<std::uint64_t>(bytes, 16), std::byte{0xff});
    tensors.arena = {number_of(arena.buffer), arena_offset, bytes};
    HostBindings bindings(executable);
    bindings.write(tensors);
    own.run([&](VkCommandBuffer commands) { bindings.record(commands); });
    std::vector<HostTensor> results;
    for (std::size_t k = 0; k < in.size(); ++k) {
        EXPECT_TRUE(in[k].is_guarded()) << "around input " << k;
        EXPECT_EQ(std::memcmp(in[k].tensor().data(), inputs[k].bytes.data(), inputs[k].bytes.size()), 0)
            << "input " << k << " was written";
    }
    for (std::size_t k = 0; k < out.size(); ++k) {
        EXPECT_TRUE(out[k].is_guarded()) << "around output " << k;
        const Value& value = graph.value(graph.outputs[k]);
        std::memcpy(results.emplace_back(value.type, value.shape).bytes.data(), out[k].tensor().data(), out[k].size);
    }
    return results;
}

TEST_F(Recorded, TheSweepHasTheBitsOfContexts) {
    const std::uint64_t cases = test::number_from_environment("TOSAVK_TEST_CASES", 1),
                        first = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    std::cout << "seed " << first << "\n";
    const DeviceCaps& caps = device_->caps();
    const std::uint64_t step =
        std::max<std::uint64_t>({4, caps.min_storage_buffer_offset_alignment, caps.min_texel_buffer_offset_alignment});
    const auto judge = conformance::judge_on(device_);
    std::size_t number = 0, graphs = 0, refused = 0;
    for (const conformance::SweepRow& row : conformance::registry_rows()) {
        if (!test::in_this_part(number++)) continue;
        for (std::uint64_t seed = first; seed < first + cases; ++seed) {
            SCOPED_TRACE(row.op + " " + row.types_text() + " seed " + std::to_string(seed));
            const conformance::RandomCase made = conformance::make_case(row, seed);
            const auto graph = std::make_shared<const Graph>(made.graph);
            if (is_refused(*graph)) {
                ++refused;
                continue;
            }
            for (const bool fuse : {true, false}) {
                PlanOptions options;
                options.fuse = fuse;
                Plan plan = make_plan(*graph, device_->plan(), options);
                if (!is_recordable(plan)) break;  // needs the host in the middle, or memory that callers do not lend
                const auto executable = Executable::create(device_, graph, std::move(plan));
                Context context(executable, false);
                for (std::size_t k = 0; k < made.inputs.size(); ++k) context.set_input(k, made.inputs[k].bytes);
                context.submit();
                context.wait();
                for (const bool aligned : {true, false}) {
                    const auto shift = [&](std::size_t k) {
                        const std::uint64_t at =
                            (seed * 7 + number * 5 + k * 3) % std::max<std::uint64_t>(512 / step, 1);
                        return at * step + (aligned ? 0 : 1 + (number + k) % (step - 1));
                    };
                    const std::vector<HostTensor> got = record_once(*own_, executable, made.inputs, shift);
                    for (std::size_t k = 0; k < got.size(); ++k) {
                        HostTensor wanted(got[k].type, got[k].shape);
                        context.get_output(k, wanted.bytes);
                        EXPECT_TRUE(test::same_bits(got[k], wanted)) << "output " << k << ", fuse " << fuse;
                    }
                }
            }
            const conformance::CaseReport report = judge(made);
            EXPECT_TRUE(report.passed) << report.detail;
            ++graphs;
        }
    }
    std::cout << graphs << " graphs, " << refused << " refused\n";
    EXPECT_LE(100 * refused, graphs);
}

/// Tensors may lie anywhere; the arena must be aligned.
TEST_F(Recorded, EveryAlignment) {
    const DeviceCaps& caps = device_->caps();
    const std::uint64_t period =
        std::max<std::uint64_t>({16, caps.min_storage_buffer_offset_alignment, caps.min_texel_buffer_offset_alignment});
    std::size_t number = 0;
    for (const char* line : {"clamp i8 3x7", "add f32 2x5", "maximum i32 9", "transpose f16 5x6x2 2,0,1",
                             "conv2d i8 1x4x4x3 5x3x3 s1 p1 rescale clamp", "softmax f32 3x11"}) {
        if (!test::in_this_part(number++)) continue;
        SCOPED_TRACE(line);
        const auto graph = std::make_shared<const Graph>(load_problem(line));
        std::vector<HostTensor> inputs;
        for (std::size_t k = 0; k < graph->inputs.size(); ++k) inputs.push_back(random_input(*graph, k, 3));
        PlanOptions options;
        options.fuse = false;  // so that there is an arena
        const auto executable = Executable::create(device_, graph, make_plan(*graph, device_->plan(), options));
        Context context(executable, false);
        for (std::size_t k = 0; k < inputs.size(); ++k) context.set_input(k, inputs[k].bytes);
        context.submit();
        context.wait();
        const auto run_at = [&](const std::function<std::uint64_t(std::size_t)>& shift, std::uint64_t arena) {
            const std::vector<HostTensor> got = record_once(*own_, executable, inputs, shift, arena);
            for (std::size_t k = 0; k < got.size(); ++k) {
                HostTensor wanted(got[k].type, got[k].shape);
                context.get_output(k, wanted.bytes);
                EXPECT_TRUE(test::same_bits(got[k], wanted)) << "output " << k;
            }
        };
        for (std::uint64_t at = 0; at < period; ++at) {
            SCOPED_TRACE(at);
            run_at([&](std::size_t) { return at; }, 0);
            run_at([&](std::size_t k) { return (at + 5 * k) % period; }, 0);  // all apart
        }
        const HostMemoryNeeds needs = host_memory_needs(executable->state());
        if (needs.with_copies == 0) continue;
        for (std::uint64_t at = 1; at <= needs.alignment; ++at) {
            SCOPED_TRACE(at);
            try {
                run_at([](std::size_t k) { return k; }, at);
                EXPECT_EQ(at, needs.alignment) << "an arena there is not refused";
            } catch (const Error& error) {
                EXPECT_NE(at, needs.alignment) << error.what();
                EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.what();
            }
        }
    }
}

/// Of a matrix [6,5] and a row: each of six turns writes the row, doubled the next turn, into the matrix.
Graph rows_in_turn() {
    GraphBuilder asks("asks"), body("body");
    for (GraphBuilder* region : {&asks, &body}) {
        const ValueId i = region->input("i", DType::i32, {1}), all = region->input("all", DType::i32, {6, 5});
        const ValueId row = region->input("row", DType::i32, {1, 5});
        if (region == &asks) {
            region->output(region->add1(Op::greater, {region->scalar(DType::i32, 6), i}, DType::boolean));
            continue;
        }
        const ValueId start = region->add1(Op::concat, {i, region->scalar(DType::i32, 0)}, DType::i32);
        region->output(region->add1(Op::add, {i, region->scalar(DType::i32, 1)}, DType::i32));
        region->output(region->add1(Op::dynamic_update_slice, {all, row, start}, DType::i32));
        region->output(region->add1(Op::add, {row, row}, DType::i32));
    }
    GraphBuilder b("rows");
    const ValueId all = b.input("all", DType::i32, {6, 5}), row = b.input("row", DType::i32, {1, 5});
    const auto out = b.while_loop({b.scalar(DType::i32, 0), all, row}, asks.finish_region(), body.finish_region());
    b.output(out[1]);
    b.output(b.add1(Op::sub, {out[2], row}, DType::i32));
    return b.finish();
}

TEST_F(Recorded, LoopsOfKnownTurns) {
    const auto graph = std::make_shared<const Graph>(rows_in_turn());
    const std::vector<HostTensor> inputs{random_tensor(DType::i32, {6, 5}, 1), random_tensor(DType::i32, {1, 5}, 2)};
    const auto wanted = reference_run(*graph, inputs);
    for (const bool fuse : {true, false}) {
        PlanOptions options;
        options.fuse = fuse;
        const auto executable = Executable::create(device_, graph, make_plan(*graph, device_->plan(), options));
        for (const std::uint64_t shift : {0u, 1u, 256u}) {
            const auto found = record_once(*own_, executable, inputs, [&](std::size_t) { return shift; });
            for (std::size_t k = 0; k < wanted.size(); ++k)
                EXPECT_EQ(found[k].bytes, wanted[k].bytes) << "output " << k << ", fuse " << fuse << ", at " << shift;
        }
        PlanOptions asking = options;
        asking.count_turns = false;
        for (const bool gate : {true, false}) {
            asking.gate_turns = gate;
            EXPECT_THROW(HostBindings(Executable::create(device_, graph, make_plan(*graph, device_->plan(), asking))),
                         Error);
        }
    }
}

}  // namespace
}  // namespace tosavk
