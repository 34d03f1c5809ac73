// The kernels of matrix products that the device at hand would not choose itself: tiles in shared memory in the grids
// of 64, 128 and 256 invocations, four products by one instruction, sums that several invocations share, cooperative
// matrices, rows that no invocation shares.
#include "support/one_node.hpp"

#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "support/plan_labels.hpp"
#include "verify/checker.hpp"
#include "vk/measure/cooperative_check.hpp"

#include <fmt/format.h>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

struct Form {
    std::uint32_t workgroup_size;
    bool busy, dot4;
    const char* kernel;
    bool mixed = false;           ///< dot4, of signed by unsigned numbers
    std::uint32_t registers = 0;  ///< of the plan; 0: the device's
};

/// `kernel`: by which it must run; null: any.
void check_products(const std::shared_ptr<Device>& device, Graph&& graph, const std::string& name, const char* kernel,
                    std::uint32_t invocations = 0) {
    const auto shared = std::make_shared<const Graph>(std::move(graph));
    const Plan plan = make_plan(*shared, device->plan(), {});
    ASSERT_EQ(plan.dispatches.size() - test::widened(plan) - test::turned(plan), 1u) << name;
    const Dispatch& product = test::first_of(plan);
    if (kernel) {
        EXPECT_EQ(product.kernel, kernel) << name;
    }
    if (invocations != 0) {
        EXPECT_EQ(product.invocations, invocations) << name;
    }
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    Checker checker(device, shared);
    const CheckReport report = checker.run(seed);
    EXPECT_TRUE(report.passed) << name << ", seed " << seed << "\n" << report.detail;
}

// Weights of i8 have a zero point in TOSA, whatever quantizers write.
Graph convolution_with_zero_points(Op op, std::int64_t out, std::int64_t channels, bool bias_at_run_time) {
    GraphBuilder b("product", level_none);
    std::vector<std::int64_t> weights, bias;
    for (std::int64_t i = 0; i < out * 9 * channels; ++i) weights.push_back((i * 2654435761 >> 7) % 256 - 128);
    for (std::int64_t i = 0; i < out; ++i) bias.push_back((i - 30) * 1001);
    Attributes attrs;
    attrs.pad = {1, 1, 1, 1};
    const bool transposed = op == Op::transpose_conv2d;
    attrs.stride = transposed ? std::vector<std::int32_t>{2, 2} : std::vector<std::int32_t>{1, 1};
    if (!transposed) attrs.dilation = {1, 1};
    attrs.acc_type = DType::i32;
    const ValueId x = b.input("x", DType::i8, {1, 10, 9, channels});
    const ValueId added =
        bias_at_run_time ? b.input("bias", DType::i32, {out}) : b.constant_ints("bias", DType::i32, {out}, bias);
    b.output(b.add1(op,
                    {x, b.constant_ints("weight", DType::i8, {out, 3, 3, channels}, weights), added,
                     b.scalar(DType::i8, -7), b.scalar(DType::i8, 11)},
                    DType::i32, attrs, "sums"));
    return b.finish();
}

Graph matmul_with_zero_points(bool at_run_time) {
    GraphBuilder b("product", level_none);
    const ValueId x = b.input("x", DType::i8, {1, 90, 70}), y = b.input("y", DType::i8, {1, 70, 101});
    const ValueId a_zp = at_run_time ? b.input("a_zp", DType::i8, {1}) : b.scalar(DType::i8, -128);
    const ValueId b_zp = at_run_time ? b.input("b_zp", DType::i8, {1}) : b.scalar(DType::i8, 127);
    b.output(b.add1(Op::matmul, {x, y, a_zp, b_zp}, DType::i32, {}, "sums"));
    return b.finish();
}

