// shaders/lib/{wide,scale,math,functions}.glsl on the device against the host: floating-point functions bit for bit
// against numerics/shader_math (a device may flush denormals, going in and coming out), integer functions against
// __int128.
#include "base/numerics/shader_math.hpp"
#include "kernels/common/shader_files.hpp"
#include "support/validation.hpp"
#include "vk/measure/open_device.hpp"
#include "vk/run/context.hpp"

#include <gtest/gtest.h>
#include <bit>
#include <functional>
#include <random>

using namespace tosavk;

namespace {

using U = std::uint32_t;
using I = std::int32_t;
using Words = std::vector<U>;
__extension__ using Wide = __int128;

constexpr std::size_t count = 1 << 18;

float as_float(U bits) { return std::bit_cast<float>(bits); }
U as_bits(float x) { return std::bit_cast<U>(x); }
bool is_zero(U bits) { return (bits & 0x7fffffffu) == 0; }
bool is_nan(U bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
bool is_denormal(U bits) { return !is_zero(bits) && (bits & 0x7f800000u) == 0; }
U flushed(U bits) { return is_denormal(bits) ? bits & 0x80000000u : bits; }
bool same(U a, U b) { return a == b || (is_nan(a) && is_nan(b)); }

std::string library_text() {
    std::string text;
    for (const char* name : {"lib/wide.glsl", "lib/scale.glsl", "lib/math.glsl", "lib/functions.glsl"}) {
        for (const ShaderFile& file : embedded_shaders()) {
            if (file.name == name) text += file.text;
        }
    }
    return text;
}

/// What the shader takes from the device.
struct Uses {
    bool int64 = false, division = false;
};

/// r = expression, an ivec4 of x, y and z, for `count` elements.
Words run(const std::shared_ptr<Device>& device, const std::string& expression, Uses uses, const Words (&operands)[3]) {
    const DevicePlan& features = device->plan();
    std::string glsl = "#version 450\n";
    if (features.nan_preserve || features.rte) glsl += "#extension GL_EXT_spirv_intrinsics : require\n";
    if (uses.int64) glsl += "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n";
    if (features.nan_preserve) {
        glsl += "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [4466], 4461, 32);\n";
    }
    if (features.rte) {
        glsl += "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [4467], 4462, 32);\n";
    }
    glsl += "#define TOSAVK_INT64 " + std::to_string(int(uses.int64)) + "\n#define TOSAVK_EXACT_RECIPROCALS " +
            std::to_string(int(uses.division)) + "\nlayout(local_size_x_id = 1000) in;\n";
    glsl += library_text();
    const char* const names[] = {"x", "y", "z", "r"};
    for (std::size_t i = 0; i < 4; ++i) {
        glsl += "layout(std430, set = 0, binding = " + std::to_string(i) + ") " + (i < 3 ? "readonly" : "writeonly") +
                " buffer B" + std::to_string(i) + " { ivec4 " + names[i] + "4[]; };\n";
    }
    glsl += "void main() {\n    uint i = gl_GlobalInvocationID.x;\n    if (i >= " + std::to_string(count / 4) +
            "u) return;\n    ivec4 x = x4[i], y = y4[i], z = z4[i];\n    r4[i] = " + expression + ";\n}\n";

    const auto graph = std::make_shared<Graph>();
    Plan plan;
    Dispatch dispatch;
    for (std::size_t i = 0; i < 4; ++i) {
        graph->values.push_back(Value{names[i], DType::i32, Shape{static_cast<std::int64_t>(count)}});
        plan.placements.push_back({Space::arena, i * count * 4, count * 4});
        dispatch.bindings.push_back({plan.placements.back(), DType::i32, i == 3, names[i]});
    }
    Node node;
    node.op = Op::add;
    node.inputs = {0, 1, 2};
    node.outputs = {3};
    graph->values[3].producer = 0;
    graph->nodes = {node};
    graph->inputs = {0, 1, 2};
    graph->outputs = {3};
    dispatch.label = dispatch.kernel = "test";
    dispatch.glsl = glsl;
    dispatch.groups = {(static_cast<U>(count / 4) + features.workgroup_size - 1) / features.workgroup_size, 1, 1};
    plan.arena_bytes = 4 * count * 4;
    plan.dispatches = {dispatch};

    Context context(Executable::create(device, graph, plan), false);
    for (std::size_t i = 0; i < 3; ++i) context.set_input(i, std::as_bytes(std::span(operands[i])));
    context.submit();
    context.wait();
    Words result(count);
    context.get_output(0, std::as_writable_bytes(std::span(result)));
    return result;
}

constexpr unsigned seed = 7;

/// x runs over all exponents, y over everything; both also take values where something happens.
void fill(Words (&operands)[3]) {
    const U special[] = {0u,          1u,          2u,          0xffffffffu, 0x7fffffffu, 0x80000000u,
                         0x80000001u, 0x40000000u, 0xc0000000u, 0x3f800000u, 0xbf800000u, 0x3f000000u,
                         0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00800000u, 0x7f7fffffu, 0x4b000000u,
                         0x4b800000u, 0x4f000000u, 0xcf000000u, 0x40400000u, 0xc0400000u, 0x42b17217u};
    std::mt19937_64 random(seed);
    for (Words& words : operands) words.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t a = random(), b = random();
        operands[0][i] = static_cast<U>(i * 16411);  // odd: all bits occur
        operands[1][i] = static_cast<U>(static_cast<I>(a) >> (b & 31));
        operands[2][i] = static_cast<U>(b >> 32);
        if ((b >> 5 & 7) == 0) operands[0][i] = special[(b >> 8) % std::size(special)] + static_cast<U>(b >> 13 & 3);
        if ((b >> 15 & 3) == 0) operands[1][i] = special[(b >> 17) % std::size(special)];
    }
}

using Host = std::function<U(U x, U y, U z)>;

class ShaderMathGpu : public testing::Test {
protected:
    static void SetUpTestSuite() { device_ = open_device(""); }
    static void TearDownTestSuite() { device_.reset(); }
    void SetUp() override { fill(operands_); }

