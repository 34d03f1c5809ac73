// Buffers through the public headers: what the host does with them, and runs that read and write them.
// Longer than 500 lines: one case after another.
#include "support/driver.hpp"
#include "support/small_models.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>

#include <unistd.h>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using Bytes = std::vector<std::byte>;

constexpr tosavk_memory_kind kinds[] = {TOSAVK_MEMORY_DEVICE, TOSAVK_MEMORY_SHARED, TOSAVK_MEMORY_HOST};

class BuffersGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        device_.emplace();
        std::cout << "seed " << seed_ << "\n";
    }

    Bytes random_bytes(std::size_t size) {
        Bytes bytes(size);
        for (std::byte& b : bytes) b = static_cast<std::byte>(random_());
        return bytes;
    }

    const unsigned seed_ = std::getenv("TOSAVK_TEST_SEED")
                             ? static_cast<unsigned>(std::strtoul(std::getenv("TOSAVK_TEST_SEED"), nullptr, 10))
                             : 7;
    std::mt19937 random_{seed_};
    std::optional<cpp::Device> device_;
};

template <class F> std::string error_of(tosavk_status wanted, F call) {
    try {
        call();
    } catch (const cpp::Error& e) {
        EXPECT_EQ(e.status(), wanted) << e.what();
        EXPECT_STRNE(e.what(), "");
        return e.what();
    }
    ADD_FAILURE() << "no error";
    return {};
}

Bytes all_of(const cpp::Buffer& buffer) {
    Bytes bytes(buffer.info().size_bytes);
    buffer.download(bytes);
    return bytes;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

TEST_F(BuffersGpu, HostDoesWhatItDoesToArrays) {
    for (const tosavk_memory_kind kind : kinds) {
        constexpr std::size_t size = 1021;
        cpp::Buffer buffer(*device_, size, kind), other(*device_, size, kind);
        Bytes array = random_bytes(size), second = random_bytes(size);
        buffer.upload(array);
        other.upload(second);
        for (int step = 0; step < 60; ++step) {
            const std::size_t from = random_() % size, count = random_() % (size - from + 1);
            const std::size_t at = random_() % (size - count + 1);
            const auto first = array.begin() + static_cast<std::ptrdiff_t>(from);
            switch (random_() % 4) {
                case 0: {
                    const Bytes bytes = random_bytes(count);
                    buffer.upload(bytes, from);
                    std::copy(bytes.begin(), bytes.end(), first);
                    break;
                }
                case 1: {
                    const auto value = static_cast<std::uint8_t>(random_());
                    buffer.fill(value, from, count);
                    std::fill_n(first, count, std::byte{value});
                    break;
                }
                case 2:
                    buffer.copy_from(other, at, from, count);
                    std::copy_n(second.begin() + static_cast<std::ptrdiff_t>(at), count, first);
                    break;
                default: {
                    Bytes bytes(count);
                    buffer.download(bytes, from);
                    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), first));
                }
            }
        }
        EXPECT_EQ(all_of(buffer), array) << "kind " << kind;
        const cpp::Buffer part = buffer.slice(100, 200), inner = part.slice(7, 50);
        EXPECT_EQ(all_of(inner), Bytes(array.begin() + 107, array.begin() + 157));
        if (buffer.info().mapped != 0) {
            const std::span<std::byte> view = inner.map();
            ASSERT_EQ(view.size(), 50u);
            EXPECT_TRUE(std::equal(view.begin(), view.end(), array.begin() + 107));
            view[3] = std::byte{0x5a};
            inner.unmap();
            Bytes one(1);
            buffer.download(one, 110);
            EXPECT_EQ(one[0], std::byte{0x5a});
        } else {
            error_of(TOSAVK_ERROR_UNSUPPORTED, [&] { inner.map(); });
        }
    }
}

TEST_F(BuffersGpu, PartsOfABufferMoveWithinIt) {
    cpp::Buffer buffer(*device_, 64);
    Bytes bytes = random_bytes(64);
    buffer.upload(bytes);
    buffer.copy_from(buffer, 0, 32, 20);
    std::copy_n(bytes.begin(), 20, bytes.begin() + 32);
    EXPECT_EQ(all_of(buffer), bytes);
    error_of(TOSAVK_ERROR_USAGE, [&] { buffer.copy_from(buffer, 0, 10, 20); });
    error_of(TOSAVK_ERROR_USAGE, [&] { buffer.slice(0, 40).copy_from(buffer.slice(30, 30), 0, 20, 20); });
}