class Products : public test::GpuTestWith<Form> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        const DeviceCaps& caps = device_->caps();
        if (GetParam().workgroup_size > caps.max_workgroup_invocations)
            GTEST_SKIP() << "the device has no workgroups that large";
        if (GetParam().dot4 && !caps.integer_dot_product) GTEST_SKIP() << "the device has no integer dot products";
        // SwiftShader, whose plan has no such tiles, compiles for minutes what others do in a second.
        if (device_->plan().own_rows == 0 && std::string(GetParam().kernel) == "gemm_tiles")
            GTEST_SKIP() << "the driver takes minutes to compile large register tiles";
        used_ = test::open_with([](DevicePlan& plan) {
            test::without_matrices(plan);
            plan.workgroup_size = GetParam().workgroup_size;
            const std::string kernel = GetParam().kernel;
            plan.subgroup_lanes = 1;
            plan.shared_rows = false;
            plan.shared_tiles = kernel != "gemm_direct";
            plan.product_tiles = kernel == "gemm_tiles";
            plan.product_tile_bytes = 32768;
            plan.least_tiles = 1;
            plan.tile_quads = GetParam().workgroup_size == 256 ? 1 : 2;
            plan.own_rows = kernel == "gemm_direct" ? 8 : 0;
            plan.slow_storage = plan.slow_storage && kernel != "gemm_direct";
            plan.dot4 = GetParam().dot4;
            plan.dot4_mixed = GetParam().mixed;
            if (GetParam().registers != 0) plan.registers = GetParam().registers;
            plan.busy_invocations = GetParam().busy ? 1 : 1 << 20;
        });
    }

    void check(Graph&& graph, const std::string& name) {
        // Fewer rows than the smallest tile has.
        const char* own = name == "conv2d i8 1x1x1x200 100x1x1 rescale" ? "conv"
                        : name == "matmul f32 2x3x100x37"               ? "matmul"
                                                                        : nullptr;
        const std::string kernel = GetParam().kernel;
        // Tiles that would be empty for the most part are left to others on a device that they leave idle, and of few
        // rows on any.
        const bool any = kernel == "gemm_tiles" && (!GetParam().busy || own);
        check_products(used_, std::move(graph), name,
                       any                              ? nullptr
                       : own && kernel == "gemm_direct" ? own
                                                        : GetParam().kernel);
    }

    std::shared_ptr<Device> used_;
};

TEST_P(Products, LinesAgreeWithTheReference) {
    for (const char* line :
         {"matmul f32 1x64x64x64", "matmul f32 3x70x45x67", "matmul i8 2x67x70x66 rescale", "matmul f16 1x130x33x65",
          "matmul f32 2x3x100x37", "conv2d f32 1x12x11x20 70x3x3 s1 p1 clamp", "conv2d f32 2x17x13x9 33x3x3 s2 p1 d2",
          "conv2d i8 1x12x11x20 70x3x3 s1 p1 rescale clamp", "conv2d i8 2x17x13x9 33x3x3 s2 p1 d2 rescale",
          "conv2d i8 1x1x1x200 100x1x1 rescale", "conv2d bf16 1x9x9x40 66x3x3 p1",
          "conv3d f32 1x5x6x7x9 70x3x3x2 p1 clamp", "conv3d i8 2x4x6x7x20 66x2x3x3 p1 d2 rescale",
          "conv3d f16 1x7x8x7x12 67x3x2x3 s2 p1", "transpose_conv2d f32 1x9x8x20 70x3x3 s2",
          "transpose_conv2d i8 2x9x8x33 66x2x2 s2 rescale", "transpose_conv2d bf16 1x7x9x24 66x4x3 s1",
          // Sums of 48 bits, of more than the 256 products that fit 32.
          "conv2d 16x8 2x9x7x131 33x3x3 s2 p1 d2", "conv3d 16x8 1x4x6x5x33 66x2x2x3 s1 p1",
          "transpose_conv2d 16x8 1x7x8x100 37x5x5 s2,3", "matmul i16 2x67x70x66 rescale", "matmul i16 1x66x1030x37",
          "matmul i16 1x128x40x128 rescale", "conv3d bf16 1x4x6x7x24 70x2x3x3 s1 p1",
          // Phases that have fewer taps than others, or none, and outputs that are no whole strides.
          "transpose_conv2d f32 2x7x6x35 66x3x2 s2,3 p1,2,0,1",
          "transpose_conv2d i8 1x8x9x37 33x4x5 s3,2 rescale clamp", "transpose_conv2d f16 1x9x9x40 20x1x3 s2"})
        check(load_problem(line), line);
}