    template <class Right> void check(const std::string& expression, Uses uses, const Right& right, const Host& host) {
        const Words got = run(device_, expression, uses, operands_);
        int failures = 0;
        for (std::size_t i = 0; i < count && failures < 5; ++i) {
            const U x = operands_[0][i], y = operands_[1][i], z = operands_[2][i], expected = host(x, y, z);
            if (right(got[i], expected, x, y)) continue;
            ++failures;
            ADD_FAILURE() << expression << std::hex << " of x " << x << ", y " << y << ", z " << z
                          << ": the device gives " << got[i] << ", the host " << expected << std::dec << " (seed "
                          << seed << ")";
        }
    }

    void check_float(const std::string& expression, const Host& host) {
        const auto right = [&](U got, U expected, U x, U y) {
            if (same(got, expected) || (is_zero(flushed(expected)) && is_zero(flushed(got)))) return true;
            const U alternative = host(flushed(x), flushed(y), 0);
            return (is_denormal(x) || is_denormal(y)) && (same(got, alternative) || same(got, flushed(alternative)));
        };
        check("floatBitsToInt(" + expression + ")", {}, right, host);
        if (device_->plan().exact_reciprocals)
            check("floatBitsToInt(" + expression + ")", {.division = true}, right, host);
    }

    void check_int(const std::string& expression, const Host& host) {
        const auto equal = [](U got, U expected, U, U) { return got == expected; };
        check(expression, {}, equal, host);
        if (device_->plan().int64) check(expression, {.int64 = true}, equal, host);
    }

    static std::shared_ptr<Device> device_;
    Words operands_[3];
};

std::shared_ptr<Device> ShaderMathGpu::device_;

}  // namespace

