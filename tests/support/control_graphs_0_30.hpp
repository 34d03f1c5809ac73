// Graphs of TOSA 0.30 with control flow that several tests share.
#pragma once

#include "frontends/tosa/v0_30.hpp"
#include "graph/host_tensor.hpp"

namespace tosavk::testing {

/// A RESCALE that keeps the scale and moves the zero point.
inline v0_30::Attributes moved(std::int64_t input_zp, std::int64_t output_zp) {
    v0_30::Attributes a;
    a.multiplier = {1 << 30};
    a.rescale_shift = {30};
    a.input_zp = input_zp;
    a.output_zp = output_zp;
    return a;
}

/// Turns x [1,3] by one place as often as `times` says: FULLY_CONNECTED with the weights of a permutation in a loop.
inline Graph turning_graph_0_30() {
    using namespace v0_30;
    constexpr Type i8{DType::i8}, i32{DType::i32}, boolean{DType::boolean};
    Builder cond("less");
    const ValueId ci = cond.input("i", i32, {1}), cn = cond.input("n", i32, {1});
    cond.input("x", i8, {1, 3});
    cond.output(cond.add1(Op::greater, {cn, ci}, boolean, {}, "less"));

    Builder body("turn");
    const ValueId i = body.input("i", i32, {1}), n = body.input("n", i32, {1}), x = body.input("x", i8, {1, 3});
    const auto constant = [&](const char* name, DType type, const Shape& shape,
                              const std::vector<std::int64_t>& values) {
        return body.constant(name, {type}, shape, encode_ints(type, values));
    };
    const ValueId weight = constant("weight", DType::i8, {3, 3}, {0, 0, 1, 1, 0, 0, 0, 1, 0});
    const ValueId bias = constant("bias", DType::i32, {3}, {0, 0, 0});
    const ValueId sum = body.add1(fully_connected, {x, weight, bias}, i32, {}, "sum");
    body.output(body.add1(Op::add, {i, constant("one", DType::i32, {1}, {1})}, i32, {}, "next"));
    body.output(n);
    body.output(body.add1(Op::rescale, {sum}, i8, moved(0, 0), "turned"));

    Builder b("turning");
    const ValueId times = b.input("times", i32, {1}), start = b.input("x", i8, {1, 3});
    const ValueId zero = b.constant("zero", i32, {1}, encode_ints(DType::i32, std::vector<std::int64_t>{0}));
    b.output(b.while_loop({zero, times, start}, cond.finish_region(), body.finish_region(), "loop").at(2));
    return b.finish();
}

/// x of u8: condition ? x + 2 : x - 100, saturated to u8, then as i8 with zero point 128. The condition has rank 0.
inline Graph unsigned_branch_graph_0_30() {
    using namespace v0_30;
    constexpr Type i16{DType::i16}, u8{DType::i8, true};
    const auto branch = [&](const char* name, std::int64_t input_zp, std::int64_t output_zp) {
        Builder b(name);
        const ValueId wide = b.add1(Op::rescale, {b.input("x", u8, {4})}, i16, moved(input_zp, 0), "wide");
        b.output(b.add1(Op::rescale, {wide}, u8, moved(0, output_zp), "narrow"));
        return b.finish_region();
    };
    Builder b("unsigned_branch");
    const ValueId condition = b.input("condition", {DType::boolean}, {}), x = b.input("x", u8, {4});
    const ValueId y = b.cond_if({x}, condition, branch("then", 128, 130), branch("else", 200, 100), "choose").at(0);
    b.output(b.add1(Op::rescale, {y}, {DType::i8}, moved(128, 0), "signed"));
    return b.finish();
}

}  // namespace tosavk::testing