TEST_P(Products, BlocksThatAreTakenTogetherLieInOneTap) {
    if (std::string(GetParam().kernel) != "gemm_split")
        GTEST_SKIP() << "taps are found for each block, or once for all";
    for (const char* line :
         {"conv2d f32 1x6x7x24 20x3x3 p1 clamp", "conv2d i8 2x9x7x32 33x3x3 s2 p1 d2 rescale",
          "conv2d i8 1x5x5x128 12x3x3 p1 rescale", "conv2d bf16 1x6x5x16 9x1x5 p0,0,2,2",
          "conv3d f16 1x4x5x6x16 12x2x3x3 p1", "conv3d i8 1x3x5x6x48 10x2x2x2 p1 rescale",
          // Without padding, with some, and with phases that have other taps or none.
          "transpose_conv2d f32 1x6x7x64 12x2x2 s2", "transpose_conv2d i8 1x6x7x64 12x2x2 s2 rescale",
          "transpose_conv2d i8 2x6x7x32 12x4x4 s2 p-1 rescale", "transpose_conv2d f32 2x5x6x32 8x3x5 s2,3 p1,0,0,2",
          "transpose_conv2d f16 1x5x6x32 8x2x1 s3"}) {
        const std::string glsl = test::first_of(make_plan(load_problem(line), used_->plan(), {})).glsl;
        EXPECT_NE(glsl.find("#define JOINED 1\n"), std::string::npos) << line;
        check_products(used_, load_problem(line), line, "gemm_split");
    }
}

TEST_P(Products, PartsShareTheInnerDimension) {
    if (std::string(GetParam().kernel) != "gemm_tiles" || GetParam().busy) GTEST_SKIP() << "nothing is shared";
    for (const char* line :
         {"matmul f32 1x128x256x64", "matmul f32 2x128x333x60", "matmul i8 2x128x264x128 rescale",
          "matmul i8 1x128x516x64 rescale", "conv2d f32 1x16x16x64 64x3x3 p1 clamp", "conv2d f16 1x16x16x32 32x3x3 p1",
          "conv2d i8 1x16x16x128 64x3x3 p1 rescale", "conv2d i8 1x16x16x100 64x3x3 p1 rescale",
          "conv3d f32 1x4x8x8x64 64x2x3x3 p1 clamp", "transpose_conv2d f32 1x16x16x64 64x4x4 s2",
          "conv2d f32 1x32x16x96 16x3x3 p1", "conv2d i8 1x32x16x256 16x1x1 rescale"}) {
        const std::string glsl = test::first_of(make_plan(load_problem(line), used_->plan(), {})).glsl;
        EXPECT_EQ(glsl.find("#define SPLIT 1\n"), std::string::npos) << line;
        EXPECT_NE(glsl.find("#define SPLIT "), std::string::npos) << line;
        check_products(used_, load_problem(line), line, "gemm_tiles");
    }
}

TEST_P(Products, GroupsHaveTapsOfTheirOwn) {
    if (std::string(GetParam().kernel) != "gemm_tiles" || GetParam().busy) GTEST_SKIP() << "nothing is shared";
    for (const char* line : {"conv2d f32 1x16x16x48 64x3x3 p1 clamp", "conv2d i8 1x17x13x48 61x3x3 s2 p1 rescale",
                             "conv2d f32 1x12x11x32 64x2x2 s1", "conv3d f32 2x4x7x8x48 32x3x2x2 p1",
                             "conv2d i8 2x9x10x112 64x3x1 p1,1,0,0 d2 rescale"}) {
        const std::string glsl = test::first_of(make_plan(load_problem(line), used_->plan(), {})).glsl;
        EXPECT_NE(glsl.find("#define TAP_SPLIT 1\n"), std::string::npos) << line;
        check_products(used_, load_problem(line), line, "gemm_tiles");
    }
}

TEST(ProductPlans, FewTilesShareTheirSums) {
    DevicePlan device;
    device.shared_tiles = device.product_tiles = true;
    device.product_tile_bytes = 32768;
    device.registers = 256;
    const auto kernel = [&](const char* line, std::int64_t least) {
        device.least_tiles = least;
        return make_plan(load_problem(line), device, {}).dispatches.at(0).kernel;
    };
    const char* line = "conv2d f32 1x14x14x256 256x3x3 s1 p1";  // 16 tiles of 128x32
    EXPECT_EQ(kernel(line, 16), "gemm_tiles");
    EXPECT_EQ(kernel(line, 17), "gemm_split");
    device.tile_parts = 16;
    EXPECT_EQ(kernel(line, 17), "gemm_tiles");  // and gemm_parts (tile_parts_gpu_test)
    device.tile_parts = 1;
    // Sums of 48 bits go through tiles however few.
    EXPECT_EQ(kernel("matmul i16 1x128x256x128 rescale", 1000), "gemm_tiles");
}

