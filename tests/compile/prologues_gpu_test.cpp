// Kernels that compute what they read, on the device: the bits of a run without prologues, and the reference.
// TOSAVK_TEST_SEEDS sets the number of random graphs per type and kernel (default 2, at most 3).
#include "ops/builder.hpp"
#include "ops/print.hpp"
#include "support/gpu_test.hpp"
#include "support/run.hpp"
#include "support/same_bits.hpp"
#include "verify/checker.hpp"
#include "vk/run/context.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace tosavk {
namespace {

constexpr const char* made_there = "is made where it is read";

/// Whose axes are powers of two, and whose type is fp32.
bool is_transform(Op op) { return op == Op::fft2d || op == Op::rfft2d; }

/// A chain of elementwise operators and moves over one type, and a kernel that reads its result.
class RandomGraph {
public:
    RandomGraph(DType type, Op kernel, std::uint32_t seed)
        : type_(type), kernel_(kernel), random_(seed), builder_("prologue") {}

    Graph build() {
        const std::vector<std::int64_t> sizes = {1, 2, 3, 4, 5, 8, 17, 64};
        // A row may take some invocations, or two passes.
        shape_ = {pick(sizes), pick(sizes), pick(sizes)};
        if (random_() % 4 == 0) shape_[random_() % 3] = 3001;
        if (kernel_ == Op::matmul || kernel_ == Op::conv2d || kernel_ == Op::depthwise_conv2d ||
            kernel_ == Op::transpose_conv2d) {
            shape_ = {1, pick(sizes), 4 * (1 + pick(sizes) % 8) + pick<std::int64_t>({0, 0, 1})};
        }
        if (is_transform(kernel_))
            shape_ = {pick<std::int64_t>({1, 3}), pick<std::int64_t>({2, 8, 16}), pick<std::int64_t>({16, 32, 64})};
        ValueId x = input(shape_);
        if (!is_transform(kernel_) && random_() % 2 == 0) x = move(x);
        const int steps = 1 + static_cast<int>(random_() % 3);
        for (int k = 0; k < steps; ++k) x = step(x);
        builder_.output(end(x));
        return builder_.finish();
    }

private:
    template <class T> T pick(const std::vector<T>& of) { return of[random_() % of.size()]; }
    ValueId input(const Shape& shape, DType type = DType::shape) {
        return builder_.input("x" + std::to_string(inputs_++), type == DType::shape ? type_ : type, shape);
    }
    const Shape& shape(ValueId id) const { return builder_.value(id).shape; }

    ValueId move(ValueId x) {
        Shape s = shape(x);
        const std::size_t axis = random_() % 3;
        Attributes attrs;
        attrs.axis = static_cast<std::int32_t>(axis);
        switch (random_() % 5) {
            case 0: {
                Shape start(3, 0);
                start[axis] = s[axis] / 2;
                s[axis] -= start[axis];
                return builder_.add1(Op::slice, {x, builder_.shape(start), builder_.shape(s)}, type_);
            }
            case 1: {
                Shape around(6, 0);
                around[2 * axis + 1] = 3;
                around[2 * axis] = 1;
                return builder_.add1(Op::pad, {x, builder_.shape(around), builder_.scalar(type_, 5)}, type_);
            }
            case 2: return builder_.add1(Op::reverse, {x}, type_, attrs);
            case 3: {
                Shape times(3, 1);
                if (element_count(s) < 2000) times[axis] = 2;
                return builder_.add1(Op::tile, {x, builder_.shape(times)}, type_);
            }
            default: {
                attrs.perms = {1, 0, 2};
                return builder_.add1(Op::transpose, {x}, type_, attrs);
            }
        }
    }

    /// Another operand: as large, or broadcast along some axes.
    ValueId partner(ValueId x, DType type) {
        Shape s = shape(x);
        for (std::int64_t& size : s) size = random_() % 2 == 0 ? size : 1;
        return input(s, type);
    }

