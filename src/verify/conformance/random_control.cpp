#include "verify/conformance/random_control.hpp"

#include "ops/builder.hpp"
#include "ops/custom.hpp"
#include "spirv/glslang.hpp"
#include "verify/conformance/random_data.hpp"

#include <fmt/format.h>

namespace tosavk::conformance {
namespace {

// The operator that cases of CUSTOM use: y = (x ^ a) + salt, element by element.
constexpr const char* custom_domain = "tosavk.conformance";
constexpr const char* custom_name = "xor_add";
constexpr const char* custom_glsl = R"(#version 450
layout(local_size_x = 32) in;
layout(constant_id = 0) const int count = 1;
layout(constant_id = 1) const int salt = 0;
layout(std430, set = 0, binding = 0) readonly buffer X { int x[]; };
layout(std430, set = 0, binding = 1) readonly buffer A { int a[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { int y[]; };
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i < count) y[i] = (x[i] ^ a[i]) + salt;
}
)";

std::int32_t salt_of(const NodeView& view) {
    const std::string& attrs = view.attrs().implementation_attrs;
    return attrs.empty() ? 0 : static_cast<signed char>(attrs[0]);
}

std::shared_ptr<const CustomSet> custom_operators() {
    static const auto all = [] {
        CustomOperator op;
        op.domain = custom_domain;
        op.name = custom_name;
        op.spirv = compile_glsl(custom_glsl, custom_name);
        op.dispatch = [](const NodeView& view) {
            const auto count = static_cast<std::int32_t>(element_count(view.out().shape));
            CustomDispatch dispatch;
            dispatch.groups[0] = static_cast<std::uint32_t>((count + 31) / 32);
            dispatch.constants = {count, salt_of(view)};
            return dispatch;
        };
        op.check = [](const NodeView& view) {
            if (view.input_count() != 2 || view.in(0).shape != view.in(1).shape ||
                view.in(0).shape != view.out().shape) {
                view.fail("takes two tensors of the output's shape");
            }
        };
        op.reference = [](RefContext& ctx) {
            auto x = ctx.ints(0);
            const auto a = ctx.ints(1);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = (x[i] ^ a[i]) + salt_of(ctx.view);
            ctx.set_ints(x);
        };
        auto set = std::make_shared<CustomSet>();
        set->add(std::move(op));
        return set;
    }();
    return all;
}

class Maker {
public:
    Maker(const OpDef& def, const TypeRow& row, std::mt19937_64& random, const RandomOptions& options)
        : def_(def),
          options_(options),
          data_(random),
          builder_("random " + std::string(def.name)),
          type_(row.types.empty() ? (data_.chance(50) ? DType::i32 : DType::fp32) : row.types[0]),
          shape_(data_.shape(0, 5)) {}

    RandomCase make() {
        switch (def_.op) {
            case Op::cond_if: cond_if(); break;
            case Op::while_loop: while_loop(); break;
            case Op::custom: custom(); break;
            default: variables(); break;
        }
        return {builder_.finish(), std::move(inputs_)};
    }

private:
    ValueId input(const std::string& name, HostTensor tensor) {
        const ValueId id = builder_.input(name, tensor.type, tensor.shape);
        inputs_.push_back(std::move(tensor));
        return id;
    }
    /// Numbers whose sums stay in range.
    HostTensor tame() {
        return is_float(type_) ? data_.reals(type_, shape_, false) : data_.ints(type_, shape_, -1000000, 1000000);
    }
    void output(ValueId id) {
        if (options_.follower) {
            const DType type = builder_.value(id).type;
            const Op op = is_float(type) ? Op::abs : type == DType::boolean ? Op::logical_not : Op::bitwise_not;
            id = builder_.add1(op, {id}, type, {}, fmt::format("follower_{}", builder_.graph().outputs.size()));
        }
        builder_.output(id);
    }

    /// (x, y) -> (y, x op constant) or with the outputs the other way round.
    Graph step(const char* name, bool swap) {
        GraphBuilder b(name);
        const ValueId x = b.input("x", type_, shape_), y = b.input("y", type_, shape_);
        const HostTensor c = tame();
        const ValueId made = b.add1(data_.chance(50) ? Op::add : Op::sub, {x, b.constant("c", type_, shape_, c.bytes)},
                                    type_, {}, "made");
        b.output(swap ? y : made);
        b.output(swap ? made : y);
        return b.finish_region();
    }