TEST_P(Products, BothZeroPoints) {
    for (const bool at_run_time : {false, true})
        check(matmul_with_zero_points(at_run_time), at_run_time ? "matmul, at run time" : "matmul");
    for (const Op op : {Op::conv2d, Op::transpose_conv2d}) {
        for (const std::int64_t channels : {32, 35, 100}) {
            for (const bool at_run_time : {false, true}) {
                const std::string name = std::string(name_of(op)) + ", channels " + std::to_string(channels) +
                                         (at_run_time ? ", bias at run time" : "");
                check(convolution_with_zero_points(op, 69, channels, at_run_time), name);
            }
        }
    }
}

using OwnKernel = test::GpuTest;

// Sums of 48 bits: chunks of 256 products over taps, rows and phases.
constexpr const char* wide_lines[] = {"conv2d 16x8 2x9x11x100 9x3x3 s2 p1 rescale",
                                      "conv3d 16x8 1x5x6x7x131 6x3x2x3 s1 p1",
                                      "conv3d 16x8 2x4x7x6x6 10x3x3x3 p1",
                                      "transpose_conv2d 16x8 1x7x8x100 9x5x5 s2,3",
                                      "transpose_conv2d 16x8 2x8x9x290 6x3x4 s2 p1,-1,0,2",
                                      "matmul i16 2x30x290x21 rescale"};

TEST_F(OwnKernel, WideSumsAgreeWithTheReference) {
    const auto used = test::open_with([](DevicePlan& plan) {
        test::without_matrices(plan);
        plan.subgroup_lanes = 1;
        plan.own_rows = 0;
        plan.shared_rows = plan.shared_tiles = plan.product_tiles = false;
    });
    for (const std::string line : wide_lines)
        check_products(used, load_problem(line), line, line[0] == 'm' ? "matmul" : "conv");
    check_products(used, load_problem("transpose_conv2d 16x8 1x1x2x3 2x1x2 s3,2"), "few rows", "conv");
}

using SharedRows = test::GpuTest;

TEST_F(SharedRows, WideSumsAgreeWithTheReference) {
    for (const std::int64_t busy : {1, 1 << 20}) {  // 16 rows an invocation or fewer
        const auto used = test::open_with([busy](DevicePlan& plan) {
            test::without_matrices(plan);
            plan.shared_tiles = plan.product_tiles = plan.slow_storage = false;
            plan.shared_rows = plan.subgroup_lanes > 1;
            plan.busy_invocations = busy;
            if (plan.subgroup_lanes == 1) plan.own_rows = 16;
        });
        for (const char* line : wide_lines) check_products(used, load_problem(line), line, "gemm");
    }
}

// Packed weights grow with the phases, most of which have no taps here.
TEST_F(OwnKernel, ManyPhasesAreLeftToTheDirectKernel) {
    const auto used = test::open_with([](DevicePlan& plan) {
        test::without_matrices(plan);
        plan.subgroup_lanes = 1;
        plan.own_rows = 0;
        plan.shared_rows = plan.shared_tiles = plan.product_tiles = false;
    });
    check_products(used, load_problem("transpose_conv2d f32 1x3x2x5 6x1x1 s4"), "16 phases a tap", "conv");
    check_products(used, load_problem("transpose_conv2d f32 1x3x2x5 6x1x1 s4,5"), "20 phases a tap", "conv_direct");
}

using OwnRows = test::GpuTest;

