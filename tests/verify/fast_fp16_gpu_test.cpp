// Precision fast: fp16 by the device's own arithmetic, within its own bound, by the kernels of this device and of
// others.
#include "compile/plan/plan.hpp"
#include "compile/plan/tuning.hpp"
#include "compile/rewrite/precision.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "reference/reference.hpp"
#include "support/gpu_test.hpp"
#include "support/plan_labels.hpp"
#include "verify/checker.hpp"
#include "verify/judge.hpp"
#include "vk/run/context.hpp"

#include <algorithm>
#include <cmath>

namespace tosavk {
namespace {

std::shared_ptr<const Graph> fast_graph(const std::string& line) {
    return std::make_shared<const Graph>(to_fp16(load_problem(line, level_8k), true));
}

/// Like a discrete GPU's plan: products through tiles in shared memory.
void with_tiles(DevicePlan& plan) {
    test::without_matrices(plan);
    plan.product_tiles = plan.shared_tiles = true;
    plan.tile_quads = 1;  // a software driver compiles two for half a minute
    plan.product_tile_bytes = 16384;
    plan.least_tiles = 1;
    plan.shared_rows = plan.slow_storage = false;
    plan.own_rows = 0;
    plan.registers = 256;
    plan.busy_invocations = 256;
    plan.texel_elements = 0;
}

/// Like a mobile GPU's: products in registers alone.
void with_registers(DevicePlan& plan) {
    test::without_matrices(plan);
    plan.product_tiles = plan.shared_rows = false;
    plan.own_rows = 8;
    plan.registers = 64;
    plan.slow_storage = false;
    plan.busy_invocations = 256;
    plan.texel_elements = 0;
}

/// The same with sums in shared memory.
void with_small_tiles(DevicePlan& plan) {
    with_registers(plan);
    plan.shared_tiles = true;
}

class FastFp16 : public test::GpuTest {
protected:
    static void check(const std::shared_ptr<Device>& device, const std::string& line, const char* kernel) {
        const auto graph = fast_graph(line);
        const Plan plan = make_plan(*graph, device->plan(), {});
        bool found = false, halves = false;
        for_each_dispatch(plan, [&](const Dispatch& dispatch) {
            found = found || dispatch.kernel == kernel;
            halves = halves || dispatch.glsl.find("#define TOSAVK_FAST_FP16 1") != std::string::npos;
        });
        EXPECT_TRUE(found) << line << " is not run by " << kernel;
        EXPECT_EQ(halves, device->plan().has_fp16) << line;
        const CheckReport report = Checker(device, graph).run(7);
        EXPECT_TRUE(report.passed) << line << ", " << kernel << ": " << report.detail;
        EXPECT_GT(report.worst, 0) << line << ": fp16 would be exact";
    }
};

/// Every row with fp16; in a long run by every kernel.
TEST_F(FastFp16, RandomNodesAreWithinTheBound) {
    const std::uint64_t cases = test::number_from_environment("TOSAVK_TEST_CASES", 2),
                        first = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    const conformance::Judge judge = conformance::judge_on(device_, cases > 3);
    const auto fast = [&](const conformance::RandomCase& made) {
        conformance::RandomCase copy = made;
        make_fast(copy.graph);
        return judge(copy);
    };
    std::size_t rows = 0;
    for (conformance::SweepRow& row : conformance::registry_rows()) {
        if (row.types_text().find("fp16") == std::string::npos || !test::in_this_part(rows++)) continue;
        const conformance::RowResult result = conformance::run_row(row, first, cases, fast);
        EXPECT_TRUE(result.passed()) << row.op << " " << row.types_text() << ", seed " << result.seed << "\n"
                                     << result.detail;
    }
    EXPECT_GT(rows, 50u);
}

TEST_F(FastFp16, ProductsOfDiscreteGpus) {
    const auto device = test::open_with(with_tiles);
    check(device, "matmul f16 2x67x50x70", "gemm_tiles");
    check(device, "conv2d f16 1x14x14x32 64x3x3 p1 clamp", "gemm_tiles");
    const auto split = test::open_with([](DevicePlan& plan) {
        with_tiles(plan);
        plan.product_tiles = false;
    });
    check(split, "matmul f16 1x4x512x8", "gemm_split");
    check(split, "conv2d f16 1x6x6x32 8x3x3 p1 clamp", "gemm_split");
}

TEST_F(FastFp16, ProductsOfMobileGpus) {
    const auto device = test::open_with(with_registers);
    check(device, "matmul f16 1x128x96x64", "gemm_direct");
    check(device, "matmul f16 2x37x50x70", "gemm_direct");
    check(device, "conv2d f16 1x16x16x30 24x3x3 p1 clamp", "gemm_direct");
    check(device, "conv2d f16 1x27x27x3 64x5x5 p2 clamp", "gemm_direct");  // after a pass that makes quads of pixels
}

/// How fp16 is read and written: as words, as numbers in storage buffers, as texels; products in fp16 or in fp32.
constexpr std::string_view ways[] = {"words", "storage16", "texels", "products in fp32"};

std::shared_ptr<Device> device_reading(std::string_view way, const DeviceCaps& caps) {
    return test::open_with([&](DevicePlan& plan) {
        with_registers(plan);
        plan.shared_tiles = true;  // for gemm_split
        plan.registers = 96;       // addresses that step, where there are no texels
        plan.storage16 = way == "storage16";
        plan.half_texels = way == "texels";
        if (way == "texels") plan.texel_elements = caps.max_texel_buffer_elements;
        plan.half_products = way != "products in fp32";
    });
}

TEST_F(FastFp16, WaysOfReading) {
    const DeviceCaps caps = device_->caps();
    if (!caps.fp16) GTEST_SKIP() << "the device has no fp16 arithmetic";
    for (const std::string_view name : ways) {
        if (name == "storage16" && !caps.storage16) continue;
        const auto device = device_reading(name, caps);
        SCOPED_TRACE(name);
        check(device, "matmul f16 1x128x96x64", "gemm_direct");
        check(device, "conv2d f16 1x16x16x30 24x3x3 p1 clamp", "gemm_direct");
        check(device, "conv2d f16 1x27x27x3 64x5x5 p2 clamp", "gemm_direct");
        check(device, "matmul f16 1x4x512x8", "gemm_split");
        check(device, "matmul f16 1x4x70x8", "gemm_split");  // some lanes have fewer blocks
        if (name == "products in fp32") continue;
        check(device, "matmul f16 2x37x50x70", "gemm_direct");
        check(device, "depthwise f16 1x14x14x32 1x3x3 p1", "depthwise_rows");
        check(device, "chain f16 16384 add mul sigmoid", "elementwise");  // eight an invocation
        check(device, "chain f16 10003 add mul sigmoid", "elementwise");  // four
        check(device, "reduce_sum f16 4x30x64 axis1", "reduce_columns");  // two quads
        check(device, "reduce_sum f16 4x30x35 axis1", "reduce_columns");
        check(device, "softmax f16 7x33", "rows");
    }
}

/// Quads of columns are read in pairs, and so are inner elements, but for texels; lanes that have no items left;
/// columns that are no multiple of those of neighbours.
TEST_F(FastFp16, VectorsByEights) {
    const DeviceCaps caps = device_->caps();
    if (!caps.fp16) GTEST_SKIP() << "the device has no fp16 arithmetic";
    const std::string lines[] = {"matmul f16 1x1x512x64",         "matmul f16 3x1x70x40",
                                 "fully_connected f16 1x1024 68", "matmul f16 1x1x37x24",
                                 "fully_connected f16 1x100 30",  "fully_connected f16 1x36 8"};
    const std::string others[] = {"matmul f16 1x1x64x20", "fully_connected f16 1x70 30"};
    for (const std::string_view way : ways) {
        if (way == "storage16" && !caps.storage16) continue;
        const auto device = device_reading(way, caps);
        SCOPED_TRACE(way);
        const auto eights = [&](const std::string& line) {
            check(device, line, "gemm_split");
            const Plan plan = make_plan(*fast_graph(line), device->plan(), {});
            return std::max(test::first_define(plan, "EACH"), test::first_define(plan, "SINGLE")) == 2;
        };
        for (const std::string& line : lines) EXPECT_EQ(eights(line), way != "texels") << line;
        for (const std::string& line : others) EXPECT_FALSE(eights(line)) << line;
    }
}

/// Operands that other operators make, or that lie in several bindings, have no such loads. What follows is fused too.
TEST_F(FastFp16, VectorsOfOtherOperands) {
    const auto whole = test::open_with(with_small_tiles), tiles = test::open_with(with_tiles);
    const auto parts = test::open_with([](DevicePlan& plan) {
        with_small_tiles(plan);
        plan.max_binding_bytes = 4096;
    });
    if (!whole->plan().has_fp16) GTEST_SKIP() << "the device has no fp16 arithmetic";
    for (const char* line : {"matmul f16 1x1x70x64", "fully_connected f16 1x100 64 clamp"})
        for (const auto& device : {whole, tiles, parts}) check(device, line, "gemm_split");
    for (const bool first : {false, true}) {
        for (const bool second : {false, true}) {
            GraphBuilder b("product", level_8k);
            const ValueId x = b.input("x", DType::fp16, {2, 1, 96}), y = b.input("y", DType::fp16, {2, 96, 8});
            const ValueId z = b.input("z", DType::fp16, {2, 1, 8}), zero = b.scalar(DType::fp16, 0);
            const auto made = [&](ValueId of, const char* name) {
                return b.add1(Op::abs, {of}, DType::fp16, {}, name);
            };
            const ValueId product =
                b.add1(Op::matmul, {first ? made(x, "row") : x, second ? made(y, "columns") : y, zero, zero},
                       DType::fp16, {}, "product");
            b.output(b.add1(Op::add, {product, z}, DType::fp16, {}, "sum"));
            const auto graph = std::make_shared<const Graph>(to_fp16(b.finish(), true));
            for (const auto& device : {whole, tiles, parts}) {
                const Plan plan = make_plan(*graph, device->plan(), {});
                ASSERT_EQ(plan.dispatches.size(), 1u);
                const std::string& glsl = plan.dispatches[0].glsl;
                EXPECT_EQ(glsl.find("#define IN0_EIGHTS") == std::string::npos, first);
                EXPECT_EQ(glsl.find("#define IN1_EIGHTS") == std::string::npos, second);
                EXPECT_EQ(test::first_define(plan, "EACH"), 2);
                const CheckReport report = Checker(device, graph).run(9);
                EXPECT_TRUE(report.passed) << first << second << ": " << report.detail;
            }
        }
    }
}

/// By the rule for many channels alone; else as a tuner's choice, of every form, sizes that leave tiles at the edges. A
/// device without fp16 arithmetic has them in fp32.
TEST_F(FastFp16, Winograd) {
    const std::string line = "conv2d f16 1x9x7x22 18x3x3 p1 clamp";
    const auto device = test::open_with(with_registers), large = test::open_with(with_tiles);
    const auto without = test::open_with([](DevicePlan& plan) {
        with_tiles(plan);
        plan.has_fp16 = false;
    });
    const auto graph = fast_graph(line), exact = std::make_shared<const Graph>(load_problem(line, level_8k));
    for (const auto& used : {large, device, without}) {
        const std::vector<KernelSite> sites = kernel_sites(*graph, used->plan(), {});
        ASSERT_EQ(sites.size(), 1u);
        std::size_t forms = 0;
        for (const std::string& candidate : sites[0].candidates) {
            if (!candidate.starts_with("Winograd")) continue;
            ++forms;
            const auto table = std::make_shared<TuningTable>();
            table->choices.emplace(sites[0].signature, candidate);
            const CheckReport report = Checker(used, graph, nullptr, table).run(5);
            EXPECT_TRUE(report.passed) << candidate << ": " << report.detail;
        }
        // Of fp16, 2x2 outputs fit into 64 registers, of fp32 none.
        EXPECT_EQ(forms, used != device ? 2u : device->plan().has_fp16 ? 1u : 0u);
        for (const KernelSite& site : kernel_sites(*exact, used->plan(), {})) {
            for (const std::string& candidate : site.candidates)
                EXPECT_FALSE(candidate.starts_with("Winograd")) << "for exact results";
        }
    }
    for (const auto& used : {large, without}) {
        const Plan plan = make_plan(*fast_graph("conv2d f16 1x14x14x128 128x3x3 p1"), used->plan(), {});
        std::vector<std::string> kernels;
        for_each_dispatch(plan, [&](const Dispatch& dispatch) { kernels.push_back(dispatch.kernel); });
        EXPECT_EQ(kernels, (std::vector<std::string>{"winograd_input", "gemm_tiles", "winograd_output"}));
    }
}

TEST_F(FastFp16, ChainsAndRows) {
    check(device_, "chain f32 10000 add mul sigmoid tanh", "elementwise");
    check(device_, "softmax f32 40x100", "rows");
    for (const char* line : {"gather f16 1x30x1 10", "cumulate f16 7x30", "cumulate f16 9x12x8 axis1"}) {
        const CheckReport report = Checker(device_, fast_graph(line)).run(3);
        EXPECT_TRUE(report.passed) << line << ": " << report.detail;
    }
}

/// In one dispatch or several; odd numbers of rows and keys, heads that leave invocations idle, keys shared by parts.
TEST_F(FastFp16, Attention) {
    const char* const lines[] = {"attention f32 2x37x32",
                                 "attention f32 3x20x40 keys75 values24 mask",
                                 "attention f32 1x16x64 keys300 mask",
                                 "attention f16 2x70x64 keys64 clamp",
                                 "attention f32 1x9x136 keys33 values140",
                                 "attention f32 1x32x32"};
    const auto apart = [](const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph) {
        PlanOptions options;
        options.fuse_attention = false;
        return Executable::create(device, graph, make_plan(*graph, device->plan(), options));
    };
    for (const auto& device : {test::open_with(with_tiles), test::open_with(with_small_tiles)}) {
        if (!device->plan().has_fp16) GTEST_SKIP() << "the device has no fp16 arithmetic";
        for (const char* line : lines) {
            check(device, line, "attention");
            const auto graph = fast_graph(line);
            EXPECT_EQ(make_plan(*graph, device->plan(), {}).dispatches.size(), 1u) << line;
            const CheckReport report = Checker(device, graph, apart(device, graph)).run(7);
            EXPECT_TRUE(report.passed) << line << ", in several dispatches: " << report.detail;
        }
    }
}

/// What the masks of models hold: scores that are to count for nothing, the first tile's among them.
TEST_F(FastFp16, MaskedAttention) {
    constexpr std::int64_t batch = 2, heads = 3, rows = 18, keys = 150, size = 32;
    for (const double masked : {-60000.0, -static_cast<double>(INFINITY)}) {
        GraphBuilder b("attention");
        const DType type = DType::fp16;
        const ValueId zero = b.scalar(type, 0);
        std::vector<double> numbers;
        for (std::int64_t n = 0; n < batch; ++n) {
            for (std::int64_t k = 0; k < keys; ++k) numbers.push_back(n == 0 ? (k < 70 ? masked : 0) : k % 2 * masked);
        }
        if (std::isinf(masked)) std::ranges::replace_if(numbers, [](double v) { return std::isnan(v); }, 0.0);
        const ValueId scores = b.add1(Op::matmul,
                                      {b.input("q", type, {batch * heads, rows, size}),
                                       b.input("k", type, {batch * heads, size, keys}), zero, zero},
                                      type);
        const ValueId shaped = b.add1(Op::reshape, {scores, b.shape(Shape{batch, heads, rows, keys})}, type);
        const ValueId x =
            b.add1(Op::add, {b.constant("mask", type, {batch, 1, 1, keys}, encode_reals(type, numbers)), shaped}, type);
        Attributes row;
        row.axis = 3;
        const ValueId e = b.add1(Op::exp, {b.add1(Op::sub, {x, b.add1(Op::reduce_max, {x}, type, row)}, type)}, type);
        const ValueId share = b.add1(Op::reciprocal, {b.add1(Op::reduce_sum, {e}, type, row)}, type);
        const ValueId weights = b.add1(Op::mul, {share, e, b.scalar(DType::i8, 0)}, type);
        const ValueId flat = b.add1(Op::reshape, {weights, b.shape(Shape{batch * heads, rows, keys})}, type);
        b.output(b.add1(Op::matmul, {flat, b.input("v", type, {batch * heads, keys, size}), zero, zero}, type));
        Graph made = b.finish();
        make_fast(made);
        const auto graph = std::make_shared<const Graph>(std::move(made));
        for (const auto& device : {test::open_with(with_tiles), test::open_with(with_small_tiles)}) {
            const Plan plan = make_plan(*graph, device->plan(), {});
            EXPECT_EQ(plan.dispatches.size() == 1, device->plan().has_fp16);
            const CheckReport report = Checker(device, graph).run(3);
            EXPECT_TRUE(report.passed) << masked << ": " << report.detail;
        }
    }
}

/// What is wrong by more than fp16's own errors is not taken.
TEST(FastFp16Bound, IsABound) {
    const auto graph = fast_graph("matmul f16 1x8x64x8");
    NodeId node = 0;
    while (graph->node(node).op != Op::matmul) ++node;
    const NodeView view(*graph, node);
    std::vector<HostTensor> operands;
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        const Value& value = view.in(k);
        operands.push_back(value.is_constant() ? HostTensor(value.type, value.shape) : random_input(*graph, k, 3));
        if (value.is_constant()) operands.back().bytes = value.data.copy();
    }
    std::vector<const HostTensor*> given;
    for (const HostTensor& operand : operands) given.push_back(&operand);
    HostTensor result = reference_node(view, given, nullptr).at(0);
    EXPECT_TRUE(check_node_result(view, given, 0, result).passed);
    std::vector<double> values = decode_reals(result.type, result.bytes);
    const auto largest = std::max_element(values.begin(), values.end());
    *largest *= 0.9;
    result.bytes = encode_reals(result.type, values);
    EXPECT_FALSE(check_node_result(view, given, 0, result).passed);
}

}  // namespace
}  // namespace tosavk
