// fp16 on the device, computed in fp32 with roundings by integer work and, where the driver can, by native arithmetic:
// both must give the one nearest value, ties to even, for every fp16 number and every tie between two of them.
#include "base/numerics/small_floats.hpp"
#include "compile/plan/plan.hpp"
#include "device/architectures.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "verify/judge.hpp"
#include "vk/run/context.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace tosavk {
namespace {

constexpr std::int64_t patterns = 1 << 16;

/// Read and rounded by integer work; read natively and rounded by integers, as of a driver that drops roundings; all
/// natively.
enum class Way { integers, reads, native };

class Fp16 : public test::GpuTestWith<Way> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        const bool native = GetParam() != Way::integers;
        const DeviceCaps& caps = device_->caps();
        if (native && !(caps.fp16 && caps.rounding_rte16 && caps.signed_zero_inf_nan_preserve16))
            GTEST_SKIP() << "the device has no fp16 arithmetic that rounds to nearest even";
        // What llvmpipe does not promise it may do all the same, as that of Mesa 22 does; but the layers object to it.
        const bool may_try = caps.driver_info.find("Mesa 22.") != std::string::npos && !validation_requested();
        if (native && !caps.denorm_preserve16 && !may_try)
            GTEST_SKIP() << "the device does not promise to keep subnormal numbers";
        if (GetParam() == Way::native && !*facts_of(caps).half_roundings)
            GTEST_SKIP() << "the driver leaves roundings out";
        used_ = test::open_with([=](DevicePlan& plan) {
            plan.native_fp16 = native;
            plan.half_roundings = GetParam() == Way::native;
        });
    }

    std::vector<Bytes> run(GraphBuilder& builder, const std::vector<Bytes>& inputs) {
        const auto graph = std::make_shared<const Graph>(builder.finish());
        Plan plan = make_plan(*graph, used_->plan(), {});
        for (const Dispatch& dispatch : plan.dispatches) {
            EXPECT_EQ(dispatch.glsl.find("4459, 16") != std::string::npos, GetParam() != Way::integers)
                << "DenormPreserve is asked for";
        }
        Context context(Executable::create(used_, graph, std::move(plan)), false);
        for (std::size_t i = 0; i < inputs.size(); ++i) context.set_input(i, inputs[i]);
        context.submit();
        context.wait();
        std::vector<Bytes> outputs;
        for (std::size_t k = 0; k < graph->outputs.size(); ++k) {
            const Value& value = graph->value(graph->outputs[k]);
            outputs.emplace_back(static_cast<std::size_t>(element_count(value.shape)) * size_of(value.type));
            context.get_output(k, outputs.back());
        }
        return outputs;
    }

    std::shared_ptr<Device> used_;
};

INSTANTIATE_TEST_SUITE_P(Arithmetic, Fp16, ::testing::Values(Way::integers, Way::reads, Way::native),
                         [](const auto& which) {
                             return which.param == Way::native ? "native"
                                  : which.param == Way::reads  ? "read_natively"
                                                               : "in_fp32";
                         });

template <class T> Bytes bytes_of(const std::vector<T>& values) {
    Bytes bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}