// What a device runs whose invocations share no rows and whose loads are dear: 8 inner elements a step where rows are
// of eights, up to 4 quads of columns, some of which the last invocation of a row may lack.
TEST_F(OwnRows, LinesAgreeWithTheReference) {
    if (!device_->plan().int64) GTEST_SKIP() << "the device has no 64-bit integers";
    const auto own_rows = [](DevicePlan& plan) {
        test::without_matrices(plan);
        plan.subgroup_lanes = 1;
        plan.own_rows = 16;
        plan.shared_rows = plan.shared_tiles = plan.product_tiles = false;
        plan.texel_elements = 0;
        plan.slow_storage = true;
        plan.busy_invocations = 1;
    };
    const auto used = test::open_with(own_rows);
    const struct {
        const char *line, *step, *quads;
    } cases[] = {{"conv2d f32 1x20x19x24 64x3x3 s1 p1 clamp", "8", "4"},
                 {"conv2d f32 1x14x10x24 64x3x3 s1 p1", "8", "4"},
                 {"conv2d i8 1x14x10x24 64x3x3 s1 p1 rescale", "8", "2"},
                 {"conv2d f32 2x9x7x16 40x3x3 s2 p1 d2", "8", "4"},
                 {"conv2d f32 1x12x11x16 70x3x3 p1", "8", "4"},
                 {"conv2d f32 1x12x11x20 64x3x3 s1 p1 clamp", "4", "4"},
                 {"conv2d i8 1x20x19x24 64x3x3 s1 p1 rescale clamp", "8", "2"},
                 {"conv2d i8 1x12x11x16 70x3x3 p1 rescale", "8", "2"},
                 {"conv2d f16 1x9x9x40 64x3x3 p1", "8", "4"},
                 {"matmul f32 2x70x48x32", "8", "4"},
                 {"matmul f32 3x70x40x67", "8", "4"},
                 {"matmul i8 2x90x64x104", "8", "2"},
                 {"matmul i8 1x300x8x128 rescale", "8", "2"},
                 {"conv2d f32 1x9x9x13 22x3x3 p1 clamp", "4", "2"},
                 {"conv2d f32 1x12x11x20 36x3x3 p1", "4", "2"},
                 {"conv2d i8 1x12x11x20 70x3x3 p1 rescale", "4", "2"},
                 {"conv2d i8 1x12x11x13 67x1x1 rescale", "4", "2"},
                 {"matmul f32 2x70x36x20", "4", "2"},
                 {"matmul i8 1x90x21x67 rescale", "4", "2"},
                 {"conv2d f32 1x12x11x16 5x3x3 p1", "8", "2"}};
    for (const auto& [line, step, quads] : cases) {
        const auto graph = std::make_shared<const Graph>(load_problem(line));
        const std::string glsl = test::first_of(make_plan(*graph, used->plan(), {})).glsl;
        EXPECT_NE(glsl.find(std::string("#define STEP_K ") + step + "\n#define TN " + quads + "\n"), std::string::npos)
            << line;
        check_products(used, load_problem(line), line, "gemm");
    }
    check_products(used, convolution_with_zero_points(Op::conv2d, 72, 32, false), "zero points", "gemm");
    // Tensors in several bindings have no eights.
    const auto parts = test::open_with([&](DevicePlan& plan) {
        own_rows(plan);
        plan.max_binding_bytes = 8192;
    });
    check_products(parts, load_problem("conv2d i8 1x20x19x24 64x3x3 s1 p1 rescale"), "several bindings", "gemm");
}

class CooperativeProducts : public test::GpuTest {
protected:
    static constexpr const char* missing = "the device has no cooperative matrices for i8 and fp16";

    /// The device at hand, as one that so many subgroups keep busy and whose invocations hold so many sums (256: the
    /// same tiles for every size of a subgroup); null where it has no such matrices.
    std::shared_ptr<Device> open(std::int64_t busy_subgroups, std::uint32_t sums = 256) {
        const DeviceCaps& caps = device_->caps();
        if (!caps.cooperative_i8 || !caps.cooperative_fp16 || !caps.subgroup_size_control || !caps.vulkan_memory_model)
            return nullptr;
        if (caps.type == "cpu" && caps.subgroup_size != 8)
            return nullptr;  // llvmpipe 26.2 crashes compiling them for 16 lanes
        return test::open_with([&](DevicePlan& plan) {
            plan.cooperative_i8 = caps.cooperative_i8;
            plan.cooperative_fp16 = caps.cooperative_fp16;
            plan.cooperative_fp32_sums = true;
            plan.subgroup_size = caps.subgroup_size;
            plan.matrix_sums = sums;
            plan.dot4 = sums < 256 && caps.integer_dot_product;
            plan.busy_invocations = busy_subgroups * caps.subgroup_size;
        });
    }

