// The operators of TOSA 0.30 with every row of its type tables; "float_t" and "float" are written out as three rows.
#include "ops/rows_0_30.hpp"

#include <algorithm>
#include <cstring>

namespace tosavk::v0_30 {

namespace {

constexpr const char* any = "BI|MI|MT";
constexpr const char* floats = "MI|MT";

constexpr Type boolean{DType::boolean}, i4{DType::i4}, i8{DType::i8}, i16{DType::i16}, i32{DType::i32}, i48{DType::i48};
constexpr Type u8{DType::i8, true}, u16{DType::i16, true}, fp16{DType::fp16}, bf16{DType::bf16}, fp32{DType::fp32};

using Rows = std::vector<Row>;

/// Rows of one type: these, and the three float types if wanted.
Rows of(std::initializer_list<Type> types, bool with_floats = false) {
    Rows rows;
    for (const Type t : types) rows.push_back({{t}, any});
    if (with_floats) {
        for (const Type t : {fp16, bf16, fp32}) rows.push_back({{t}, floats});
    }
    return rows;
}
/// The same rows with one more type at the end (at_end) or in front.
Rows with(Rows rows, Type type, bool at_end) {
    for (Row& row : rows) row.types.insert(at_end ? row.types.end() : row.types.begin(), type);
    return rows;
}

const Rows float_rows = of({}, true);
const Rows all_rows = of({boolean, i8, i16, i32}, true);
const Rows number_rows = of({i8, i16, i32}, true);
const Rows integer_rows = of({i8, i16, i32});
const Rows arithmetic_rows = of({i32}, true);

/// input, weight, bias and the accumulator that is the output.
const Rows conv_rows = {
    {{i8, i8, i32}, any},         {{i8, i4, i32}, any},         {{i16, i8, i48}, any},
    {{fp16, fp16, fp16}, floats}, {{fp16, fp16, fp32}, floats}, {{bf16, bf16, fp32}, floats},
    {{fp32, fp32, fp32}, floats},
};
const Rows widening_rows = {
    {{i8, i32}, any},       {{i16, i32}, any},      {{i32, i32}, any},
    {{fp16, fp16}, floats}, {{bf16, bf16}, floats}, {{fp32, fp32}, floats},
};

Rows cast_rows() {
    Rows rows;
    const std::vector<Type> ints = {boolean, i8, i16, i32};
    for (const Type from : ints) {
        for (const Type to : ints) {
            if (from != to) rows.push_back({{from, to}, any});
        }
        if (from == boolean) continue;
        for (const Type to : {fp16, bf16, fp32}) rows.push_back({{from, to}, floats});
    }
    for (const Type from : {fp16, bf16, fp32}) {
        for (const Type to : {i8, i16, i32}) rows.push_back({{from, to}, floats});
    }
    return rows;
}

Rows rescale_rows() {
    Rows rows;
    const auto add = [&](Type from, std::initializer_list<Type> to) {
        for (const Type t : to) rows.push_back({{from, t}, any});
    };
    add(i8, {i8, i16, i32, u8});
    add(i16, {i8, i16, i32, u8, u16});
    add(i32, {i8, i16, i32});
    add(i48, {i8, i16, i32});
    add(u8, {i8, i16});
    add(u16, {i16});
    return rows;
}

std::vector<OpInfo> make_table() {
    std::vector<OpInfo> all;
    const auto add = [&](Op op, std::vector<const char*> vars, std::vector<const char*> in,
                         std::vector<const char*> out, Rows rows) -> OpInfo& {
        return all.emplace_back(OpInfo{op, std::move(vars), std::move(in), std::move(out), false, std::move(rows)});
    };
    const auto same = [&](Op op, std::size_t inputs, Rows rows) -> OpInfo& {
        return add(op, {"in_out_t"}, std::vector<const char*>(inputs, "in_out_t"), {"in_out_t"}, std::move(rows));
    };
    const auto conv = [&](Op op) {
        add(op, {"in_t", "weight_t", "out_t"}, {"in_t", "weight_t", "out_t"}, {"out_t"}, conv_rows);
    };
    const auto compare = [&](Op op) {
        add(op, {"in_t", "out_t"}, {"in_t", "in_t"}, {"out_t"}, with(arithmetic_rows, boolean, true));
    };

    add(Op::argmax, {"in_t", "out_t"}, {"in_t"}, {"out_t"}, with(of({i8, i16}, true), i32, true));
    add(Op::avg_pool2d, {"in_out_t", "acc_t"}, {"in_out_t"}, {"in_out_t"},
        {{{i8, i32}, any},
         {{i16, i32}, any},
         {{fp16, fp16}, floats},
         {{fp16, fp32}, floats},
         {{bf16, fp32}, floats},
         {{fp32, fp32}, floats}});
    conv(Op::conv2d);
    conv(Op::conv3d);
    conv(Op::depthwise_conv2d);
    add(Op::fft2d, {"in_out_t"}, {"in_out_t", "in_out_t"}, {"in_out_t", "in_out_t"}, {{{fp32}, floats}});
    conv(fully_connected);
    add(Op::matmul, {"in_t", "out_t"}, {"in_t", "in_t"}, {"out_t"},
        {{{i8, i32}, any},
         {{i16, i48}, any},
         {{fp16, fp16}, floats},
         {{fp16, fp32}, floats},
         {{bf16, fp32}, floats},
         {{fp32, fp32}, floats}});
    same(Op::max_pool2d, 1, of({i8, i16}, true));
    add(Op::rfft2d, {"in_out_t"}, {"in_out_t"}, {"in_out_t", "in_out_t"}, {{{fp32}, floats}});
    conv(Op::transpose_conv2d);

    same(Op::clamp, 1, of({i8, i16}, true));
    same(Op::sigmoid, 1, float_rows);
    same(Op::tanh, 1, float_rows);

    same(Op::add, 2, arithmetic_rows);
    for (const Op op : {Op::arithmetic_right_shift, Op::bitwise_and, Op::bitwise_or, Op::bitwise_xor}) {
        same(op, 2, integer_rows);
    }
    same(Op::intdiv, 2, of({i32}));
    same(Op::logical_and, 2, of({boolean}));
    same(Op::logical_left_shift, 2, integer_rows);
    same(Op::logical_right_shift, 2, integer_rows);
    same(Op::logical_or, 2, of({boolean}));
    same(Op::logical_xor, 2, of({boolean}));
    same(Op::maximum, 2, arithmetic_rows);
    same(Op::minimum, 2, arithmetic_rows);
    add(Op::mul, {"in_t", "out_t"}, {"in_t", "in_t"}, {"out_t"}, widening_rows);
    same(Op::pow, 2, float_rows);
    same(Op::sub, 2, arithmetic_rows);
    add(Op::table, {"in_t", "table_t", "out_t"}, {"in_t"}, {"out_t"}, {{{i8, i8, i8}, any}, {{i16, i16, i32}, any}});

    same(Op::abs, 1, arithmetic_rows);
    same(Op::bitwise_not, 1, integer_rows);
    same(Op::ceil, 1, float_rows);
    same(Op::clz, 1, of({i32}));
    for (const Op op : {Op::exp, Op::floor, Op::log}) same(op, 1, float_rows);
    same(Op::logical_not, 1, of({boolean}));
    add(Op::negate, {"in_out_t", "acc_t"}, {"in_out_t"}, {"in_out_t"}, widening_rows);
    same(Op::reciprocal, 1, float_rows);
    same(Op::rsqrt, 1, float_rows);

    add(Op::select, {"cmp_t", "in_out_t"}, {"cmp_t", "in_out_t", "in_out_t"}, {"in_out_t"},
        with(all_rows, boolean, false));
    for (const Op op : {Op::equal, Op::greater, Op::greater_equal}) compare(op);

    same(Op::reduce_all, 1, of({boolean}));
    same(Op::reduce_any, 1, of({boolean}));
    same(Op::reduce_max, 1, number_rows);
    same(Op::reduce_min, 1, number_rows);
    same(Op::reduce_product, 1, float_rows);
    same(Op::reduce_sum, 1, arithmetic_rows);

    same(Op::concat, 1, all_rows).list = true;
    for (const Op op : {Op::pad, Op::reshape, Op::reverse, Op::slice, Op::tile, Op::transpose}) same(op, 1, all_rows);
    add(Op::gather, {"index_t", "value_t"}, {"value_t", "index_t"}, {"value_t"}, with(number_rows, i32, false));
    add(Op::scatter, {"index_t", "value_t"}, {"value_t", "index_t", "value_t"}, {"value_t"},
        with(number_rows, i32, false));
    add(Op::resize, {"resize_t", "in_t", "out_t"}, {"in_t"}, {"out_t"},
        {{{i16, i8, i32}, any},
         {{i16, i8, i8}, any},
         {{i16, i16, i48}, any},
         {{i16, i16, i16}, any},
         {{fp32, fp16, fp16}, floats},
         {{fp32, bf16, bf16}, floats},
         {{fp32, fp32, fp32}, floats}});
    add(Op::cast, {"in_t", "out_t"}, {"in_t"}, {"out_t"}, cast_rows());
    add(Op::rescale, {"in_t", "out_t"}, {"in_t"}, {"out_t"}, rescale_rows());
    add(Op::constant, {"out_t"}, {}, {"out_t"}, all_rows);
    same(Op::identity, 1, all_rows);
    for (const Op op : {Op::custom, Op::cond_if, Op::while_loop}) add(op, {}, {}, {}, {});
    return all;
}

}  // namespace

std::string_view op_name(Op op) { return op == fully_connected ? "FULLY_CONNECTED" : name_of(op); }

std::string type_name(Type type) {
    std::string name(name_of(type.type));
    if (type.is_unsigned) name[0] = 'u';
    return name;
}

std::span<const OpInfo> operators() {
    static const std::vector<OpInfo> all = make_table();
    return all;
}

const OpInfo* find_info(Op op) {
    const auto all = operators();
    const auto it = std::find_if(all.begin(), all.end(), [op](const OpInfo& info) { return info.op == op; });
    return it == all.end() ? nullptr : &*it;
}

std::optional<std::size_t> row_of_1_0(const OpInfo& info, const OpDef& def, const Row& row) {
    const auto variable = [&](std::string_view name) -> const Type* {
        // GATHER and SCATTER call it value_t, and convolutions had no name for what is the output too.
        if (name == "in_out_t" && std::strcmp(info.type_vars.back(), "value_t") == 0) name = "value_t";
        for (std::size_t v = 0; v < info.type_vars.size(); ++v) {
            if (info.type_vars[v] == name) return &row.types[v];
        }
        if (name == "acc_t" && std::strcmp(info.type_vars.back(), "out_t") == 0) return &row.types.back();
        return nullptr;
    };
    if (std::any_of(row.types.begin(), row.types.end(), [](Type t) { return t.is_unsigned; })) return std::nullopt;
    for (std::size_t r = 0; r < def.rows.size(); ++r) {
        bool fits = true;
        for (std::size_t v = 0; v < def.type_vars.size(); ++v) {
            // Positions of RESIZE were fp32 for every float type; the accumulator of REDUCE_SUM was the type itself.
            const std::string_view name = def.type_vars[v];
            if (name == "resize_t" || (info.op == Op::reduce_sum && name == "acc_t")) continue;
            const Type* found = variable(name);
            fits = fits && (found == nullptr || found->type == def.rows[r].types[v]);
        }
        if (fits) return r;
    }
    return std::nullopt;
}

}  // namespace tosavk::v0_30