TEST_F(ShaderMathGpu, UnaryFunctionsGiveTheHostsBits) {
    using Function = float (*)(float);
    namespace host = shader_math;
    const std::pair<const char*, Function> functions[] = {
        {"exp", host::exp},       {"log", host::log},     {"tanh", host::tanh}, {"sigmoid", host::sigmoid},
        {"erf", host::erf},       {"sin", host::sin},     {"cos", host::cos},   {"reciprocal", host::reciprocal},
        {"rsqrt", host::rsqrt},   {"floor", host::floor}, {"ceil", host::ceil}, {"abs", host::abs},
        {"negate", host::negate},
    };
    for (const auto& [name, function] : functions) {
        check_float(std::string("tosa_") + name + "(intBitsToFloat(x))",
                    [f = function](U x, U, U) { return as_bits(f(as_float(x))); });
    }
    for (const std::string suffix : {"", "_ignore"}) {
        const auto clamp = suffix.empty() ? host::clamp : host::clamp_ignore;
        check_float("tosa_clamp" + suffix + "(intBitsToFloat(x), -1.5, 6.0)",
                    [clamp](U x, U, U) { return as_bits(clamp(as_float(x), -1.5f, 6.0f)); });
    }
}

TEST_F(ShaderMathGpu, OwnFunctionsGiveTheHostsBits) {
    using Function = float (*)(float);
    namespace host = shader_math;
    const std::pair<const char*, Function> functions[] = {
        {"expm1", host::expm1},     {"log1p", host::log1p},   {"cbrt", host::cbrt},
        {"erf_inv", host::erf_inv}, {"lgamma", host::lgamma}, {"digamma", host::digamma},
    };
    const auto check_all = [&] {
        for (const auto& [name, function] : functions) {
            check_float(std::string("own_") + name + "(intBitsToFloat(x))",
                        [f = function](U x, U, U) { return as_bits(f(as_float(x))); });
        }
        check_float("own_atan2(intBitsToFloat(x), intBitsToFloat(y))",
                    [](U x, U y, U) { return as_bits(shader_math::atan2(as_float(x), as_float(y))); });
    };
    check_all();
    for (std::size_t i = 0; i < count; ++i) {  // both of ordinary size, from -8 to 8
        operands_[0][i] = as_bits(static_cast<float>(static_cast<I>(operands_[2][i])) * 0x1p-28f);
        operands_[1][i] = as_bits(static_cast<float>(static_cast<I>(operands_[2][i] * 2654435761u)) * 0x1p-28f);
    }
    check_all();
}

// All arguments: what is known of a driver's division (the quirk exact_reciprocals) holds for each, and so do the
// operations that take its place.
TEST_F(ShaderMathGpu, ReciprocalsFromOneToTwoAreCorrectlyRounded) {
    constexpr U one = 0x3f800000u, steps = 0x00800000u / count;
    const auto reciprocal = [](U x, U, U) { return as_bits(1.0f / as_float(x)); };
    for (U step = 0; step < steps; ++step) {
        for (std::size_t i = 0; i < count; ++i) operands_[0][i] = one + step + static_cast<U>(i) * steps;
        check_float("math_over(intBitsToFloat(x))", reciprocal);
    }
    check_float("math_over(vec4(2.0))", [](U, U, U) { return as_bits(0.5f); });
}

// A bf16 result below fp32's smallest normal number counts against the bound, so none may be lost to a device's flush.
TEST_F(ShaderMathGpu, ErfOfDenormalsIsNotFlushed) {
    for (U& x : operands_[0]) x &= 0x807fffffu;
    check(
        "floatBitsToInt(tosa_erf(intBitsToFloat(x)))", {}, [](U got, U expected, U, U) { return got == expected; },
        [](U x, U, U) { return as_bits(shader_math::erf(as_float(x))); });
}

