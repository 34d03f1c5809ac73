module @all attributes {jax.x = "q\22\0A\C3\A9", mhlo.num_partitions = 1 : i32} {
  func.func private @ext(tensor<2xf32>, tensor<i32> {mhlo.sharding = "x"}) -> tensor<2xf32>
  func.func private @impl(%arg0: tensor<2xf32>) -> tensor<2xf32> attributes {mhlo.y = 1 : i32} {
    return %arg0 : tensor<2xf32>
  }
  func.func public @main(%arg0: tensor<2x3xf32> {jax.buffer_donor = true, tf.aliasing_output = 0 : i32}, %arg1: tensor<i32>, %arg2: tensor<2xf32>, %arg3: tensor<4x4xf32>, %arg4: tensor<2xcomplex<f32>>, %arg5: tensor<i1>) -> (tensor<2xf32> {jax.result_info = "[0]"}) {
    %0 = stablehlo.create_token : !stablehlo.token
    %1 = stablehlo.after_all %0, %0 : !stablehlo.token
    %2 = stablehlo.broadcast %arg2, sizes = [4] : (tensor<2xf32>) -> tensor<4x2xf32>
    %3 = stablehlo.cholesky %arg3, lower = true : tensor<4x4xf32>
    %4:2 = stablehlo.custom_call @foo(%arg3, %arg2) {api_version = 4 : i32, backend_config = {a = 1 : i64, b = "x"}, called_computations = [@impl], has_side_effect = true, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<4x4xf32>, tensor<2xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    %5 = stablehlo.custom_call @mhlo.erf(%arg2) {backend_config = "bar", mhlo.attributes = {f = 1.500000e+00 : f32, k = 2 : i64, q = array<i64: 1, 2>}, mhlo.version = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %6 = stablehlo.dot %arg3, %arg3, precision = [HIGH, HIGHEST] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %7 = stablehlo.dot_general %arg3, %arg3, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
    %8 = stablehlo.iota dim = 1 : tensor<1x8x8x1xf32>
    %9 = stablehlo.iota dim = 1 : tensor<3x3x1x16xf32>
    %10 = stablehlo.convolution(%8, %9) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 2], [0, 0]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGHEST>]} : (tensor<1x8x8x1xf32>, tensor<3x3x1x16xf32>) -> tensor<1x?x?x16xf32>
    return %arg2 : tensor<2xf32>
  }
  func.func public @more(%arg0: tensor<2x3xf32>, %arg1: tensor<i32>, %arg2: tensor<2xf32>, %arg3: tensor<4x4xf32>, %arg4: tensor<2xcomplex<f32>>, %arg5: tensor<i1>, %arg6: tensor<2x4xf32>, %arg7: tensor<4xf32>, %arg8: tensor<1xi64>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %0 = stablehlo.einsum %arg3, %arg3, config = "ab,bc->ac" : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.unary_einsum %arg3, config = "ab->a" : (tensor<4x4xf32>) -> tensor<4xf32>
    %2 = stablehlo.set_dimension_size %arg2, %arg1, dim = 0 : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
    %3 = "stablehlo.torch_index_select"(%arg3, %arg8) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %4 = stablehlo.rng %cst, %cst, %arg8, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
    %5 = stablehlo.replica_id : tensor<ui32>
    %6 = stablehlo.partition_id : tensor<ui32>
    %7 = "stablehlo.map"(%arg2, %arg2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %38 = stablehlo.add %arg9, %arg10 : tensor<f32>
      stablehlo.return %38 : tensor<f32>
    }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %8 = stablehlo.exponential %arg2 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
    %9 = stablehlo.exponential %arg2 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<2xf32>
    %10 = "stablehlo.batch_norm_inference"(%arg6, %arg7, %arg7, %arg7, %arg7) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %11 = "stablehlo.all_reduce"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %38 = stablehlo.add %arg9, %arg10 : tensor<f32>
      stablehlo.return %38 : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %12 = "stablehlo.all_gather"(%arg2) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
    %13 = "stablehlo.collective_permute"(%arg2) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    %14 = "stablehlo.all_to_all"(%arg6) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<8x1xf32>
    %15 = stablehlo.create_token : !stablehlo.token
    %16:2 = "stablehlo.infeed"(%15) <{infeed_config = "foo", layout = [[0]]}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
    %17 = "stablehlo.outfeed"(%arg2, %15) <{outfeed_config = "foo"}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %18 = "stablehlo.send"(%arg2, %15) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %19:2 = "stablehlo.recv"(%15) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
    %20 = "stablehlo.cross-replica-sum"(%arg2) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    %cst_0 = stablehlo.constant dense<[(1.000000e+00,-2.500000e+00), (0x7F800000,3.000000e+00)]> : tensor<2xcomplex<f32>>
    %c = stablehlo.constant dense<[1, -2]> : tensor<2xi4>
    %cst_1 = stablehlo.constant dense<[1.500000e+00, -2.000000e+00]> : tensor<2xf8E4M3FN>
    %cst_2 = stablehlo.constant {foo.a = 3 : i32} dense<> : tensor<0xf32>
    %21 = stablehlo.reduce(%arg6 init: %cst) across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
     reducer(%arg9: tensor<f32>, %arg10: tensor<f32>)  {
      %38 = stablehlo.add %arg10, %arg9 : tensor<f32>
      stablehlo.return %38 : tensor<f32>
    }
    %22 = stablehlo.reduce(%arg6 init: %cst) applies stablehlo.add across dimensions = [1] {mhlo.q = 1 : i32} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %23 = stablehlo.select %arg5, %arg2, %arg2 : tensor<i1>, tensor<2xf32>
    %24 = stablehlo.add %arg2, %arg2 {mhlo.frontend_attributes = {_a = "b"}} : tensor<2xf32>
    %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%arg6, %arg7, %arg7) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %25:2 = stablehlo.while(%iterArg = %arg2, %iterArg_4 = %arg5) : tensor<2xf32>, tensor<i1> attributes {mhlo.q = 1 : i32}
    cond {
      stablehlo.return %iterArg_4 : tensor<i1>
    } do {
      stablehlo.return %iterArg, %iterArg_4 : tensor<2xf32>, tensor<i1>
    }
    %26 = stablehlo.dynamic_broadcast_in_dim %arg2, %arg8, dims = [0] {known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<1xi64>) -> tensor<?xf32>
    %27 = "stablehlo.reduce_scatter"(%arg2) <{replica_groups = dense<0> : tensor<1x1xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %38 = stablehlo.add %arg9, %arg10 : tensor<f32>
      stablehlo.return %38 : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %28 = "stablehlo.collective_broadcast"(%arg2) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    %29 = stablehlo.compare LT, %arg2, %arg2, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %30 = stablehlo.dynamic_update_slice %arg3, %arg6, %arg1, %arg1 : (tensor<4x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
    %31 = stablehlo.slice %arg3 [0:4:2, 1:3] : (tensor<4x4xf32>) -> tensor<2x2xf32>
    %32 = stablehlo.abs %arg4 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %33 = stablehlo.tuple %arg2, %arg1 : tuple<tensor<2xf32>, tensor<i32>>
    %c_3 = stablehlo.constant dense<true> : tensor<200xi1>
    %34 = stablehlo.convert %arg2 : (tensor<2xf32>) -> tensor<?xf32, #stablehlo.bounds<2>>
    %35:2 = "stablehlo.all_reduce"(%arg2, %arg2) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %38 = stablehlo.add %arg9, %arg10 : tensor<f32>
      stablehlo.return %38 : tensor<f32>
    }) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %36 = stablehlo.bitcast_convert %arg2 : (tensor<2xf32>) -> tensor<2xi32>
    %37 = stablehlo.dynamic_slice %arg3, %arg1, %arg1, sizes = [1, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    return %arg2 : tensor<2xf32>
  }
}
