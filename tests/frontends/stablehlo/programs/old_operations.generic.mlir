"builtin.module"() <{sym_name = "all"}> ({
  "func.func"() <{arg_attrs = [{}, {mhlo.sharding = "x"}], function_type = (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>, sym_name = "ext", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "impl", sym_visibility = "private"}> ({
  ^bb0(%arg29: tensor<2xf32>):
    "func.return"(%arg29) : (tensor<2xf32>) -> ()
  }) {mhlo.y = 1 : i32} : () -> ()
  "func.func"() <{arg_attrs = [{jax.buffer_donor = true, tf.aliasing_output = 0 : i32}, {}, {}, {}, {}, {}], function_type = (tensor<2x3xf32>, tensor<i32>, tensor<2xf32>, tensor<4x4xf32>, tensor<2xcomplex<f32>>, tensor<i1>) -> tensor<2xf32>, res_attrs = [{jax.result_info = "[0]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg23: tensor<2x3xf32>, %arg24: tensor<i32>, %arg25: tensor<2xf32>, %arg26: tensor<4x4xf32>, %arg27: tensor<2xcomplex<f32>>, %arg28: tensor<i1>):
    %46 = "stablehlo.create_token"() : () -> !stablehlo.token
    %47 = "stablehlo.after_all"(%46, %46) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    %48 = "stablehlo.broadcast"(%arg25) <{broadcast_sizes = array<i64: 4>}> : (tensor<2xf32>) -> tensor<4x2xf32>
    %49 = "stablehlo.cholesky"(%arg26) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %50:2 = "stablehlo.custom_call"(%arg26, %arg25) <{backend_config = "x", call_target_name = "foo", called_computations = [@impl], has_side_effect = true, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]}> : (tensor<4x4xf32>, tensor<2xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    %51 = "stablehlo.custom_call"(%arg25) <{backend_config = "bar", call_target_name = "mhlo.erf"}> {mhlo.attributes = {f = 1.500000e+00 : f32, k = 2 : i64, q = array<i64: 1, 2>}, mhlo.version = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %52 = "stablehlo.dot"(%arg26, %arg26) <{precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGHEST>]}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %53 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<1x8x8x1xf32>
    %54 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x3x1x16xf32>
    "func.return"(%arg25) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x3xf32>, tensor<i32>, tensor<2xf32>, tensor<4x4xf32>, tensor<2xcomplex<f32>>, tensor<i1>, tensor<2x4xf32>, tensor<4xf32>, tensor<1xi64>) -> tensor<2xf32>, sym_name = "more", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x3xf32>, %arg1: tensor<i32>, %arg2: tensor<2xf32>, %arg3: tensor<4x4xf32>, %arg4: tensor<2xcomplex<f32>>, %arg5: tensor<i1>, %arg6: tensor<2x4xf32>, %arg7: tensor<4xf32>, %arg8: tensor<1xi64>):
    %0 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.einsum"(%arg3, %arg3) <{einsum_config = "ab,bc->ac"}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "stablehlo.unary_einsum"(%arg3) <{einsum_config = "ab->a"}> : (tensor<4x4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.set_dimension_size"(%arg2, %arg1) <{dimension = 0 : i64}> : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
    %4 = "stablehlo.torch_index_select"(%arg3, %arg8) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %5 = "stablehlo.rng"(%0, %0, %arg8) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
    %6 = "stablehlo.replica_id"() : () -> tensor<ui32>
    %7 = "stablehlo.partition_id"() : () -> tensor<ui32>
    %8 = "stablehlo.map"(%arg2, %arg2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg21: tensor<f32>, %arg22: tensor<f32>):
      %45 = "stablehlo.add"(%arg21, %arg22) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%45) : (tensor<f32>) -> ()
    }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %9 = "stablehlo.batch_norm_inference"(%arg6, %arg7, %arg7, %arg7, %arg7) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %10 = "stablehlo.all_reduce"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %44 = "stablehlo.add"(%arg19, %arg20) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%44) : (tensor<f32>) -> ()
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %11 = "stablehlo.all_gather"(%arg2) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
    %12 = "stablehlo.collective_permute"(%arg2) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    %13 = "stablehlo.all_to_all"(%arg6) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<8x1xf32>
    %14 = "stablehlo.create_token"() : () -> !stablehlo.token
    %15:2 = "stablehlo.infeed"(%14) <{infeed_config = "foo", layout = [[0]]}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
    %16 = "stablehlo.outfeed"(%arg2, %14) <{outfeed_config = "foo"}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %17 = "stablehlo.send"(%arg2, %14) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %18:2 = "stablehlo.recv"(%14) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
    %19 = "stablehlo.cross-replica-sum"(%arg2) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    %20 = "stablehlo.constant"() <{value = dense<[(1.000000e+00,-2.500000e+00), (0x7F800000,3.000000e+00)]> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
    %21 = "stablehlo.constant"() <{value = dense<[1, -2]> : tensor<2xi4>}> : () -> tensor<2xi4>
    %22 = "stablehlo.constant"() <{value = dense<[1.500000e+00, -2.000000e+00]> : tensor<2xf8E4M3FN>}> : () -> tensor<2xf8E4M3FN>
    %23 = "stablehlo.constant"() <{value = dense<> : tensor<0xf32>}> {foo.a = 3 : i32} : () -> tensor<0xf32>
    %24 = "stablehlo.reduce"(%arg6, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg17: tensor<f32>, %arg18: tensor<f32>):
      %43 = "stablehlo.add"(%arg18, %arg17) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%43) : (tensor<f32>) -> ()
    }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %25 = "stablehlo.reduce"(%arg6, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>):
      %42 = "stablehlo.add"(%arg15, %arg16) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%42) : (tensor<f32>) -> ()
    }) {mhlo.q = 1 : i32} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %26 = "stablehlo.select"(%arg5, %arg2, %arg2) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %27 = "stablehlo.add"(%arg2, %arg2) {mhlo.frontend_attributes = {_a = "b"}} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %28:3 = "stablehlo.batch_norm_training"(%arg6, %arg7, %arg7) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %29:2 = "stablehlo.while"(%arg2, %arg5) ({
    ^bb0(%arg13: tensor<2xf32>, %arg14: tensor<i1>):
      "stablehlo.return"(%arg14) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg11: tensor<2xf32>, %arg12: tensor<i1>):
      "stablehlo.return"(%arg11, %arg12) : (tensor<2xf32>, tensor<i1>) -> ()
    }) {mhlo.q = 1 : i32} : (tensor<2xf32>, tensor<i1>) -> (tensor<2xf32>, tensor<i1>)
    %30 = "stablehlo.dynamic_broadcast_in_dim"(%arg2, %arg8) <{broadcast_dimensions = array<i64: 0>, known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64: 0>}> : (tensor<2xf32>, tensor<1xi64>) -> tensor<?xf32>
    %31 = "stablehlo.reduce_scatter"(%arg2) <{replica_groups = dense<0> : tensor<1x1xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %41 = "stablehlo.add"(%arg9, %arg10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%41) : (tensor<f32>) -> ()
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %32 = "stablehlo.compare"(%arg2, %arg2) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %33 = "stablehlo.dynamic_update_slice"(%arg3, %arg6, %arg1, %arg1) : (tensor<4x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
    %34 = "stablehlo.slice"(%arg3) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 1>, strides = array<i64: 2, 1>}> : (tensor<4x4xf32>) -> tensor<2x2xf32>
    %35 = "stablehlo.abs"(%arg4) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %36 = "stablehlo.tuple"(%arg2, %arg1) : (tensor<2xf32>, tensor<i32>) -> tuple<tensor<2xf32>, tensor<i32>>
    %37 = "stablehlo.constant"() <{value = dense<true> : tensor<200xi1>}> : () -> tensor<200xi1>
    %38 = "stablehlo.convert"(%arg2) : (tensor<2xf32>) -> tensor<?xf32, #stablehlo.bounds<2>>
    %39 = "stablehlo.bitcast_convert"(%arg2) : (tensor<2xf32>) -> tensor<2xi32>
    %40 = "stablehlo.dynamic_slice"(%arg3, %arg1, %arg1) <{slice_sizes = array<i64: 1, 2>}> : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    "func.return"(%arg2) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) {jax.x = "q\22\0A\C3\A9", mhlo.num_partitions = 1 : i32} : () -> ()
