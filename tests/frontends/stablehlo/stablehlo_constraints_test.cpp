// Programs whose types do not go together: each is refused with what is wrong, none is taken as something else. The
// corpus has the others.
#include "frontends/stablehlo/stablehlo_reader.hpp"

#include <fmt/format.h>

namespace tosavk {
namespace {

struct Case {
    std::string arguments, result, body;  ///< body: operations, the last one makes %0
    std::string wanted;
};

std::string text_of(const Case& c) {
    return fmt::format("func.func @main({}) -> {} {{\n{}\nreturn %0 : {}\n}}", c.arguments, c.result, c.body, c.result);
}

void expect_refused(const std::vector<Case>& cases) {
    for (const Case& c : cases)
        EXPECT_NE(test::stablehlo_refusal(text_of(c)).find(c.wanted), std::string::npos)
            << text_of(c) << "\n"
            << test::stablehlo_refusal(text_of(c));
}

TEST(StablehloConstraints, ElementByElement) {
    expect_refused({
        {"%a: tensor<3xf32>, %b: tensor<2x3xf32>", "tensor<2x3xf32>",
         "%0 = stablehlo.add %a, %b : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
         "operand 1 is tensor<2x3xf32>, not of the shape of its operand 0, tensor<3xf32>"},
        {"%a: tensor<4xui32>, %b: tensor<4xi32>", "tensor<4xi1>",
         "%0 = stablehlo.compare LT, %a, %b : (tensor<4xui32>, tensor<4xi32>) -> tensor<4xi1>",
         "operand 1 is tensor<4xi32>, not of ui32"},
        {"%a: tensor<4xi32>, %b: tensor<4xui32>", "tensor<4xi32>",
         "%0 = stablehlo.shift_left %a, %b : (tensor<4xi32>, tensor<4xui32>) -> tensor<4xi32>", "not of i32"},
        {"%a: tensor<4xcomplex<f32>>", "tensor<4xcomplex<f32>>",
         "%0 = \"stablehlo.complex\"(%a, %a) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> "
         "tensor<4xcomplex<f32>>",
         "operand 0 is tensor<4xcomplex<f32>>, not of f32"},
        {"%a: tensor<4xcomplex<f32>>", "tensor<4xcomplex<f32>>",
         "%0 = \"stablehlo.real\"(%a) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>", "not of f32"},
        {"%p: tensor<2xi1>, %a: tensor<4xf32>", "tensor<4xf32>",
         "%0 = \"stablehlo.select\"(%p, %a, %a) : (tensor<2xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
         "operand 0 is tensor<2xi1>"},
        {"%a: tensor<4xf32>, %b: tensor<4xf32>", "tensor<4xf32>",
         "%0 = \"stablehlo.negate\"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
         "it has 2 operands, not 1"},
        {"%a: tensor<4xf32>", "tensor<8xf32>",
         "%0 = \"stablehlo.map\"(%a) <{dimensions = array<i64: 0>}> ({\n^bb0(%x: tensor<f32>):\n"
         "stablehlo.return %x : tensor<f32>\n}) : (tensor<4xf32>) -> tensor<8xf32>",
         "result 0 is tensor<8xf32>, not of the shape of its operand 0"},
    });
}

TEST(StablehloConstraints, WhatMovesKeepsItsElements) {
    expect_refused({
        {"%a: tensor<4xi64>", "tensor<2x2xi32>", "%0 = stablehlo.reshape %a : (tensor<4xi64>) -> tensor<2x2xi32>",
         "result 0 is tensor<2x2xi32>, not of i64"},
        {"%a: tensor<4xui32>", "tensor<4xi64>", "%0 = stablehlo.reshape %a : (tensor<4xui32>) -> tensor<4xi64>",
         "not of ui32"},
        {"%a: tensor<i32>", "tensor<i64>", "%0 = stablehlo.bitcast_convert %a : (tensor<i32>) -> tensor<i64>",
         "there is no tensor<i64> of the bits of tensor<i32>"},
        {"%a: tensor<i4>", "tensor<i8>", "%0 = stablehlo.bitcast_convert %a : (tensor<i4>) -> tensor<i8>",
         "there is no tensor<i8> of the bits of tensor<i4>"},
        {"%a: tensor<40xi1>", "tensor<i32>", "%0 = stablehlo.bitcast_convert %a : (tensor<40xi1>) -> tensor<i32>",
         "there is no tensor<i32> of the bits of tensor<40xi1>"},
        {"%a: tensor<4xf32>", "tensor<4xf32>",
         "%0 = \"stablehlo.reduce_precision\"(%a) <{exponent_bits = 8 : i32, mantissa_bits = -1 : i32}> : "
         "(tensor<4xf32>) -> tensor<4xf32>",
         "'mantissa_bits' has -1"},
        {"%a: tensor<4xf32>", "tensor<4xf32>", "%0 = stablehlo.reduce_precision %a, format = e0m3 : tensor<4xf32>",
         "'exponent_bits' has 0"},
        {"", "tensor<4000000000xi32>", "%0 = stablehlo.iota dim = 0 : tensor<4000000000xi32>",
         "numbers of 4000000000 elements in order are not supported"},
        {"%a: tensor<8xf32>, %i: tensor<i32>", "tensor<3xf32>",
         "%0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>",
         "result is tensor<3xf32>, not tensor<2xf32>"},
        {"%a: tensor<f32>", "tensor<f32>",
         "%t = \"stablehlo.tuple\"(%a) : (tensor<f32>) -> tuple<tensor<f32>>\n"
         "%u = \"stablehlo.tuple\"(%t) : (tuple<tensor<f32>>) -> tuple<tensor<f32>>\n"
         "%0 = \"stablehlo.get_tuple_element\"(%u) <{index = 0 : i32}> : (tuple<tensor<f32>>) -> tensor<f32>",
         "not a tuple of its operands"},
    });
}

TEST(StablehloConstraints, Products) {
    expect_refused({
        {"%a: tensor<2x3xf32>, %b: tensor<3x2xf32>", "tensor<2xf32>",
         "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : "
         "(tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2xf32>",
         "batching dimensions do not go together"},
        {"%a: tensor<2x3xf32>, %b: tensor<3x2xf32>", "tensor<f32>",
         "%0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 1] x [0, 1] : "
         "(tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<f32>",
         "contracting dimensions do not go together"},
        {"%a: tensor<2x3xf32>, %b: tensor<3x4xf32>", "tensor<4x2xf32>",
         "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
         "(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>",
         "result is tensor<4x2xf32>, not tensor<2x4xf32>"},
        {"%a: tensor<2x3xcomplex<f32>>, %b: tensor<3x4xf32>", "tensor<2x4xf32>",
         "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
         "(tensor<2x3xcomplex<f32>>, tensor<3x4xf32>) -> tensor<2x4xf32>",
         "some are complex"},
        {"%a: tensor<1x4x4x1xf32>, %k: tensor<1x1x1x1xf32>", "tensor<1x10x2x1xf32>",
         "%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = "
         "{stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
         "(tensor<1x4x4x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x10x2x1xf32>",
         "dimension 0 has 4 windows, not 10"},
        {"%a: tensor<1x4x4x1xf32>, %k: tensor<1x1x1x1xf32>", "tensor<1x4x4x1xf32>",
         "%s = stablehlo.constant dense<> : tensor<0x2xi32>\n"
         "%0 = \"stablehlo.dynamic_conv\"(%a, %k, %s) <{batch_group_count = 1 : i64, dimension_numbers = "
         "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : "
         "(tensor<1x4x4x1xf32>, tensor<1x1x1x1xf32>, tensor<0x2xi32>) -> tensor<1x4x4x1xf32>",
         "padding has 0 numbers, not 4"},
        {"%a: tensor<2x3x3xf32>, %b: tensor<3x2x3xf32>", "tensor<3x2x3xf32>",
         "%0 = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = false, lower = true, transpose_a = "
         "#stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x3x3xf32>, tensor<3x2x3xf32>) -> "
         "tensor<3x2x3xf32>",
         "not as many matrices"},
        {"%a: tensor<2x3xf32>, %s: tensor<2xf32>", "tensor<2x3xf32>",
         "%0 = \"stablehlo.batch_norm_inference\"(%a, %s, %s, %s, %s) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> "
         ": (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>",
         "operand 1 is tensor<2xf32>, not tensor<3xf32>"},
    });
}

TEST(StablehloConstraints, ReductionsAndWindows) {
    const std::string sum =
        "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%s = stablehlo.add %x, %y : tensor<f32>\n"
        "stablehlo.return %s : tensor<f32>\n";
    const std::string zero = "%c = stablehlo.constant dense<0.0> : tensor<f32>\n";
    expect_refused({
        {"%a: tensor<2x3x4xf32>", "tensor<4x3xf32>",
         zero + "%0 = \"stablehlo.reduce\"(%a, %c) <{dimensions = array<i64: 0>}> ({\n" + sum +
             "}) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<4x3xf32>",
         "result 0 is tensor<4x3xf32>, not tensor<3x4xf32>"},
        {"%a: tensor<8xf32>", "tensor<3xf32>",
         zero +
             "%0 = \"stablehlo.reduce_window\"(%a, %c) <{window_dimensions = array<i64: 2>, window_strides = "
             "array<i64: 2>}> ({\n" +
             sum + "}) : (tensor<8xf32>, tensor<f32>) -> tensor<3xf32>",
         "dimension 0 has 4 windows, not 3"},
        {"%a: tensor<4x3xf32>, %i: tensor<2x1xi32>", "tensor<2x5xf32>",
         "%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
         "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : "
         "(tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x5xf32>",
         "windows have 5 elements along a dimension of 3"},
        {"%a: tensor<4x3xf32>, %i: tensor<2x1xi32>", "tensor<2x3xf32>",
         "%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
         "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>}> : "
         "(tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>",
         "windows have 2 elements along a dimension of 4, which the result lacks"},
        {"%a: tensor<1x5xf32>, %i: tensor<4x1xi32>", "tensor<4xf32>",
         "%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], "
         "operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = "
         "1>, slice_sizes = array<i64: 1, 1>}> : (tensor<1x5xf32>, tensor<4x1xi32>) -> tensor<4xf32>",
         "batching dimensions"},
        {"%a: tensor<4x3xf32>, %i: tensor<2x1xi32>", "tensor<2x3xf32>",
         "%s = stablehlo.constant dense<> : tensor<0xi32>\n"
         "%0 = \"stablehlo.dynamic_gather\"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
         "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : "
         "(tensor<4x3xf32>, tensor<2x1xi32>, tensor<0xi32>) -> tensor<2x3xf32>",
         "windows have 0 sizes for 2 dimensions"},
        {"%a: tensor<4x3xf32>, %i: tensor<1x1xi32>, %u: tensor<1x5xf32>", "tensor<4x3xf32>",
         "%0 = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = "
         "[1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n" +
             sum + "}) : (tensor<4x3xf32>, tensor<1x1xi32>, tensor<1x5xf32>) -> tensor<4x3xf32>",
         "windows have 5 elements along a dimension of 3"},
        {"%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<1x3xf32>", "tensor<4x3xf32>",
         "%0 = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = "
         "[1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n" +
             sum + "}) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<1x3xf32>) -> tensor<4x3xf32>",
         "operand 2 is tensor<1x3xf32>, not tensor<2x3xf32>"},
        {"%a: tensor<4xf32>, %i: tensor<1x1xi32>, %u: tensor<1xi32>", "tensor<4xf32>",
         "%0 = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims "
         "= "
         "[0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n" +
             sum + "}) : (tensor<4xf32>, tensor<1x1xi32>, tensor<1xi32>) -> tensor<4xf32>",
         "operand 2 is tensor<1xi32>, not of f32"},
        {"%a: tensor<4xf32>", "tensor<i32>",
         zero + "%0 = \"stablehlo.reduce\"(%a, %c) <{dimensions = array<i64: 0>}> ({\n" + sum +
             "}) : (tensor<4xf32>, tensor<f32>) -> tensor<i32>",
         "region 0 returns tensor<f32>"},
    });
}

TEST(StablehloConstraints, Regions) {
    expect_refused({
        {"%p: tensor<i1>, %e: tensor<0xf32>", "tensor<4xf32>",
         "%0 = \"stablehlo.if\"(%p) ({\nstablehlo.return %e : tensor<0xf32>\n}, {\n"
         "stablehlo.return %e : tensor<0xf32>\n}) : (tensor<i1>) -> tensor<4xf32>",
         "region 0 returns tensor<0xf32>"},
        {"%e: tensor<0xi32>", "tensor<4xi32>",
         "%0 = \"stablehlo.while\"(%e) ({\n^bb0(%a: tensor<0xi32>):\n"
         "%c = stablehlo.constant dense<false> : tensor<i1>\nstablehlo.return %c : tensor<i1>\n}, {\n"
         "^bb0(%a: tensor<0xi32>):\nstablehlo.return %a : tensor<0xi32>\n}) : (tensor<0xi32>) -> tensor<4xi32>",
         "region 1 returns tensor<0xi32>"},
        {"%i: tensor<i32>, %x: tensor<4xf32>", "tensor<4xf32>",
         "%0 = \"stablehlo.case\"(%i) ({\n\"stablehlo.return\"() : () -> ()\n"
         "\"stablehlo.return\"(%x) : (tensor<4xf32>) -> ()\n}, {\n"
         "\"stablehlo.return\"(%x) : (tensor<4xf32>) -> ()\n}) : (tensor<i32>) -> tensor<4xf32>",
         "region 0 does not end where it returns"},
        // What would be right, but for tensors that regions are carried out on as a whole.
        {"%a: tensor<8xf32>", "tensor<8xf32>",
         "%0 = \"stablehlo.map\"(%a) <{dimensions = array<i64: 0>}> ({\n^bb0(%x: tensor<f32>):\n"
         "%b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
         "%s = stablehlo.slice %b [1:2] : (tensor<4xf32>) -> tensor<1xf32>\n"
         "%r = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>\n"
         "stablehlo.return %r : tensor<f32>\n}) : (tensor<8xf32>) -> tensor<8xf32>",
         "tensor<4xf32> in a region of numbers is not supported"},
    });
}

TEST(StablehloConstraints, TheProbeGoesOnBehindARefusedOne) {
    const stablehlo::Program program = test::stablehlo_of(
        "module {\nfunc.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
        "%0 = \"stablehlo.while\"(%x) ({\n^bb0(%b: tensor<i32>):\n"
        "%c = \"stablehlo.compare\"() <{comparison_direction = #stablehlo<comparison_direction LT>}> : () -> "
        "tensor<i1>\nstablehlo.return %c : tensor<i1>\n}, {\n^bb0(%b: tensor<i32>):\n"
        "stablehlo.return %b : tensor<i32>\n}) : (tensor<i32>) -> tensor<i32>\nreturn %0 : tensor<i32>\n}\n}\n");
    const ProbeReport report = stablehlo::probe_program(program, {});
    EXPECT_FALSE(report.taken());
    EXPECT_NE(report.operators.back().sentence.find("it has 0 operands, not 2"), std::string::npos);
}

}  // namespace
}  // namespace tosavk