    void cond_if() {
        HostTensor condition(DType::boolean, Shape(static_cast<std::size_t>(data_.pick(0, 3)), 1));
        condition.bytes = {static_cast<std::byte>(data_.chance(50))};
        const ValueId c = input("condition", std::move(condition));
        const ValueId x = input("x", tame()), y = data_.chance(50) ? input("y", tame()) : x;
        Graph first = step("then", data_.chance(50)), second = step("else", data_.chance(50));
        const auto made = builder_.cond_if(c, {x, y}, std::move(first), std::move(second), "node");
        output(made[0]);
        if (data_.chance(70)) output(made[1]);
    }

    /// i counts to n while the two tensors change places and values; now and then a branch within.
    void while_loop() {
        const auto less = [&] {
            GraphBuilder b("less");
            const ValueId i = b.input("i", DType::i32, {1}), n = b.input("n", DType::i32, {1});
            b.input("x", type_, shape_);
            b.input("y", type_, shape_);
            b.output(b.add1(Op::greater, {n, i}, DType::boolean, {}, "less"));
            return b.finish_region();
        };
        GraphBuilder body("body");
        const ValueId i = body.input("i", DType::i32, {1}), n = body.input("n", DType::i32, {1});
        const ValueId x = body.input("x", type_, shape_), y = body.input("y", type_, shape_);
        const ValueId next = body.add1(Op::add, {i, body.scalar(DType::i32, 1)}, DType::i32, {}, "next");
        std::vector<ValueId> list{x, y};
        if (data_.chance(50)) {
            const ValueId even =
                body.add1(Op::equal,
                          {body.add1(Op::bitwise_and, {i, body.scalar(DType::i32, 1)}, DType::i32, {}, "bit"),
                           body.scalar(DType::i32, 0)},
                          DType::boolean, {}, "even");
            Graph first = step("then", data_.chance(50)), second = step("else", data_.chance(50));
            list = body.cond_if(even, list, std::move(first), std::move(second), "branch");
        } else {
            list = {y, body.add1(Op::sub, {x, y}, type_, {}, "difference")};
        }
        for (const ValueId id : {next, n, list[0], list[1]}) body.output(id);

        HostTensor count(DType::i32, {1});
        count.bytes = encode_ints(DType::i32, std::vector<std::int64_t>{data_.pick(-1, 5)});
        const ValueId zero = builder_.scalar(DType::i32, 0), turns = input("turns", std::move(count));
        const ValueId a = input("a", tame()), b = input("b", tame());
        const auto made = builder_.while_loop({zero, turns, a, b}, less(), body.finish_region(), "node");
        output(made[2]);
        output(made[3]);
        if (data_.chance(50)) output(made[0]);
    }

    /// Reads before, between and after writes; VARIABLE is proven by what a read finds at first.
    void variables() {
        const bool declared = def_.op == Op::variable || data_.chance(50);
        builder_.variable("v", type_, shape_, declared ? data_.noise(type_, shape_).bytes : Bytes());
        builder_.variable("other", type_, shape_, data_.noise(type_, shape_).bytes);
        output(builder_.variable_read("v", "first"));
        const ValueId x = input("x", data_.noise(type_, shape_));
        if (def_.op == Op::variable) return output(x);
        builder_.variable_write("v", x, "write");
        const ValueId second = builder_.variable_read("v", "second");
        builder_.variable_write("other", second, "write other");
        output(second);
        if (data_.chance(50)) {
            builder_.variable_write("v", input("y", data_.noise(type_, shape_)), "write again");
            output(builder_.variable_read("v", "third"));
        }
        output(builder_.variable_read("other", "last"));
    }

    void custom() {
        builder_.use_customs(custom_operators());
        type_ = DType::i32;
        const ValueId x = input("x", data_.any(type_, shape_)), a = input("a", data_.any(type_, shape_));
        const OutputType made{type_, shape_};
        const std::string attrs(1, static_cast<char>(data_.pick(-100, 100)));
        output(builder_.custom(custom_domain, custom_name, attrs, {x, a}, std::span(&made, 1), "node").at(0));
    }

    const OpDef& def_;
    const RandomOptions options_;
    RandomData data_;
    GraphBuilder builder_;
    DType type_;
    Shape shape_;
    std::vector<HostTensor> inputs_;
};

}  // namespace

RandomCase random_structural_case(const OpDef& def, const TypeRow& row, std::mt19937_64& random,
                                  const RandomOptions& options) {
    return Maker(def, row, random, options).make();
}

}  // namespace tosavk::conformance