    /// Tiles are chosen by the matrices that a device has: the numbers are those of llvmpipe's.
    void check_matrices(const std::shared_ptr<Device>& used, Graph&& graph, const std::string& name,
                        std::uint32_t subgroups) {
        const bool known = device_->caps().type == "cpu";
        check_products(used, std::move(graph), name, known ? "gemm_cooperative" : nullptr,
                       known ? subgroups * used->plan().subgroup_size : 0);
    }

    void check(std::int64_t busy_subgroups, std::uint32_t subgroups, std::initializer_list<const char*> lines,
               std::uint32_t sums = 256) {
        const std::shared_ptr<Device> used = open(busy_subgroups, sums);
        if (!used) GTEST_SKIP() << missing;
        for (const char* line : lines) check_matrices(used, load_problem(line), line, subgroups);
    }
};

TEST_F(CooperativeProducts, LargeTiles) {
    check(1, 8,
          {"matmul f16 1x200x133x100", "matmul i8 2x120x70x90 rescale", "conv2d f16 2x23x19x9 70x3x3 s2 p1 d2",
           "conv2d i8 2x23x19x9 70x3x3 s2 p1 d2 rescale"});
}

// One large tile would leave the device idle, four small ones do not.
TEST_F(CooperativeProducts, SmallTiles) {
    check(128, 4,
          {"matmul f16 1x128x64x128", "matmul f16 1x100x97x90", "matmul f16 1x65x3x127", "matmul i8 1x128x64x128",
           "matmul i8 1x70x257x93 rescale", "conv2d f16 1x11x9x20 70x3x3 s1 p1 clamp",
           "conv2d f16 1x23x19x9 66x3x3 s2 p1 d2", "conv2d i8 1x11x9x20 70x3x3 s1 p1 rescale clamp",
           "conv2d i8 1x23x19x9 66x3x3 s2 p1 d2 rescale"});
}

TEST_F(CooperativeProducts, OtherConvolutions) {
    check(512, 4,
          {"conv3d f16 1x4x7x6x12 67x3x3x2 p1", "conv3d i8 1x5x6x5x9 70x2x3x3 s1 p1 rescale",
           "transpose_conv2d f16 1x9x12x35 66x3x2 s2 p1,2,0,1", "transpose_conv2d i8 1x10x9x20 70x4x5 s3,2 rescale",
           "transpose_conv2d f16 1x9x12x20 66x1x3 s2"});
}

// As of GPUs with few registers, whose first step stands before the loop.
TEST_F(CooperativeProducts, FewSums) {
    check(128, 0,
          {"matmul f16 1x128x64x128", "matmul f16 1x100x97x90", "matmul i8 1x70x257x93 rescale", "matmul i8 2x72x48x68",
           "conv2d i8 1x11x9x32 70x1x1 rescale clamp", "conv2d f16 1x23x19x9 66x3x3 s2 p1 d2"},
          32);
    check(512, 0,
          {"transpose_conv2d f16 1x9x12x35 66x3x2 s2 p1,2,0,1", "transpose_conv2d i8 1x10x9x20 70x4x5 s3,2 rescale",
           "transpose_conv2d f16 1x9x12x20 66x1x3 s2", "conv3d i8 1x5x6x5x9 70x2x3x3 s1 p1 rescale"},
          32);
}

// Taps of whole units, taps that are filled up to them, and units of several taps.
TEST_F(CooperativeProducts, UnitsOfTaps) {
    check(128, 16,
          {"conv2d i8 1x11x9x48 70x3x3 s1 p1 rescale", "conv2d i8 1x11x9x28 70x3x3 s1 p1 rescale",
           "conv2d i8 1x11x9x8 70x3x3 s1 p1 rescale", "conv2d f16 1x11x9x24 70x3x3 s1 p1",
           "conv2d f16 1x11x9x20 70x3x3 s1 p1", "conv2d f16 1x11x9x4 70x3x3 s1 p1",
           // Filled up to whole steps: 28 blocks to 32, 14 to 16, 10 to 12.
           "conv2d i8 1x11x9x112 70x3x3 s1 p1 rescale", "conv2d f16 1x11x9x56 70x3x3 s1 p1",
           "conv2d f16 1x11x9x40 70x3x3 s1 p1"},
          32);
}