    ValueId step(ValueId x) {
        if (type_ == DType::i8) {
            const ValueId wide = builder_.add1(Op::cast, {x}, DType::i32);
            const ValueId sum =
                builder_.add1(pick<Op>({Op::add, Op::sub, Op::maximum}), {wide, partner(x, DType::i32)}, DType::i32);
            return builder_.add1(Op::cast, {sum}, DType::i8);
        }
        switch (random_() % 5) {
            case 0: {
                const Op op =
                    is_float(type_) ? pick<Op>({Op::exp, Op::tanh, Op::abs}) : pick<Op>({Op::abs, Op::bitwise_not});
                return builder_.add1(op, {x}, type_);
            }
            case 1: return builder_.add1(Op::select, {partner(x, DType::boolean), x, partner(x, type_)}, type_);
            case 2: {
                if (is_transform(kernel_)) return builder_.add1(Op::floor, {x}, type_);
                const Shape& s = shape(x);
                const Shape turned = {s[1], s[0], s[2]};
                return builder_.add1(Op::reshape, {x, builder_.shape(turned)}, type_);
            }
            default: return builder_.add1(pick<Op>({Op::add, Op::sub, Op::maximum}), {x, partner(x, type_)}, type_);
        }
    }

    ValueId end(ValueId x) {
        const Shape s = shape(x);
        Attributes attrs;
        attrs.axis = static_cast<std::int32_t>(random_() % 3);
        const auto image = [&] {
            const Shape four = {1, s[0], s[1], s[2]};
            return builder_.add1(Op::reshape, {x, builder_.shape(four)}, type_);
        };
        const ValueId zero = builder_.scalar(type_, 0);
        switch (kernel_) {
            case Op::argmax: return builder_.add1(Op::argmax, {x}, DType::i32, attrs);
            case Op::gather: {
                const std::vector<std::int64_t> rows = {0, s[1] - 1, s[1] / 2};
                std::vector<std::int64_t> all;
                for (std::int64_t n = 0; n < s[0]; ++n) all.insert(all.end(), rows.begin(), rows.end());
                return builder_.add1(Op::gather, {x, builder_.constant_ints("rows", DType::i32, {s[0], 3}, all)},
                                     type_);
            }
            case Op::scatter: {
                // As what is kept, or as what replaces rows.
                const std::vector<std::int64_t> rows =
                    s[1] > 2 ? std::vector<std::int64_t>{s[1] - 1, 1} : std::vector<std::int64_t>{0};
                const bool kept = random_() % 2 == 0;
                const std::int64_t updates = kept ? static_cast<std::int64_t>(rows.size()) : s[1];
                std::vector<std::int64_t> all;
                for (std::int64_t n = 0; n < s[0]; ++n) {
                    for (std::int64_t w = 0; w < updates; ++w)
                        all.push_back(kept ? rows[static_cast<std::size_t>(w)] : 2 * w);
                }
                const ValueId indices = builder_.constant_ints("rows", DType::i32, {s[0], updates}, all);
                if (kept) return builder_.add1(Op::scatter, {x, indices, input({s[0], updates, s[2]})}, type_);
                return builder_.add1(Op::scatter, {input({s[0], 2 * s[1], s[2]}), indices, x}, type_);
            }
            case Op::resize: {
                // Half as large: each element is read once, or between four.
                const bool bilinear = random_() % 2 == 0;
                const std::int64_t n = bilinear ? 2 : 1, d = bilinear ? 4 : 2, offset = bilinear ? 1 : 0;
                const auto border = [&](std::int64_t size) {
                    const std::int64_t span = (size - 1) * n - offset;
                    return span < 0 ? -span : -(span % d);
                };
                const std::int64_t scale[] = {n, d, n, d}, offsets[] = {offset, offset},
                                   borders[] = {border(s[0]), border(s[1])};
                attrs.mode = bilinear ? ResizeMode::bilinear : ResizeMode::nearest;
                const DType out = bilinear && type_ == DType::i8 ? DType::i32 : type_;
                return builder_.add1(Op::resize,
                                     {image(), builder_.shape(scale), builder_.shape(offsets), builder_.shape(borders)},
                                     out, attrs);
            }
            case Op::fft2d:
            case Op::rfft2d: {
                const std::vector<ValueId> in =
                    kernel_ == Op::fft2d ? std::vector<ValueId>{x, input(s)} : std::vector<ValueId>{x};
                const DType outs[] = {DType::fp32, DType::fp32};
                const std::vector<ValueId> out = builder_.add(kernel_, in, attrs, outs);
                builder_.output(out[1]);
                return out[0];
            }
            case Op::max_pool2d:
            case Op::avg_pool2d: {
                attrs.kernel = attrs.stride = {static_cast<std::int32_t>(s[0] % 2 == 0 && s[0] <= 64 ? 2 : 1), 1};
                attrs.pad = {0, 0, 0, 0};
                attrs.acc_type = is_float(type_) ? DType::fp32 : DType::i32;
                if (kernel_ == Op::max_pool2d) return builder_.add1(kernel_, {image()}, type_, attrs);
                return builder_.add1(kernel_, {image(), zero, zero}, type_, attrs);
            }
            case Op::matmul: {
                const DType out = type_ == DType::i8 ? DType::i32 : type_;
                // A with few columns beside it, or B with one row.
                if (random_() % 2 == 0) return builder_.add1(Op::matmul, {input({s[0], 1, s[1]}), x, zero, zero}, out);
                return builder_.add1(Op::matmul, {x, input({s[0], s[2], 3}), zero, zero}, out);
            }
            case Op::conv2d:
            case Op::depthwise_conv2d: {
                const DType out = type_ == DType::i8 ? DType::i32 : type_;
                const Shape weights = kernel_ == Op::conv2d ? Shape{3, 1, 1, s[2]} : Shape{1, 1, s[2], 1};
                const ValueId w =
                    builder_.constant("w", type_, weights, random_tensor(type_, weights, random_()).bytes);
                attrs.pad = {0, 0, 0, 0};
                attrs.stride = attrs.dilation = {1, 1};
                attrs.acc_type = is_float(type_) ? DType::fp32 : DType::i32;
                return builder_.add1(kernel_, {image(), w, builder_.scalar(out, 1), zero, zero}, out, attrs);
            }
            case Op::transpose_conv2d: {
                // Each element is read once a tap; weights that come at run time leave it to the direct kernel.
                const DType out = type_ == DType::i8 ? DType::i32 : type_;
                const Shape weights = {3, 2, 1, s[2]};
                const ValueId w = random_() % 2 == 0 ? builder_.constant("w", type_, weights,
                                                                         random_tensor(type_, weights, random_()).bytes)
                                                     : input(weights);
                attrs.pad = {0, 0, 0, 0};
                attrs.stride = {2, 1};
                attrs.acc_type = is_float(type_) ? DType::fp32 : DType::i32;
                return builder_.add1(kernel_, {image(), w, builder_.scalar(out, 1), zero, zero}, out, attrs);
            }
            case Op::transpose: {
                attrs.perms = {2, 0, 1};
                return builder_.add1(Op::transpose, {x}, type_, attrs);
            }
            default: return builder_.add1(kernel_, {x}, type_, attrs);
        }
    }