TEST_F(BuffersGpu, WrongCallsSayWhatIsWrong) {
    cpp::Buffer buffer(*device_, 64);
    Bytes bytes(65);
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::Buffer(*device_, 4, static_cast<tosavk_memory_kind>(3)); });
    error_of(TOSAVK_ERROR_OUT_OF_MEMORY, [&] { cpp::Buffer(*device_, std::uint64_t{1} << 60); });
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { buffer.upload(bytes); });
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { buffer.download(bytes); });
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { buffer.upload(std::span(bytes).first(1), UINT64_MAX); });
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { buffer.fill(0, 60, 5); });
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { buffer.slice(64, 1); });
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { buffer.slice(8, UINT64_MAX); });
    error_of(TOSAVK_ERROR_USAGE, [&] { buffer.export_fd(); });
    cpp::Device again;
    cpp::Buffer foreign(again, 64);
    error_of(TOSAVK_ERROR_USAGE, [&] { buffer.copy_from(foreign, 0, 0, 4); });
    tosavk_buffer_options options{};
    options.size_bytes = 64;
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::Buffer::import_fd(*device_, -1, options); });
    options.reserved = 1;
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::Buffer::import_fd(*device_, 0, options); });

    const cpp::Graph graph = cpp::Graph::load(test::small_float_model());
    const cpp::Executable executable(*device_, graph);
    cpp::Context context(executable);
    cpp::Buffer small(*device_, graph.input(0).size_bytes - 1), large(*device_, 1 << 16);
    EXPECT_NE(error_of(TOSAVK_ERROR_BAD_INPUT, [&] { context.bind_input(0, small); }).find("bytes"), std::string::npos);
    error_of(TOSAVK_ERROR_USAGE, [&] { context.bind_input(99, large); });
    error_of(TOSAVK_ERROR_USAGE, [&] { context.bind_output(99, large); });
    error_of(TOSAVK_ERROR_USAGE, [&] { context.bind_input(0, large, 2); });
    error_of(TOSAVK_ERROR_USAGE, [&] { context.bind_input(0, foreign); });
    error_of(TOSAVK_ERROR_USAGE, [&] { executable.input_binding(99); });
    error_of(TOSAVK_ERROR_USAGE, [&] { executable.output_binding(99); });
    context.bind_input(0, large);
    context.unbind_input(0);
    error_of(TOSAVK_ERROR_USAGE, [&] { context.run(); });
    context.bind_input(0, large);
    context.submit();
    error_of(TOSAVK_ERROR_USAGE, [&] { context.bind_input(0, large); });
    error_of(TOSAVK_ERROR_USAGE, [&] { context.unbind_output(0); });
    context.wait();
}

/// Runs the graph once through the host and once with every tensor in a buffer of guard bytes, `shift` bytes from where
/// kernels would want it.
void check_placed(const cpp::Device& device, const cpp::Graph& graph, const cpp::Executable& executable,
                  std::uint64_t shift, tosavk_memory_kind kind, bool padded, unsigned seed) {
    cpp::Context plain(executable), placed(executable);
    constexpr std::uint64_t guard = 512;
    struct Place {
        cpp::Buffer whole, part;
        std::uint64_t begin, end;  // of what may be written
        Bytes before;
    };
    const auto place = [&](const tosavk_binding_info& info) {
        const std::uint64_t begin = guard + shift;
        const std::uint64_t size = padded ? info.padded_bytes : info.size_bytes;
        cpp::Buffer whole(device, begin + size + guard, kind);
        whole.fill(0xa5, 0, begin + size + guard);
        cpp::Buffer part = whole.slice(begin, size);
        return Place{std::move(whole), std::move(part), begin, begin + size, {}};
    };
    const std::uint32_t flags = padded ? TOSAVK_BIND_PADDED : 0;
    std::vector<Place> inputs, outputs;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) {
        const Bytes bytes = graph.random_input(k, seed);
        plain.set_input(k, bytes);
        Place& made = inputs.emplace_back(place(executable.input_binding(k)));
        made.part.upload(bytes);
        made.before = all_of(made.whole);
        placed.bind_input(k, made.part, flags);
    }
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) {
        Place& made = outputs.emplace_back(place(executable.output_binding(k)));
        placed.bind_output(k, made.part, flags);
    }
    plain.run();
    for (int run = 0; run < 2; ++run) {
        placed.run();
        EXPECT_EQ(placed.counters().host_copies, 0u);
        for (const Place& input : inputs) EXPECT_EQ(all_of(input.whole), input.before) << "an input was written";
        for (std::uint32_t k = 0; k < outputs.size(); ++k) {
            Bytes wanted(graph.output(k).size_bytes), got = wanted;
            plain.get_output(k, wanted);
            placed.get_output(k, got);
            EXPECT_EQ(got, wanted) << "output " << k;
            const Bytes whole = all_of(outputs[k].whole);
            EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), whole.begin() + std::ptrdiff_t(outputs[k].begin)));
            for (std::uint64_t b = 0; b < whole.size(); ++b) {
                if (b >= outputs[k].begin && b < outputs[k].end) continue;
                ASSERT_EQ(whole[b], std::byte{0xa5}) << "byte " << b << " of output " << k;
            }
        }
    }
    std::uint64_t copied = 0;
    const auto fits = [&](const tosavk_binding_info& info) {
        return info.direct != 0 && (guard + shift) % info.alignment == 0 && kind != TOSAVK_MEMORY_HOST &&
               (padded || info.padded_bytes == info.size_bytes);
    };
    for (std::uint32_t k = 0; k < inputs.size(); ++k) copied += fits(executable.input_binding(k)) ? 0 : 1;
    for (std::uint32_t k = 0; k < outputs.size(); ++k) copied += fits(executable.output_binding(k)) ? 0 : 1;
    EXPECT_EQ(placed.counters().buffer_copies, 2 * copied);
}