// The kernel reads fp16 as bits, the operator behind it as numbers.
TEST_F(CooperativeProducts, AFollowerReadsAnOperandToo) {
    const std::shared_ptr<Device> used = open(128);
    if (!used) GTEST_SKIP() << missing;
    {
        GraphBuilder b("product", level_none);
        const ValueId x = b.input("x", DType::fp16, {1, 96, 96}), zero = b.scalar(DType::fp16, 0);
        const ValueId y =
            b.add1(Op::matmul, {x, b.input("y", DType::fp16, {1, 96, 96}), zero, zero}, DType::fp16, {}, "product");
        b.output(b.add1(Op::add, {y, x}, DType::fp16, {}, "sum"));
        check_matrices(used, b.finish(), "matmul + x", 4);
    }
    GraphBuilder b("convolution", level_none);
    const std::int64_t channels = 80;
    std::vector<float> weights;
    for (std::int64_t i = 0; i < channels * channels; ++i)
        weights.push_back(static_cast<float>(i * 37 % 64 - 32) / 256);
    Attributes attrs;
    attrs.pad = {0, 0, 0, 0};
    attrs.stride = attrs.dilation = {1, 1};
    attrs.acc_type = DType::fp32;
    const ValueId x = b.input("x", DType::fp16, {1, 9, 11, channels}), zero = b.scalar(DType::fp16, 0);
    const ValueId weight = b.constant_floats("weight", DType::fp16, {channels, 1, 1, channels}, weights);
    const ValueId y =
        b.add1(Op::conv2d, {x, weight, b.scalar(DType::fp16, 0.5), zero, zero}, DType::fp16, attrs, "convolution");
    b.output(b.add1(Op::add, {y, x}, DType::fp16, {}, "sum"));
    check_matrices(used, b.finish(), "conv2d + x", 4);
}

TEST_F(CooperativeProducts, SumsPassTheCheck) {
    const std::shared_ptr<Device> used = open(1);
    if (!used) GTEST_SKIP() << missing;
    const CooperativeSums sums = check_cooperative_sums(used);
    EXPECT_TRUE(sums.fp16) << "plans would leave fp16 to other kernels";
    if (device_->caps().type == "cpu") {  // GPUs may cut their sums off, not round them
        EXPECT_TRUE(sums.fp32);
    }
}

TEST_F(CooperativeProducts, BothZeroPoints) {
    for (const std::uint32_t sums : {256u, 32u}) {
        const std::shared_ptr<Device> used = open(128, sums);
        if (!used) GTEST_SKIP() << missing;
        const std::uint32_t subgroups = sums == 256 ? 4 : 0;
        for (const bool at_run_time : {false, true}) {
            const std::string name = at_run_time ? "at run time" : "constant";
            check_matrices(used, matmul_with_zero_points(at_run_time), "matmul, zero points " + name, subgroups);
            for (const Op op : {Op::conv2d, Op::transpose_conv2d}) {
                check_matrices(used, convolution_with_zero_points(op, 69, 35, at_run_time),
                               std::string(name_of(op)) + ", bias " + name, subgroups);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Products,
    ::testing::Values(Form{64, true, false, "gemm_tiles"}, Form{128, false, false, "gemm_tiles"},
                      Form{256, false, false, "gemm_tiles"}, Form{128, true, false, "gemm_tiles", false, 128},
                      Form{64, true, true, "gemm_tiles"}, Form{128, false, true, "gemm_tiles"},
                      Form{256, true, true, "gemm_tiles"}, Form{64, false, false, "gemm_split"},
                      Form{256, false, false, "gemm_split"}, Form{64, false, true, "gemm_split"},
                      Form{64, true, false, "gemm_direct"}, Form{128, false, false, "gemm_direct"},
                      Form{64, true, true, "gemm_direct"}, Form{128, false, true, "gemm_tiles", true},
                      Form{64, false, true, "gemm_split", true}, Form{64, true, true, "gemm_direct", true}),
    [](const auto& form) {
        const Form& f = form.param;
        return std::string(f.kernel) + (f.mixed ? "_mixed" : "") + (f.dot4 ? "_dot4_" : "_") +
               std::to_string(f.workgroup_size) + (f.registers != 0 ? "_registers_" + std::to_string(f.registers) : "");
    });

}  // namespace