template <class T> std::vector<T> values_of(const Bytes& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

double value(std::uint16_t bits) { return small_float_to_double(bits, format_fp16); }
std::uint16_t nearest(double x) { return static_cast<std::uint16_t>(small_float_from_double(x, format_fp16)); }
bool is_nan(std::uint16_t bits) { return (bits & 0x7fff) > 0x7c00; }
bool same(std::uint16_t a, std::uint16_t b) { return a == b || (is_nan(a) && is_nan(b)); }

std::vector<std::uint16_t> all_patterns() {
    std::vector<std::uint16_t> all(patterns);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    return all;
}

TEST_P(Fp16, EveryValueAndEveryTieIsRoundedToTheNearest) {
    std::vector<float> x;
    for (const std::uint16_t bits : all_patterns()) {
        // Infinity follows the largest number as 65536 would; halfway to it is where overflow begins.
        const auto finite = [](std::uint16_t h) {
            return (h & 0x7fff) == 0x7c00 ? std::copysign(65536.0, value(h)) : value(h);
        };
        const float tie = static_cast<float>((finite(bits) + finite(static_cast<std::uint16_t>(bits + 1))) / 2);
        x.insert(x.end(),
                 {static_cast<float>(value(bits)), tie, std::nextafter(tie, -INFINITY), std::nextafter(tie, INFINITY)});
    }
    GraphBuilder b("round");
    const ValueId half = b.add1(Op::cast, {b.input("x", DType::fp32, {4 * patterns})}, DType::fp16, {}, "half");
    b.output(half);
    b.output(b.add1(Op::cast, {half}, DType::fp32, {}, "wide"));
    const std::vector<Bytes> outputs = run(b, {bytes_of(x)});
    const auto halves = values_of<std::uint16_t>(outputs[0]);
    const auto wide = values_of<float>(outputs[1]);
    int failures = 0;
    for (std::size_t i = 0; i < x.size() && failures < 5; ++i) {
        const std::uint16_t expected = nearest(static_cast<double>(x[i]));
        const auto expected_wide = static_cast<float>(value(expected));
        const bool right = same(halves[i], expected) &&
                           (std::isnan(expected_wide)
                                ? std::isnan(wide[i])
                                : std::bit_cast<std::uint32_t>(wide[i]) == std::bit_cast<std::uint32_t>(expected_wide));
        if (right) continue;
        ++failures;
        ADD_FAILURE() << std::hexfloat << x[i] << " becomes " << std::hex << halves[i] << " and " << wide[i]
                      << ", but should " << expected;
    }
}

TEST_P(Fp16, EveryPatternIsReadAndMovedAsItIs) {
    const std::vector<std::uint16_t> all = all_patterns();
    GraphBuilder b("read");
    const ValueId x = b.input("x", DType::fp16, {256, 256});
    Attributes along;
    along.axis = 1;
    b.output(b.add1(Op::cast, {x}, DType::fp32, {}, "wide"));
    b.output(b.add1(Op::reverse, {x}, DType::fp16, along, "reversed"));
    const std::vector<Bytes> outputs = run(b, {bytes_of(all)});
    const auto wide = values_of<float>(outputs[0]);
    const auto reversed = values_of<std::uint16_t>(outputs[1]);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (is_nan(all[i])) ASSERT_TRUE(std::isnan(wide[i])) << i;
        else
            ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]),
                      std::bit_cast<std::uint32_t>(static_cast<float>(value(all[i]))))
                << i;
        ASSERT_EQ(reversed[i ^ 255], all[i]) << "data movement keeps the bits of NaN too";
    }
}

TEST_P(Fp16, SumsDifferencesAndProductsAreRoundedOnce) {
    std::vector<std::uint16_t> x, y;
    std::mt19937 random(5);
    for (int round = 0; round < 4; ++round) {
        for (const std::uint16_t bits : all_patterns()) {
            x.push_back(bits);
            // Neighbours in size meet most ties; round 0 takes anything.
            const std::uint32_t any = random();
            y.push_back(static_cast<std::uint16_t>(
                round == 0 ? any : (bits ^ (any & 0x83ffu)) + ((any >> 16) % (round * 4u) << 10)));
        }
    }
    const auto count = static_cast<std::int64_t>(x.size());
    GraphBuilder b("arithmetic");
    const ValueId a = b.input("a", DType::fp16, {count}), c = b.input("c", DType::fp16, {count});
    b.output(b.add1(Op::add, {a, c}, DType::fp16, {}, "sum"));
    b.output(b.add1(Op::sub, {a, c}, DType::fp16, {}, "difference"));
    const ValueId product = b.add1(Op::mul, {a, c, b.scalar(DType::i8, 0)}, DType::fp16, {}, "product");
    b.output(product);
    b.output(b.add1(Op::add, {product, c}, DType::fp16, {}, "two_roundings"));
    const std::vector<Bytes> outputs = run(b, {bytes_of(x), bytes_of(y)});
    int failures = 0;
    for (std::size_t i = 0; i < x.size() && failures < 5; ++i) {
        // Exact in double: sums span 40 bits, products 22.
        const double p = value(x[i]), q = value(y[i]);
        const std::uint16_t rounded = nearest(p * q);
        const std::uint16_t expected[] = {nearest(p + q), nearest(p - q), rounded, nearest(value(rounded) + q)};
        for (std::size_t k = 0; k < std::size(expected); ++k) {
            std::uint16_t got;
            std::memcpy(&got, outputs[k].data() + 2 * i, 2);
            if (same(got, expected[k])) continue;
            ++failures;
            ADD_FAILURE() << "output " << k << " of " << std::hex << x[i] << " and " << y[i] << " is " << got
                          << ", not " << expected[k];
        }
    }
}

// Whatever else computes in fp16 rounds its results by the same functions.
TEST_P(Fp16, EveryOperatorAgreesWithTheReference) {
    if (GetParam() == Way::integers) GTEST_SKIP() << "operators_gpu_test does this";
    std::size_t rows = 0;
    for (const conformance::SweepRow& row : conformance::find_rows("", "", "1.0")) {
        if (row.types_text().find("fp16_t") == std::string::npos) continue;
        const conformance::RowResult result = conformance::run_row(row, 1, 1, conformance::judge_on(used_));
        EXPECT_TRUE(result.passed()) << conformance::repro_command(row, result) << "\n" << result.detail;
        ++rows;
    }
    EXPECT_GT(rows, 50u);
}

}  // namespace
}  // namespace tosavk