TEST_F(BuffersGpu, RunsReadAndWriteBuffersWhereverTheyLie) {
    for (const char* line : {"add f32 4096", "add f32 1021", "maximum i32 37", "clamp i8 4x37",
                             "conv2d i8 1x9x9x3 5x3x3 s1 p1 rescale clamp", "matmul f32 2x5x7x9",
                             "transpose f32 6x10x4 2,0,1", "softmax f32 3x11"}) {
        SCOPED_TRACE(line);
        const cpp::Graph graph = cpp::Graph::problem(line);
        for (const bool fuse : {true, false}) {
            const cpp::Executable executable(*device_, graph, fuse);
            for (const std::uint64_t shift : {0, 256, 16, 4, 1}) {
                for (const tosavk_memory_kind kind : kinds) {
                    for (const bool padded : {false, true}) {
                        SCOPED_TRACE(testing::Message() << "fuse " << fuse << ", shift " << shift << ", kind " << kind
                                                        << ", padded " << padded);
                        check_placed(*device_, graph, executable, shift, kind, padded, seed_);
                    }
                }
            }
        }
    }
}

TEST_F(BuffersGpu, ExecutablesChainWithoutTheHost) {
    const cpp::Graph first = cpp::Graph::problem("chain f32 4096 add*3"), second = cpp::Graph::problem("add f32 4096");
    const cpp::Executable a(*device_, first), b(*device_, second);
    cpp::Context one(a), two(b), host_one(a), host_two(b);
    const std::size_t size = first.input(0).size_bytes;
    cpp::Buffer input(*device_, size), between(*device_, size), output(*device_, size);
    one.bind_input(0, input);
    one.bind_output(0, between);
    two.bind_input(0, between);
    two.bind_input(1, between);
    two.bind_output(0, output);
    for (std::uint32_t k = 1; k < first.input_count(); ++k) {
        one.set_input(k, first.random_input(k, k));
        host_one.set_input(k, first.random_input(k, k));
    }
    const std::uint64_t set = one.counters().host_copies;
    for (std::uint64_t turn = 0; turn < 5; ++turn) {
        const Bytes bytes = first.random_input(0, turn);
        input.upload(bytes);
        one.submit();
        two.submit();
        two.wait();
        one.wait();
        Bytes middle(size), wanted(size);
        host_one.set_input(0, bytes);
        host_one.run();
        host_one.get_output(0, middle);
        host_two.set_input(0, middle);
        host_two.set_input(1, middle);
        host_two.run();
        host_two.get_output(0, wanted);
        EXPECT_EQ(all_of(output), wanted) << "turn " << turn;
    }
    for (const cpp::Context* context : {&one, &two}) EXPECT_EQ(context->counters().buffer_copies, 0u);
    EXPECT_EQ(one.counters().host_copies, set);
    EXPECT_EQ(two.counters().host_copies, 0u);
}