TEST_F(ShaderMathGpu, BinaryFunctionsGiveTheHostsBits) {
    using Function = float (*)(float, float);
    namespace host = shader_math;
    const auto check_all = [&](std::initializer_list<std::pair<const char*, Function>> functions) {
        for (const auto& [name, function] : functions) {
            check_float(std::string("tosa_") + name + "(intBitsToFloat(x), intBitsToFloat(y))",
                        [f = function](U x, U y, U) { return as_bits(f(as_float(x), as_float(y))); });
        }
    };
    check_all({{"max", host::max},
               {"min", host::min},
               {"max_ignore", host::max_ignore},
               {"min_ignore", host::min_ignore},
               {"pow", host::pow}});
    for (std::size_t i = 0; i < count; ++i) {  // results that neither overflow nor vanish; some bases below 0
        operands_[0][i] = (0x3d000000u + operands_[0][i] % 0x05000000u) | (i % 16 == 0 ? 0x80000000u : 0u);
        operands_[1][i] = as_bits(i % 4 == 0 ? static_cast<float>(static_cast<int>(i / 4 % 21) - 10)
                                             : static_cast<float>(static_cast<I>(operands_[2][i])) * 0x1p-27f);
    }
    check_all({{"pow", host::pow}});
}

TEST_F(ShaderMathGpu, CastsAndComparisons) {
    const auto cast = [&](const std::string& lo, const std::string& hi, I low, I high) {
        check_int("tosa_float_to_int(intBitsToFloat(x), " + lo + ", " + hi + ")",
                  [=](U x, U, U) { return static_cast<U>(shader_math::float_to_int(as_float(x), low, high)); });
    };
    cast("-128", "127", -128, 127);
    cast("-2147483647 - 1", "2147483647", -2147483647 - 1, 2147483647);
    check_float("tosa_int_to_float(x)",
                [](U x, U, U) { return as_bits(shader_math::int_to_float(static_cast<I>(x))); });
    const std::string operands = "(intBitsToFloat(x), intBitsToFloat(y))";
    check(
        "tosa_equal" + operands + " * 4 + tosa_greater" + operands + " * 2 + tosa_greater_equal" + operands, {},
        [](U got, U expected, U x, U y) {
            const auto compare = [](float p, float q) { return U(p == q) * 4 + U(p > q) * 2 + U(p >= q); };
            return got == expected || got == compare(as_float(flushed(x)), as_float(flushed(y)));
        },
        [](U x, U y, U) {
            const float p = as_float(x), q = as_float(y);
            return U(p == q) * 4 + U(p > q) * 2 + U(p >= q);
        });
}

