// Graphs to and from memory and streams, whole, in pieces, and through streams that fail.
#include "support/small_models.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;

/// Gives `bytes` in pieces of `most`.
std::function<std::size_t(std::span<std::byte>)> source(const std::vector<std::byte>& bytes, std::size_t most) {
    return [&bytes, most, at = std::size_t{0}](std::span<std::byte> to) mutable {
        const std::size_t size = std::min({to.size(), most, bytes.size() - at});
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, to.begin());
        at += size;
        return size;
    };
}

struct Sink {
    std::vector<std::byte> bytes;
    std::size_t fail_at = SIZE_MAX;

    static std::int32_t write(void* user, const void* data, std::size_t size) {
        auto& sink = *static_cast<Sink*>(user);
        const auto* from = static_cast<const std::byte*>(data);
        sink.bytes.insert(sink.bytes.end(), from, from + size);
        return sink.bytes.size() >= sink.fail_at ? 1 : 0;
    }
};

std::string sentence_of(tosavk_status wanted, const std::function<tosavk_status(tosavk_error**)>& call) {
    tosavk_error* error = nullptr;
    EXPECT_EQ(call(&error), wanted) << tosavk_error_message(error);
    const std::string sentence = tosavk_error_message(error);
    tosavk_error_release(error);
    return sentence;
}

TEST(Streams, AGraphComesBackInPiecesOfAnySize) {
    // Larger than the first piece that is asked for.
    const cpp::Graph graph = cpp::Graph::problem("conv2d f32 1x8x8x64 64x3x3 p1");
    const std::vector<std::byte> file = graph.save();
    ASSERT_GT(file.size(), std::size_t{1} << 16);
    for (const std::size_t most : {std::size_t{1000}, std::size_t{65536}, SIZE_MAX}) {
        const cpp::Graph again = cpp::Graph::load(source(file, most));
        EXPECT_EQ(again.print(), cpp::Graph::load(file).print()) << most;
        EXPECT_EQ(again.save(), file) << most;
    }
    Sink sink;
    EXPECT_EQ(tosavk_graph_save_stream(graph.get(), Sink::write, &sink, nullptr), TOSAVK_OK);
    EXPECT_EQ(sink.bytes, file);
}

TEST(Streams, FailuresAreSentences) {
    const cpp::Graph graph = cpp::Graph::load(test::small_int8_model());
    tosavk_graph* out = nullptr;
    const auto load = [&](tosavk_read_callback read, tosavk_status wanted) {
        return sentence_of(wanted,
                           [&](tosavk_error** e) { return tosavk_graph_load_stream(read, nullptr, nullptr, &out, e); });
    };
    EXPECT_EQ(load([](void*, void*, std::size_t) { return std::int64_t{-1}; }, TOSAVK_ERROR_IO),
              "the stream failed after 0 bytes");
    EXPECT_NE(
        load([](void*, void*, std::size_t size) { return static_cast<std::int64_t>(size) + 1; }, TOSAVK_ERROR_USAGE)
            .find("were asked for"),
        std::string::npos);
    EXPECT_NE(load([](void*, void*, std::size_t) { return std::int64_t{0}; }, TOSAVK_ERROR_BAD_MODEL)
                  .find("the model in the stream"),
              std::string::npos);
    EXPECT_NE(load(nullptr, TOSAVK_ERROR_USAGE).find("read is NULL"), std::string::npos);
    EXPECT_EQ(out, nullptr);

    Sink sink;
    sink.fail_at = 1;
    EXPECT_EQ(
        sentence_of(TOSAVK_ERROR_IO,
                    [&](tosavk_error** e) { return tosavk_graph_save_stream(graph.get(), Sink::write, &sink, e); })
            .find("the stream failed after 0 of"),
        0u);
    EXPECT_NE(sentence_of(TOSAVK_ERROR_USAGE,
                          [&](tosavk_error** e) { return tosavk_graph_save_stream(graph.get(), nullptr, nullptr, e); })
                  .find("write is NULL"),
              std::string::npos);
    EXPECT_EQ(tosavk_bytes_size(nullptr), 0u);
    EXPECT_EQ(tosavk_bytes_data(nullptr), nullptr);
    tosavk_bytes_release(nullptr);
}

TEST(Streams, WhatACallbackThrowsComesOut) {
    EXPECT_THROW(cpp::Graph::load([](std::span<std::byte>) -> std::size_t { throw std::out_of_range("mine"); }),
                 std::out_of_range);
    const cpp::Graph graph = cpp::Graph::problem("add f32 4");
    EXPECT_THROW(graph.save([](std::span<const std::byte>) { throw std::out_of_range("mine"); }), std::out_of_range);
}

TEST(Streams, GraphsGoThroughTheWrapper) {
    const cpp::Graph graph = cpp::Graph::problem("add f32 4");
    std::vector<std::byte> file;
    graph.save([&](std::span<const std::byte> bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); });
    EXPECT_EQ(file, graph.save());
    EXPECT_EQ(cpp::type_name(graph.input(0).type), "fp32");
    EXPECT_EQ(cpp::type_name(-1), "?");
    EXPECT_EQ(cpp::type_size(TOSAVK_I48), 8u);
}

}  // namespace