TEST_F(BuffersGpu, ABufferThatIsUnboundGivesWayToTheHost) {
    const cpp::Graph graph = cpp::Graph::problem("add f32 256");
    const cpp::Executable executable(*device_, graph);
    cpp::Context context(executable);
    const std::vector<Bytes> inputs = {graph.random_input(0, 1), graph.random_input(1, 2)};
    const Bytes wanted = graph.reference_run(inputs)[0];
    cpp::Buffer buffer(*device_, 1024), result(*device_, 1024);
    buffer.upload(inputs[0]);
    context.bind_input(0, buffer);
    context.set_input(1, inputs[1]);
    Bytes got(1024);
    context.run();
    context.get_output(0, got);
    EXPECT_EQ(got, wanted);
    buffer.fill(0, 0, 1024);
    context.set_input(0, inputs[0]);  // in the buffer's place
    context.bind_output(0, result);
    error_of(TOSAVK_ERROR_USAGE, [&] { context.get_output(0, got); });
    context.run();
    EXPECT_EQ(all_of(result), wanted);
    context.unbind_output(0);
    result.fill(1, 0, 1024);
    context.run();
    context.get_output(0, got);
    EXPECT_EQ(got, wanted);
    EXPECT_EQ(all_of(result), Bytes(1024, std::byte{1}));
    EXPECT_EQ(all_of(buffer), Bytes(1024));
}

TEST_F(BuffersGpu, AReleasedBufferStaysAsLongAsItIsBound) {
    const cpp::Graph graph = cpp::Graph::problem("add f32 256");
    const cpp::Executable executable(*device_, graph);
    cpp::Context context(executable);
    const std::vector<Bytes> inputs = {graph.random_input(0, 1), graph.random_input(1, 2)};
    {
        cpp::Buffer both(*device_, 2048);
        both.upload(inputs[0]);
        both.upload(inputs[1], 1024);
        context.bind_input(0, both.slice(0, 1024));
        context.bind_input(1, both.slice(1024, 1024));
    }
    context.run();
    Bytes got(1024);
    context.get_output(0, got);
    EXPECT_EQ(got, graph.reference_run(inputs)[0]);
}

// ---- the rules where tensors share memory -------------------------------------------------------------------------

/// One of each: an output that is an input, one that is a part of it, two of one value, one that is constant.
cpp::Graph shared_values() {
    cpp::Builder b;
    const auto x = b.input("x", {TOSAVK_FP32, {4, 64}}), y = b.input("y", {TOSAVK_FP32, {4, 64}});
    const std::int64_t half[] = {2, 0}, part[] = {2, 64}, flat[] = {256};
    const auto sum = b.node1("ADD", {x, y});
    b.output(b.node1("IDENTITY", {x}));
    b.output(b.node1("SLICE", {x, b.shape(half), b.shape(part)}));
    b.output(sum);
    b.output(b.node1("RESHAPE", {sum, b.shape(flat)}));
    const std::vector<float> numbers = {1, 2, 3, 4};
    b.output(b.constant("c", {TOSAVK_FP32, {4}}, std::as_bytes(std::span(numbers))));
    b.output(y);
    return b.finish();
}

TEST_F(BuffersGpu, OutputsThatAreInputsOrOneValue) {
    const cpp::Graph graph = shared_values();
    const std::vector<Bytes> inputs = {graph.random_input(0, 1), graph.random_input(1, 2)};
    const std::vector<Bytes> wanted = graph.reference_run(inputs);
    for (const bool fuse : {true, false}) {
        const cpp::Executable executable(*device_, graph, fuse);
        for (unsigned which = 0; which < 256; ++which) {  // what is bound
            SCOPED_TRACE(testing::Message() << "fuse " << fuse << ", bound " << which);
            cpp::Context context(executable);
            std::vector<cpp::Buffer> buffers;
            for (std::uint32_t k = 0; k < 2; ++k) {
                if ((which >> k & 1u) == 0) {
                    context.set_input(k, inputs[k]);
                    continue;
                }
                buffers.emplace_back(*device_, inputs[k].size()).upload(inputs[k]);
                context.bind_input(k, buffers.back());
            }
            for (std::uint32_t k = 0; k < wanted.size(); ++k) {
                if ((which >> (k + 2) & 1u) == 0) continue;
                buffers.emplace_back(*device_, wanted[k].size());
                context.bind_output(k, buffers.back());
            }
            context.run();
            for (std::uint32_t k = 0; k < wanted.size(); ++k) {
                Bytes got(wanted[k].size());
                context.get_output(k, got);
                EXPECT_EQ(got, wanted[k]) << "output " << k;
            }
        }
    }
}