TEST_F(ShaderMathGpu, ScalingIsExactWithAndWithoutInt64) {
    const auto scaled = [](U x, U y, U z, bool twice) {
        Wide product = Wide{static_cast<I>(x)} * static_cast<I>(y) + (Wide{1} << (z - 1));
        if (twice && z > 31) product += static_cast<I>(x) >= 0 ? 1 << 30 : -(1 << 30);
        return static_cast<U>(product >> z);
    };
    for (std::size_t i = 0; i < count; ++i) {
        operands_[1][i] &= 0x7fffffffu;
        operands_[2][i] = 2 + operands_[2][i] % 61;
    }
    check_int("scale32(x, y, z)", [&](U x, U y, U z) { return scaled(x, y, z, false); });
    check_int("scale32_double(x, y, z)", [&](U x, U y, U z) { return scaled(x, y, z, true); });
    // scale16: the value is y (its low 16 bits, sign-extended) above x; the multiplier's 15 bits lie beside the shift.
    fill(operands_);
    for (std::size_t i = 0; i < count; ++i) {
        const U s = 2 + (operands_[2][i] >> 16) % 61;
        operands_[2][i] = (operands_[2][i] & 0x7fffu) | s << 16;
    }
    const auto wide = [](U x, U y) {
        return Wide{static_cast<std::int64_t>(static_cast<std::int16_t>(y)) * (std::int64_t{1} << 32)} + x;
    };
    const std::string joined =
        "wrap_i48(wide_quad(ivec2(x.x, y.x), ivec2(x.y, y.y), ivec2(x.z, y.z), ivec2(x.w, y.w)))";
    check_int("scale16(" + joined + ", z & 32767, z >> 16)", [&](U x, U y, U z) {
        const U s = z >> 16;
        return static_cast<U>((wide(x, y) * static_cast<I>(z & 0x7fffu) + (Wide{1} << (s - 1))) >> s);
    });
    // A negative factor, which no multiplier is, and a difference: words 0 and 1 of both.
    const auto low = [](Wide v) { return static_cast<U>(v) ^ static_cast<U>(v >> 32); };
    const std::string words =
        "ivec4(wide_get(r, 0).x ^ wide_get(r, 0).y, wide_get(r, 1).x ^ wide_get(r, 1).y, "
        "wide_get(r, 2).x ^ wide_get(r, 2).y, wide_get(r, 3).x ^ wide_get(r, 3).y)";
    const auto with = [&](const std::string& r) { return "ivec4(0); { wide4 r = " + r + "; r4[i] = " + words + "; }"; };
    fill(operands_);
    check_int(with("wide_scale(" + joined + ", z)"),
              [&](U x, U y, U z) { return low(wide(x, y) * static_cast<I>(z)); });
    check_int(with("wide_sub(" + joined + ", wide_mul(x, z))"),
              [&](U x, U y, U z) { return low(wide(x, y) - Wide{static_cast<I>(x)} * static_cast<I>(z)); });
    for (const int s : {0, 1, 2, 30, 31, 32, 33, 62, 63}) {
        fill(operands_);
        check_int("mul_shift(x, y, " + std::to_string(s) + ")", [s](U x, U y, U) {
            const Wide product = Wide{static_cast<I>(x)} * static_cast<I>(y);
            return static_cast<U>(s == 0 ? product : (product + (Wide{1} << (s - 1))) >> s);
        });
    }
}

TEST_F(ShaderMathGpu, IntegerHelpers) {
    check_int("tosa_arshift(x, z & 31, 1)", [](U x, U, U z) {
        const I v = static_cast<I>(x), s = static_cast<I>(z & 31);
        return static_cast<U>(s == 0 ? v : (v >> s) + ((v >> (s - 1)) & 1));
    });
    check_int("tosa_arshift(x, z & 31, 0)", [](U x, U, U z) { return static_cast<U>(static_cast<I>(x) >> (z & 31)); });
    check_int("tosa_lshl(x, z & 31)", [](U x, U, U z) { return x << (z & 31); });
    check_int("tosa_lshr(x, z & 31)", [](U x, U, U z) { return x >> (z & 31); });
    check_int("tosa_clz(x)", [](U x, U, U) { return static_cast<U>(std::countl_zero(x)); });
    check_int("wrap_i8(x) ^ (wrap_i16(y) << 3)", [](U x, U y, U) {
        return static_cast<U>(static_cast<std::int8_t>(x)) ^ (static_cast<U>(static_cast<std::int16_t>(y)) << 3);
    });
    check_int("tosa_intdiv(x, y)", [](U x, U y, U) {
        const I a = static_cast<I>(x), b = static_cast<I>(y);
        return b == 0 ? x : b == -1 ? 0u - x : static_cast<U>(a / b);
    });
    check_int("tosa_select(z & 1, x, y)", [](U x, U y, U z) { return (z & 1) != 0 ? x : y; });
    check_int("table_i16(wrap_i16(x), wrap_i16(y), z)", [](U x, U y, U z) {
        const I base = static_cast<std::int16_t>(x), next = static_cast<std::int16_t>(y);
        return static_cast<U>(base * 128 + (next - base) * static_cast<I>(z & 127));
    });
}
