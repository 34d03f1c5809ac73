// Outputs that lie between one another's elements, in one buffer of the application.
#include "support/driver.hpp"
#include "support/own_vulkan.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using Bytes = std::vector<std::byte>;
using Memory = test::OwnVulkan::Memory;

TEST(StridedOutputsGpu, TwoInOneBufferKeepToTheirBytes) {
    TOSAVK_NEEDS_DRIVER();
    test::OwnVulkan own;
    const cpp::Device device = cpp::adopt_device(own.lent());
    const char* text = std::getenv("TOSAVK_TEST_SEED");
    const unsigned seed = text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 1;
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    for (const tosavk_type type : {TOSAVK_I8, TOSAVK_FP16, TOSAVK_FP32, TOSAVK_I32}) {
        const auto element = static_cast<std::int64_t>(tosavk_type_size(type));
        const auto h = static_cast<std::int64_t>(2 + random() % 9), w = static_cast<std::int64_t>(2 + random() % 9);
        cpp::Builder b;
        const auto x = b.input("x", {type, {h, w}});
        b.output(b.node1("REVERSE", {x}, {{"axis", 0}}));
        b.output(b.node1("REVERSE", {x}, {{"axis", 1}}));
        const cpp::Graph graph = b.finish();
        const cpp::Executable executable(device, graph);
        const Bytes input = graph.random_input(0, seed);
        const std::vector<Bytes> wanted = graph.reference_run(std::vector<Bytes>{input});
        const Memory arena(own, cpp::vulkan_memory(executable).arena_bytes_with_copies);
        struct Layout {
            const char* name;
            std::vector<std::int64_t> strides;
            std::int64_t apart;
        };
        for (const Layout& layout : {Layout{"channels", {2 * w * element, 2 * element}, element},
                                     Layout{"columns", {2 * w * element, element}, w * element},
                                     Layout{"rows", {element, 2 * h * element}, h * element}}) {
            SCOPED_TRACE(testing::Message() << tosavk_type_name(type) << " " << h << "x" << w << ", " << layout.name);
            const auto shift = static_cast<std::int64_t>(64 + random() % 8);
            const Memory in(own, input.size()),
                out(own, static_cast<std::uint64_t>(2 * h * w * element + 256), std::byte{0xa5});
            std::copy(input.begin(), input.end(), in.bytes.begin());
            const tosavk_vulkan_range from = in.range(0, input.size());
            std::vector<tosavk_vulkan_range> to;
            Bytes expected(out.bytes.size(), std::byte{0xa5});
            for (std::uint32_t k = 0; k < 2; ++k) {
                const std::int64_t begin = shift + k * layout.apart;
                const std::int64_t span = (h - 1) * layout.strides[0] + (w - 1) * layout.strides[1] + element;
                to.push_back(out.range(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(span)));
                to.back().strides = layout.strides.data();
                for (std::int64_t e = 0; e < h * w; ++e) {
                    const std::int64_t at = begin + e / w * layout.strides[0] + e % w * layout.strides[1];
                    std::copy_n(wanted[k].begin() + e * element, element, expected.begin() + at);
                }
            }
            cpp::BindingSet set(executable);
            set.write(std::span(&from, 1), to, arena.range());
            own.run([&](VkCommandBuffer commands) { set.record(commands); });
            EXPECT_EQ(Bytes(out.bytes.begin(), out.bytes.end()), expected);
            // One byte nearer, they share some.
            to[1].offset -= 1;
            try {
                set.write(std::span(&from, 1), to, arena.range());
                ADD_FAILURE() << "no error";
            } catch (const cpp::Error& error) {
                EXPECT_EQ(error.status(), TOSAVK_ERROR_USAGE) << error.what();
            }
        }
    }
    EXPECT_EQ(own.messages, 0);
}

}  // namespace