TEST_F(BuffersGpu, OneBufferBoundTwice) {
    const cpp::Graph graph = shared_values();
    const Bytes input = graph.random_input(0, 1);
    const std::vector<Bytes> same = graph.reference_run(std::vector<Bytes>{input, input});
    const cpp::Executable executable(*device_, graph);
    cpp::Context context(executable);
    cpp::Buffer in(*device_, 1024), out(*device_, 4096);
    in.upload(input);
    context.bind_input(0, in);
    context.bind_input(1, in);
    EXPECT_EQ(executable.output_binding(0).direct, 0) << "an input";
    EXPECT_EQ(executable.output_binding(2).direct, 1);
    // Two outputs of one value may share a place; others may not overlap.
    context.bind_output(2, out.slice(0, 1024));
    context.bind_output(3, out.slice(0, 1024));
    context.run();
    Bytes got(1024);
    context.get_output(3, got);
    EXPECT_EQ(got, same[3]);
    EXPECT_EQ(context.counters().buffer_copies, 2u) << "for outputs 0, 1 and 5, which are inputs and not bound";
    context.bind_output(3, out.slice(4, 1024));
    EXPECT_NE(error_of(TOSAVK_ERROR_USAGE, [&] { context.run(); }).find("overlap"), std::string::npos);
    context.bind_output(3, out.slice(1024, 1024));
    context.bind_output(0, out.slice(512, 1024));
    error_of(TOSAVK_ERROR_USAGE, [&] { context.run(); });
    context.bind_output(0, out.slice(2048, 1024));
    context.run();
    for (const std::uint32_t k : {0u, 2u, 3u}) {
        context.get_output(k, got);
        EXPECT_EQ(got, same[k]) << "output " << k;
    }
    EXPECT_EQ(all_of(in), input);
}

/// Outputs over inputs: as if every input were read before any output is written.
TEST_F(BuffersGpu, DonatedInputsAndSlicesThatOverlap) {
    const cpp::Graph graph = shared_values();
    const std::vector<Bytes> inputs = {graph.random_input(0, 1), graph.random_input(1, 2)};
    const std::vector<Bytes> wanted = graph.reference_run(inputs);
    const cpp::Executable executable(*device_, graph);
    for (int turn = 0; turn < 200; ++turn) {
        // Inputs anywhere in a small buffer, outputs anywhere in it that do not overlap one another.
        constexpr std::uint64_t room = 6144;
        cpp::Buffer buffer(*device_, room);
        const std::uint64_t step = turn % 2 == 0 ? 256 : 4;
        const auto anywhere = [&](std::size_t size) { return random_() % ((room - size) / step + 1) * step; };
        const std::uint64_t x = anywhere(1024);
        std::uint64_t y = anywhere(1024);
        while (y < x + 1024 && x < y + 1024) y = anywhere(1024);
        buffer.upload(inputs[0], x);
        buffer.upload(inputs[1], y);
        cpp::Context context(executable);
        context.bind_input(0, buffer.slice(x, 1024));
        context.bind_input(1, buffer.slice(y, 1024));
        std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
        std::vector<std::optional<std::uint64_t>> places(wanted.size());
        for (std::uint32_t k = 0; k < wanted.size(); ++k) {
            for (int tries = 0; tries < 4 && !places[k]; ++tries) {
                const std::uint64_t size = wanted[k].size(), at = tries == 0 && k % 2 == 0 ? x : anywhere(size);
                const bool free = std::none_of(taken.begin(), taken.end(), [&](const auto& other) {
                    return at < other.second && other.first < at + size;
                });
                if (!free) continue;
                taken.emplace_back(at, at + size);
                places[k] = at;
                context.bind_output(k, buffer.slice(at, size));
            }
        }
        context.run();
        for (std::uint32_t k = 0; k < wanted.size(); ++k) {
            if (!places[k]) continue;
            Bytes got(wanted[k].size());
            context.get_output(k, got);
            EXPECT_EQ(got, wanted[k]) << "turn " << turn << ", output " << k << " at " << *places[k];
        }
    }
}

