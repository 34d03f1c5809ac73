// The table of operations, and of it the names of attributes.
#include "frontends/stablehlo/operations.hpp"

#include <algorithm>
#include <array>

namespace tosavk::stablehlo {

namespace {

// clang-format off
constexpr OperationRule all_operations[] = {  // sorted by name
    {"abs", ""},
    {"add", ""},
    {"after_all", ""},
    {"all_gather", "all_gather_dim channel_id replica_groups use_global_device_ids", 2},
    {"all_reduce", "channel_id replica_groups use_global_device_ids", 2},
    {"all_to_all", "channel_id concat_dimension replica_groups split_count split_dimension", 2},
    {"and", ""},
    {"async_done", ""},
    {"async_start", ""},
    {"atan2", ""},
    {"batch_norm_grad", "epsilon feature_index"},
    {"batch_norm_inference", "epsilon feature_index"},
    {"batch_norm_training", "epsilon feature_index"},
    {"bitcast_convert", ""},
    {"broadcast", "broadcast_sizes"},
    {"broadcast_in_dim", "broadcast_dimensions"},
    {"call", "callee"},
    {"case", ""},
    {"cbrt", "result_accuracy", 2, "result_accuracy"},
    {"ceil", ""},
    {"cholesky", "lower"},
    {"clamp", ""},
    {"collective_broadcast", "channel_id has_dynamic_root replica_groups", 2, "has_dynamic_root"},
    {"collective_permute", "channel_id source_target_pairs"},
    {"collective_reduce", "channel_id has_dynamic_root replica_groups use_global_device_ids"},
    {"compare", "compare_type comparison_direction"},
    {"complex", ""},
    {"composite", "composite_attributes decomposition name version", 2},
    {"concatenate", "dimension"},
    {"constant", "value"},
    {"convert", ""},
    {"convolution", "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions padding precision_config rhs_dilation window_reversal window_strides"},
    {"cosine", "result_accuracy", 2, "result_accuracy"},
    {"count_leading_zeros", ""},
    {"create_token", ""},
    {"cross-replica-sum", "replica_groups"},
    {"custom_call", "api_version backend_config call_target_name called_computations has_side_effect "
     "operand_layouts output_operand_aliases result_layouts result_tilings", 2, "result_tilings"},
    {"divide", ""},
    {"dot", "precision_config"},
    {"dot_general", "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
     "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config "
     "rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions rhs_precision_type", 2,
     "accumulation_type allow_imprecise_accumulation lhs_component_count lhs_precision_type "
     "num_primitive_operations rhs_component_count rhs_precision_type"},
    {"dynamic_broadcast_in_dim", "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"},
    {"dynamic_conv", "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions precision_config rhs_dilation window_reversal window_strides", 2, "", "padding"},
    {"dynamic_gather", "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
     "operand_batching_dims start_index_map start_indices_batching_dims", 2, "operand_batching_dims "
     "start_indices_batching_dims"},
    {"dynamic_iota", "iota_dimension"},
    {"dynamic_pad", ""},
    {"dynamic_reshape", ""},
    {"dynamic_slice", "slice_sizes"},
    {"dynamic_update_slice", ""},
    {"einsum", "einsum_config"},
    {"exponential", "result_accuracy", 2, "result_accuracy"},
    {"exponential_minus_one", "result_accuracy", 2, "result_accuracy"},
    {"fft", "fft_length fft_type"},
    {"floor", ""},
    {"gather", "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims "
     "slice_sizes start_index_map start_indices_batching_dims", 2, "operand_batching_dims "
     "start_indices_batching_dims"},
    {"get_dimension_size", "dimension"},
    {"get_tuple_element", "index"},
    {"if", ""},
    {"imag", ""},
    {"infeed", "infeed_config layout"},
    {"iota", "iota_dimension"},
    {"is_finite", ""},
    {"log", "result_accuracy", 2, "result_accuracy"},
    {"log_plus_one", "result_accuracy", 2, "result_accuracy"},
    {"logistic", "result_accuracy", 2, "result_accuracy"},
    {"map", "dimensions"},
    {"maximum", ""},
    {"minimum", ""},
    {"multiply", ""},
    {"negate", ""},
    {"not", ""},
    {"optimization_barrier", ""},
    {"or", ""},
    {"outfeed", "outfeed_config"},
    {"pad", "edge_padding_high edge_padding_low interior_padding"},
    {"partition_id", ""},
    {"popcnt", ""},
    {"power", ""},
    {"real", ""},
    {"real_dynamic_slice", ""},
    {"recv", "channel_id channel_type is_host_transfer source_target_pairs", 2, "source_target_pairs"},
    {"reduce", "dimensions"},
    {"reduce_precision", "exponent_bits mantissa_bits"},
    {"reduce_scatter", "channel_id replica_groups scatter_dimension use_global_device_ids"},
    {"reduce_window", "base_dilations padding window_dilations window_dimensions window_strides"},
    {"remainder", ""},
    {"replica_id", ""},
    {"reshape", ""},
    {"return", ""},
    {"reverse", "dimensions"},
    {"rng", "rng_distribution"},
    {"rng_bit_generator", "rng_algorithm"},
    {"round_nearest_afz", ""},
    {"round_nearest_even", ""},
    {"rsqrt", "result_accuracy", 2, "result_accuracy"},
    {"scatter", "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims "
     "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices update_window_dims", 2,
     "input_batching_dims scatter_indices_batching_dims"},
    {"select", ""},
    {"select_and_scatter", "padding window_dimensions window_strides"},
    {"send", "channel_id channel_type is_host_transfer source_target_pairs", 2, "source_target_pairs"},
    {"set_dimension_size", "dimension"},
    {"shift_left", ""},
    {"shift_right_arithmetic", ""},
    {"shift_right_logical", ""},
    {"sign", ""},
    {"sine", "result_accuracy", 2, "result_accuracy"},
    {"slice", "limit_indices start_indices strides"},
    {"sort", "dimension is_stable"},
    {"sqrt", "result_accuracy", 2, "result_accuracy"},
    {"subtract", ""},
    {"tan", "result_accuracy", 2, "result_accuracy"},
    {"tanh", "result_accuracy", 2, "result_accuracy"},
    {"torch_index_select", "batch_dims dim"},
    {"transpose", "permutation"},
    {"triangular_solve", "left_side lower transpose_a unit_diagonal"},
    {"tuple", ""},
    {"unary_einsum", "einsum_config"},
    {"uniform_dequantize", ""},
    {"uniform_quantize", ""},
    {"while", ""},
    {"xor", ""},
};
// clang-format on

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> list;
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        list.push_back(text.substr(0, space));
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    return list;
}

bool has_word(std::string_view text, std::string_view word) {
    const auto list = words(text);
    return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

std::span<const OperationRule> operation_rules() { return all_operations; }

const OperationRule* operation_rule(std::string_view name) {
    const auto at =
        std::lower_bound(std::begin(all_operations), std::end(all_operations), name,
                         [](const OperationRule& rule, std::string_view wanted) { return rule.name < wanted; });
    return at != std::end(all_operations) && at->name == name ? at : nullptr;
}

std::vector<std::string_view> attribute_names(const OperationRule& rule, int version) {
    std::vector<std::string_view> names = words(rule.attributes);
    if (version >= rule.newest) return names;
    std::erase_if(names, [&](std::string_view name) { return has_word(rule.added, name); });
    for (const std::string_view name : words(rule.dropped)) names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

bool defines(const OperationRule& rule, std::string_view attribute) { return has_word(rule.attributes, attribute); }

}  // namespace tosavk::stablehlo