    DType type_;
    Op kernel_;
    std::mt19937 random_;
    GraphBuilder builder_;
    Shape shape_;
    int inputs_ = 0;
};

/// The outputs of a run; `used`: whether a kernel computed what it reads.
std::vector<HostTensor> run(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
                            const PlanOptions& options, bool* used = nullptr) {
    Plan plan = make_plan(*graph, device->plan(), options);
    if (used) *used = print_plan(*graph, plan).find(made_there) != std::string::npos;
    return test::run(device, graph, std::move(plan));
}

PlanOptions without_prologues() {
    PlanOptions options;
    options.fuse_prologues = false;
    return options;
}

using ProloguesInParts = test::GpuTest;
using Prologues = test::GpuTestWith<Op>;

TEST_P(Prologues, RandomChainsKeepTheirBits) {
    const std::uint64_t count = std::clamp<std::uint64_t>(test::number_from_environment("TOSAVK_TEST_SEEDS", 2), 1, 3);
    const Op kernel = GetParam();
    std::size_t with = 0;
    for (const DType type : {DType::fp32, DType::fp16, DType::i32, DType::i8}) {
        const bool only_floats = kernel == Op::reduce_product, no_i8 = kernel == Op::reduce_sum;
        const bool no_i32 = kernel == Op::argmax || kernel == Op::resize || kernel == Op::avg_pool2d ||
                            kernel == Op::max_pool2d || kernel == Op::matmul || kernel == Op::conv2d ||
                            kernel == Op::depthwise_conv2d || kernel == Op::transpose_conv2d;
        if ((is_transform(kernel) && type != DType::fp32) || (only_floats && !is_float(type))) continue;
        if ((no_i8 && type == DType::i8) || (no_i32 && type == DType::i32)) continue;
        for (std::uint32_t seed = 1; seed <= count && !HasFailure(); ++seed) {
            const auto graph = std::make_shared<const Graph>(RandomGraph(type, kernel, seed).build());
            bool used = false;
            const std::vector<HostTensor> fused = run(device_, graph, {}, &used),
                                          apart = run(device_, graph, without_prologues());
            const std::string what = std::string(name_of(kernel)) + " of " + std::string(name_of(type)) + ", seed " +
                                     std::to_string(seed) + "\n" + print_graph(*graph) +
                                     print_plan(*graph, make_plan(*graph, device_->plan(), {}));
            for (std::size_t k = 0; k < fused.size(); ++k) EXPECT_TRUE(test::same_bits(fused[k], apart[k])) << what;
            const CheckReport report = Checker(device_, graph).run(seed);
            EXPECT_TRUE(report.passed) << report.detail << "\n" << what;
            with += used;
        }
    }
    // Lines in shared memory read what was made before.
    if (!is_transform(kernel) || !device_->plan().shared_tiles) {
        EXPECT_GT(with, 0u) << "no kernel computed what it reads";
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Prologues,
                         ::testing::Values(Op::reduce_max, Op::reduce_sum, Op::reduce_product, Op::argmax, Op::gather,
                                           Op::max_pool2d, Op::avg_pool2d, Op::transpose, Op::matmul, Op::conv2d,
                                           Op::depthwise_conv2d, Op::transpose_conv2d, Op::resize, Op::scatter,
                                           Op::fft2d, Op::rfft2d),
                         [](const auto& which) { return std::string(name_of(which.param)); });

// The kernel for transforms of devices that like shared memory reads each element where it needs it.
TEST_F(ProloguesInParts, TransformsInSharedMemoryComputeWhatTheyRead) {
    const auto device = test::open_with([](DevicePlan& plan) {
        plan.subgroup_lanes = 1;
        plan.shared_tiles = true;
    });
    GraphBuilder b("transform");
    const ValueId x = b.input("x", DType::fp32, {2, 16, 64}), row = b.input("row", DType::fp32, {1, 1, 64});
    const DType outs[] = {DType::fp32, DType::fp32};
    for (const ValueId id : b.add(Op::rfft2d, {b.add1(Op::floor, {x}, DType::fp32)}, {}, outs)) b.output(id);
    for (const ValueId id : b.add(Op::fft2d, {row, b.add1(Op::abs, {row}, DType::fp32)}, {}, outs)) b.output(id);
    const auto graph = std::make_shared<const Graph>(b.finish());
    bool used = false;
    const auto fused = run(device, graph, {}, &used), apart = run(device, graph, without_prologues());
    EXPECT_TRUE(used);
    for (std::size_t k = 0; k < fused.size(); ++k) EXPECT_TRUE(test::same_bits(fused[k], apart[k])) << "output " << k;
    const CheckReport report = Checker(device, graph).run(1);
    EXPECT_TRUE(report.passed) << report.detail;
}

TEST_F(ProloguesInParts, LeavesMayTakeSeveralBindings) {
    const auto device = test::open_with([](DevicePlan& plan) {
        plan.texel_elements = 0;
        plan.max_binding_bytes = 4096;
    });
    GraphBuilder b("parts");
    const ValueId x = b.input("x", DType::fp32, {37, 61}), row = b.input("row", DType::fp32, {1, 61});
    Attributes attrs;
    attrs.axis = 0;
    b.output(b.add1(Op::argmax, {b.add1(Op::sub, {x, row}, DType::fp32)}, DType::i32, attrs));
    const auto graph = std::make_shared<const Graph>(b.finish());
    bool used = false;
    const auto fused = run(device, graph, {}, &used), apart = run(device, graph, without_prologues());
    EXPECT_TRUE(used);
    EXPECT_EQ(fused.front().bytes, apart.front().bytes);
    EXPECT_NE(print_plan(*graph, make_plan(*graph, device->plan(), {})).find("part 3 of 3"), std::string::npos);
}

}  // namespace
}  // namespace tosavk