TEST_F(BuffersGpu, ADonatedInputIsNotCopiedWhereTheOrderAllowsIt) {
    // Unfused, the input is read by the first dispatch and the output written by the last.
    const cpp::Graph graph = cpp::Graph::problem("chain f32 4096 exp*3");
    const cpp::Executable executable(*device_, graph, false);
    cpp::Context context(executable);
    cpp::Buffer buffer(*device_, graph.input(0).size_bytes);
    const Bytes bytes = graph.random_input(0, 3);
    Bytes wanted(bytes.size());
    context.set_input(0, bytes);
    context.run();
    context.get_output(0, wanted);
    buffer.upload(bytes);
    context.bind_input(0, buffer);
    context.bind_output(0, buffer);
    context.run();
    EXPECT_EQ(all_of(buffer), wanted);
    EXPECT_EQ(context.counters().buffer_copies, 0u);
    // In one dispatch it is.
    const cpp::Executable fused(*device_, graph, true);
    cpp::Context second(fused);
    buffer.upload(bytes);
    second.bind_input(0, buffer);
    second.bind_output(0, buffer);
    second.run();
    EXPECT_EQ(all_of(buffer), wanted);
    EXPECT_EQ(second.counters().buffer_copies, 1u);
}

// ---- memory from elsewhere ------------------------------------------------------------------------------------------

TEST_F(BuffersGpu, HostMemoryIsUsedAsItIs) {
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t size = round_up(4096, page) + page;
    std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(page, size), &std::free);
    const std::span<std::byte> bytes(static_cast<std::byte*>(memory.get()), size);
    const cpp::Graph graph = cpp::Graph::problem("add f32 256");
    const std::vector<Bytes> inputs = {graph.random_input(0, 1), graph.random_input(1, 2)};
    std::copy(inputs[0].begin(), inputs[0].end(), bytes.begin());
    std::optional<cpp::Buffer> buffer;
    try {
        buffer.emplace(cpp::Buffer::import_host(*device_, bytes));
    } catch (const cpp::Error& e) {
        ASSERT_EQ(e.status(), TOSAVK_ERROR_UNSUPPORTED) << e.what();
        GTEST_SKIP() << e.what();
    }
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { cpp::Buffer::import_host(*device_, bytes.subspan(1, page)); });
    error_of(TOSAVK_ERROR_BAD_INPUT, [&] { cpp::Buffer::import_host(*device_, bytes.first(page - 1)); });
    const cpp::Executable executable(*device_, graph);
    cpp::Context context(executable);
    context.bind_input(0, buffer->slice(0, 1024));
    context.set_input(1, inputs[1]);
    context.bind_output(0, buffer->slice(2048, 1024));
    context.run();
    buffer->map();
    const Bytes wanted = graph.reference_run(inputs)[0];
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), bytes.begin() + 2048));
}

TEST_F(BuffersGpu, MemoryGoesToAnotherDeviceByDescriptor) {
    const Bytes bytes = random_bytes(5000);
    std::optional<cpp::Buffer> mine;
    try {
        mine.emplace(*device_, bytes.size(), TOSAVK_MEMORY_DEVICE, true);
    } catch (const cpp::Error& e) {
        ASSERT_EQ(e.status(), TOSAVK_ERROR_UNSUPPORTED) << e.what();
        GTEST_SKIP() << e.what();
    }
    mine->upload(bytes);
    const std::int32_t fd = mine->export_fd();
    ASSERT_GE(fd, 0);
    cpp::Device other;
    tosavk_buffer_options options{};
    options.size_bytes = bytes.size();
    options.allocation_bytes = mine->info().allocation_bytes;
    options.memory_type_bits = mine->info().memory_type_bits;
    tosavk_buffer_options wrong = options;
    wrong.size_bytes = 1 << 20;
    EXPECT_NE(error_of(TOSAVK_ERROR_BAD_INPUT, [&] { cpp::Buffer::import_fd(other, fd, wrong); }).find("1048576"),
              std::string::npos);
    {
        cpp::Buffer theirs = cpp::Buffer::import_fd(other, fd, options);
        ASSERT_EQ(::close(fd), 0) << "the descriptor stays the caller's";
        EXPECT_EQ(all_of(theirs), bytes);
        const Bytes back = random_bytes(100);
        theirs.upload(back, 50);
        Bytes got(100);
        mine->download(got, 50);
        EXPECT_EQ(got, back);
        error_of(TOSAVK_ERROR_USAGE, [&] { theirs.export_fd(); });
    }
    error_of(TOSAVK_ERROR_USAGE, [&] { cpp::Buffer::import_fd(other, fd, options); });
}

}  // namespace
