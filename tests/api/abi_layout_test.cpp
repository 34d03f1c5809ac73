// The binary interface: sizes and offsets of all structs, enum values, the table of functions, the exported symbols.
#include "support/require.hpp"
#include "tosavk/api.h"
#include "tosavk/tflite_delegate.h"
#include "tosavk/vulkan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// Free to change until version 1 is frozen; afterwards no line here changes. For 64-bit pointers.
#define AT(type, field, offset) EXPECT_EQ(offsetof(type, field), std::size_t{offset}) << #type "." #field
#define SIZE(type, bytes) EXPECT_EQ(sizeof(type), std::size_t{bytes}) << #type

TEST(AbiLayout, StructOffsets) {
    if (sizeof(void*) != 8) GTEST_SKIP() << "the numbers below are those of 64-bit targets";
    SIZE(tosavk_device_options, 88);
    AT(tosavk_device_options, struct_size, 0);
    AT(tosavk_device_options, name, 8);
    AT(tosavk_device_options, uuid, 16);
    AT(tosavk_device_options, luid, 24);
    AT(tosavk_device_options, vendor_id, 32);
    AT(tosavk_device_options, type, 36);
    AT(tosavk_device_options, ordinal, 40);
    AT(tosavk_device_options, threads, 44);
    AT(tosavk_device_options, no_cache, 48);
    AT(tosavk_device_options, compile_only, 52);
    AT(tosavk_device_options, cache_dir, 56);
    AT(tosavk_device_options, cache_limit_bytes, 64);
    AT(tosavk_device_options, submit_ms, 72);
    AT(tosavk_device_options, inspect, 80);
    AT(tosavk_device_options, reserved, 84);
    SIZE(tosavk_memory_info, 64);
    AT(tosavk_memory_info, struct_size, 0);
    AT(tosavk_memory_info, in_use, 8);
    AT(tosavk_memory_info, peak, 16);
    AT(tosavk_memory_info, allocations, 24);
    AT(tosavk_memory_info, heap, 32);
    AT(tosavk_memory_info, budget, 40);
    AT(tosavk_memory_info, used, 48);
    AT(tosavk_memory_info, cached, 56);
    SIZE(tosavk_input_shape, 80);
    AT(tosavk_input_shape, struct_size, 0);
    AT(tosavk_input_shape, index, 8);
    AT(tosavk_input_shape, rank, 12);
    AT(tosavk_input_shape, dims, 16);
    SIZE(tosavk_load_options, 64);
    AT(tosavk_load_options, struct_size, 0);
    AT(tosavk_load_options, input_shapes, 8);
    AT(tosavk_load_options, input_shape_count, 16);
    AT(tosavk_load_options, rounding, 24);
    AT(tosavk_load_options, level, 28);
    AT(tosavk_load_options, spec, 32);
    AT(tosavk_load_options, precision, 36);
    AT(tosavk_load_options, customs, 40);
    AT(tosavk_load_options, signature, 48);
    AT(tosavk_load_options, hybrid, 56);
    AT(tosavk_load_options, f64_as_f32, 60);
    SIZE(tosavk_tensor_info, 120);
    AT(tosavk_tensor_info, struct_size, 0);
    AT(tosavk_tensor_info, name, 8);
    AT(tosavk_tensor_info, type, 16);
    AT(tosavk_tensor_info, rank, 20);
    AT(tosavk_tensor_info, dims, 24);
    AT(tosavk_tensor_info, size_bytes, 88);
    AT(tosavk_tensor_info, scale, 96);
    AT(tosavk_tensor_info, zero_point, 104);
    AT(tosavk_tensor_info, declared_type, 112);
    AT(tosavk_tensor_info, reserved, 116);
    SIZE(tosavk_model_options, 16);
    AT(tosavk_model_options, struct_size, 0);
    AT(tosavk_model_options, max_executables, 8);
    AT(tosavk_model_options, reserved, 12);
    SIZE(tosavk_open_tensor_info, 144);
    AT(tosavk_open_tensor_info, struct_size, 0);
    AT(tosavk_open_tensor_info, name, 8);
    AT(tosavk_open_tensor_info, type, 16);
    AT(tosavk_open_tensor_info, rank, 20);
    AT(tosavk_open_tensor_info, dims, 24);
    AT(tosavk_open_tensor_info, symbols, 88);
    AT(tosavk_open_tensor_info, scale, 120);
    AT(tosavk_open_tensor_info, zero_point, 128);
    AT(tosavk_open_tensor_info, declared_type, 136);
    AT(tosavk_open_tensor_info, reserved, 140);
    SIZE(tosavk_symbol_info, 24);
    AT(tosavk_symbol_info, struct_size, 0);
    AT(tosavk_symbol_info, name, 8);
    AT(tosavk_symbol_info, input, 16);
    AT(tosavk_symbol_info, dimension, 20);
    SIZE(tosavk_symbol_value, 24);
    AT(tosavk_symbol_value, struct_size, 0);
    AT(tosavk_symbol_value, symbol, 8);
    AT(tosavk_symbol_value, reserved, 12);
    AT(tosavk_symbol_value, value, 16);
    SIZE(tosavk_bindings, 40);
    AT(tosavk_bindings, struct_size, 0);
    AT(tosavk_bindings, symbols, 8);
    AT(tosavk_bindings, symbol_count, 16);
    AT(tosavk_bindings, input_shapes, 24);
    AT(tosavk_bindings, input_shape_count, 32);
    SIZE(tosavk_model_counters, 56);
    AT(tosavk_model_counters, struct_size, 0);
    AT(tosavk_model_counters, specialized, 8);
    AT(tosavk_model_counters, reused, 16);
    AT(tosavk_model_counters, kept, 24);
    AT(tosavk_model_counters, shaders_compiled, 32);
    AT(tosavk_model_counters, pipelines_created, 40);
    AT(tosavk_model_counters, weight_bytes_copied, 48);
    SIZE(tosavk_tflite_counters, 112);
    AT(tosavk_tflite_counters, struct_size, 0);
    AT(tosavk_tflite_counters, graphs, 8);
    AT(tosavk_tflite_counters, nodes, 16);
    AT(tosavk_tflite_counters, claimed_nodes, 24);
    AT(tosavk_tflite_counters, partitions, 32);
    AT(tosavk_tflite_counters, compilations, 40);
    AT(tosavk_tflite_counters, runs, 48);
    AT(tosavk_tflite_counters, dispatches, 56);
    AT(tosavk_tflite_counters, reference_runs, 64);
    AT(tosavk_tflite_counters, host_copies, 72);
    AT(tosavk_tflite_counters, device_tensors, 80);
    AT(tosavk_tflite_counters, shaders_compiled, 88);
    AT(tosavk_tflite_counters, pipelines_created, 96);
    AT(tosavk_tflite_counters, weight_bytes_copied, 104);
    SIZE(tosavk_compile_options, 32);
    AT(tosavk_compile_options, struct_size, 0);
    AT(tosavk_compile_options, no_fuse, 8);
    AT(tosavk_compile_options, keep_all, 12);
    AT(tosavk_compile_options, progress, 16);
    AT(tosavk_compile_options, user, 24);
    SIZE(tosavk_buffer_options, 40);
    AT(tosavk_buffer_options, struct_size, 0);
    AT(tosavk_buffer_options, size_bytes, 8);
    AT(tosavk_buffer_options, memory, 16);
    AT(tosavk_buffer_options, exportable, 20);
    AT(tosavk_buffer_options, allocation_bytes, 24);
    AT(tosavk_buffer_options, memory_type_bits, 32);
    AT(tosavk_buffer_options, reserved, 36);
    SIZE(tosavk_buffer_info, 40);
    AT(tosavk_buffer_info, struct_size, 0);
    AT(tosavk_buffer_info, size_bytes, 8);
    AT(tosavk_buffer_info, allocation_bytes, 16);
    AT(tosavk_buffer_info, memory_type_bits, 24);
    AT(tosavk_buffer_info, memory, 28);
    AT(tosavk_buffer_info, mapped, 32);
    AT(tosavk_buffer_info, coherent, 36);
    SIZE(tosavk_binding_info, 40);
    AT(tosavk_binding_info, struct_size, 0);
    AT(tosavk_binding_info, size_bytes, 8);
    AT(tosavk_binding_info, padded_bytes, 16);
    AT(tosavk_binding_info, alignment, 24);
    AT(tosavk_binding_info, usage, 32);
    AT(tosavk_binding_info, direct, 36);
    SIZE(tosavk_semaphore_options, 24);
    AT(tosavk_semaphore_options, struct_size, 0);
    AT(tosavk_semaphore_options, value, 8);
    AT(tosavk_semaphore_options, exportable, 16);
    AT(tosavk_semaphore_options, reserved, 20);
    SIZE(tosavk_context_options, 16);
    AT(tosavk_context_options, struct_size, 0);
    AT(tosavk_context_options, profile, 8);
    AT(tosavk_context_options, reserved, 12);
    SIZE(tosavk_counters, 136);
    AT(tosavk_counters, struct_size, 0);
    AT(tosavk_counters, runs, 8);
    AT(tosavk_counters, submits, 16);
    AT(tosavk_counters, dispatches, 24);
    AT(tosavk_counters, allocations, 32);
    AT(tosavk_counters, pipelines_created, 40);
    AT(tosavk_counters, weight_bytes_copied, 48);
    AT(tosavk_counters, arena_bytes, 56);
    AT(tosavk_counters, constant_bytes, 64);
    AT(tosavk_counters, peak_lower_bound_bytes, 72);
    AT(tosavk_counters, shaders_compiled, 80);
    AT(tosavk_counters, shaders_loaded, 88);
    AT(tosavk_counters, compiler_started, 96);
    AT(tosavk_counters, host_copies, 104);
    AT(tosavk_counters, buffer_copies, 112);
    AT(tosavk_counters, external_bytes, 120);
    AT(tosavk_counters, package, 128);
    SIZE(tosavk_dispatch_info, 56);
    AT(tosavk_dispatch_info, struct_size, 0);
    AT(tosavk_dispatch_info, label, 8);
    AT(tosavk_dispatch_info, kernel, 16);
    AT(tosavk_dispatch_info, gpu_ns, 24);
    AT(tosavk_dispatch_info, work, 32);
    AT(tosavk_dispatch_info, bytes, 40);
    AT(tosavk_dispatch_info, is_integer, 48);
    AT(tosavk_dispatch_info, arithmetic, 52);
    SIZE(tosavk_semaphore_point, 24);
    AT(tosavk_semaphore_point, struct_size, 0);
    AT(tosavk_semaphore_point, semaphore, 8);
    AT(tosavk_semaphore_point, value, 16);
    SIZE(tosavk_submit_options, 56);
    AT(tosavk_submit_options, struct_size, 0);
    AT(tosavk_submit_options, waits, 8);
    AT(tosavk_submit_options, wait_count, 16);
    AT(tosavk_submit_options, signals, 24);
    AT(tosavk_submit_options, signal_count, 32);
    AT(tosavk_submit_options, done, 40);
    AT(tosavk_submit_options, user, 48);
    SIZE(tosavk_builder_options, 40);
    AT(tosavk_builder_options, struct_size, 0);
    AT(tosavk_builder_options, name, 8);
    AT(tosavk_builder_options, level, 16);
    AT(tosavk_builder_options, precision, 20);
    AT(tosavk_builder_options, keep_refused, 24);
    AT(tosavk_builder_options, reserved, 28);
    AT(tosavk_builder_options, customs, 32);
    SIZE(tosavk_tensor_desc, 80);
    AT(tosavk_tensor_desc, struct_size, 0);
    AT(tosavk_tensor_desc, type, 8);
    AT(tosavk_tensor_desc, rank, 12);
    AT(tosavk_tensor_desc, dims, 16);
    SIZE(tosavk_attribute, 40);
    AT(tosavk_attribute, struct_size, 0);
    AT(tosavk_attribute, name, 8);
    AT(tosavk_attribute, kind, 16);
    AT(tosavk_attribute, reserved, 20);
    AT(tosavk_attribute, data, 24);
    AT(tosavk_attribute, count, 32);
    SIZE(tosavk_node_desc, 88);
    AT(tosavk_node_desc, struct_size, 0);
    AT(tosavk_node_desc, op, 8);
    AT(tosavk_node_desc, name, 16);
    AT(tosavk_node_desc, inputs, 24);
    AT(tosavk_node_desc, input_count, 32);
    AT(tosavk_node_desc, attributes, 40);
    AT(tosavk_node_desc, attribute_count, 48);
    AT(tosavk_node_desc, outputs, 56);
    AT(tosavk_node_desc, output_count, 64);
    AT(tosavk_node_desc, regions, 72);
    AT(tosavk_node_desc, region_count, 80);
    SIZE(tosavk_custom_node, 48);
    AT(tosavk_custom_node, struct_size, 0);
    AT(tosavk_custom_node, inputs, 8);
    AT(tosavk_custom_node, input_count, 16);
    AT(tosavk_custom_node, output_count, 20);
    AT(tosavk_custom_node, outputs, 24);
    AT(tosavk_custom_node, attributes, 32);
    AT(tosavk_custom_node, attributes_size_bytes, 40);
    SIZE(tosavk_custom_dispatch, 280);
    AT(tosavk_custom_dispatch, struct_size, 0);
    AT(tosavk_custom_dispatch, groups, 8);
    AT(tosavk_custom_dispatch, constant_count, 20);
    AT(tosavk_custom_dispatch, constants, 24);
    SIZE(tosavk_custom_operator, 88);
    AT(tosavk_custom_operator, struct_size, 0);
    AT(tosavk_custom_operator, domain_name, 8);
    AT(tosavk_custom_operator, operator_name, 16);
    AT(tosavk_custom_operator, spirv, 24);
    AT(tosavk_custom_operator, spirv_size_bytes, 32);
    AT(tosavk_custom_operator, plan, 40);
    AT(tosavk_custom_operator, check, 48);
    AT(tosavk_custom_operator, reference, 56);
    AT(tosavk_custom_operator, user, 64);
    AT(tosavk_custom_operator, release, 72);
    AT(tosavk_custom_operator, tolerance, 80);
    SIZE(tosavk_vulkan_memory, 40);
    AT(tosavk_vulkan_memory, struct_size, 0);
    AT(tosavk_vulkan_memory, memory, 8);
    AT(tosavk_vulkan_memory, offset, 16);
    AT(tosavk_vulkan_memory, mapped, 24);
    AT(tosavk_vulkan_memory, cookie, 32);
    SIZE(tosavk_vulkan_device, 112);
    AT(tosavk_vulkan_device, struct_size, 0);
    AT(tosavk_vulkan_device, instance, 8);
    AT(tosavk_vulkan_device, physical_device, 16);
    AT(tosavk_vulkan_device, device, 24);
    AT(tosavk_vulkan_device, get_instance_proc_addr, 32);
    AT(tosavk_vulkan_device, get_device_proc_addr, 40);
    AT(tosavk_vulkan_device, create_info, 48);
    AT(tosavk_vulkan_device, api_version, 56);
    AT(tosavk_vulkan_device, queue_family, 60);
    AT(tosavk_vulkan_device, queue, 64);
    AT(tosavk_vulkan_device, lock_queue, 72);
    AT(tosavk_vulkan_device, unlock_queue, 80);
    AT(tosavk_vulkan_device, allocate, 88);
    AT(tosavk_vulkan_device, release, 96);
    AT(tosavk_vulkan_device, user, 104);
    SIZE(tosavk_vulkan_range, 48);
    AT(tosavk_vulkan_range, struct_size, 0);
    AT(tosavk_vulkan_range, buffer, 8);
    AT(tosavk_vulkan_range, offset, 16);
    AT(tosavk_vulkan_range, size, 24);
    AT(tosavk_vulkan_range, usage, 32);
    AT(tosavk_vulkan_range, flags, 36);
    AT(tosavk_vulkan_range, strides, 40);
    SIZE(tosavk_vulkan_memory_needs, 64);
    AT(tosavk_vulkan_memory_needs, struct_size, 0);
    AT(tosavk_vulkan_memory_needs, arena_bytes, 8);
    AT(tosavk_vulkan_memory_needs, arena_bytes_with_copies, 16);
    AT(tosavk_vulkan_memory_needs, alignment, 24);
    AT(tosavk_vulkan_memory_needs, constant_bytes, 32);
    AT(tosavk_vulkan_memory_needs, constants, 40);
    AT(tosavk_vulkan_memory_needs, constants_offset, 48);
    AT(tosavk_vulkan_memory_needs, usage, 56);
    AT(tosavk_vulkan_memory_needs, reserved, 60);
    SIZE(tosavk_vulkan_bindings, 56);
    AT(tosavk_vulkan_bindings, struct_size, 0);
    AT(tosavk_vulkan_bindings, arena, 8);
    AT(tosavk_vulkan_bindings, constants, 16);
    AT(tosavk_vulkan_bindings, inputs, 24);
    AT(tosavk_vulkan_bindings, input_count, 32);
    AT(tosavk_vulkan_bindings, outputs, 40);
    AT(tosavk_vulkan_bindings, output_count, 48);
    SIZE(tosavk_vulkan_access, 32);
    AT(tosavk_vulkan_access, struct_size, 0);
    AT(tosavk_vulkan_access, first_stages, 8);
    AT(tosavk_vulkan_access, first_access, 12);
    AT(tosavk_vulkan_access, last_stages, 16);
    AT(tosavk_vulkan_access, last_access, 20);
    AT(tosavk_vulkan_access, copies, 24);
    SIZE(tosavk_tune_options, 48);
    AT(tosavk_tune_options, struct_size, 0);
    AT(tosavk_tune_options, no_check, 8);
    AT(tosavk_tune_options, reserved, 12);
    AT(tosavk_tune_options, min_time_s, 16);
    AT(tosavk_tune_options, seed, 24);
    AT(tosavk_tune_options, progress, 32);
    AT(tosavk_tune_options, user, 40);
    SIZE(tosavk_reference_options, 32);
    AT(tosavk_reference_options, struct_size, 0);
    AT(tosavk_reference_options, steps, 8);
    AT(tosavk_reference_options, reserved, 12);
    AT(tosavk_reference_options, progress, 16);
    AT(tosavk_reference_options, user, 24);
    SIZE(tosavk_checker_options, 24);
    AT(tosavk_checker_options, struct_size, 0);
    AT(tosavk_checker_options, progress, 8);
    AT(tosavk_checker_options, user, 16);
    SIZE(tosavk_check_report, 40);
    AT(tosavk_check_report, struct_size, 0);
    AT(tosavk_check_report, passed, 8);
    AT(tosavk_check_report, reserved, 12);
    AT(tosavk_check_report, values_checked, 16);
    AT(tosavk_check_report, worst, 24);
    AT(tosavk_check_report, detail, 32);
    SIZE(tosavk_conformance_options, 64);
    AT(tosavk_conformance_options, struct_size, 0);
    AT(tosavk_conformance_options, op, 8);
    AT(tosavk_conformance_options, type, 16);
    AT(tosavk_conformance_options, spec, 24);
    AT(tosavk_conformance_options, seed, 32);
    AT(tosavk_conformance_options, cases, 40);
    AT(tosavk_conformance_options, large_binding, 48);
    AT(tosavk_conformance_options, jobs, 52);
    AT(tosavk_conformance_options, all_candidates, 56);
    AT(tosavk_conformance_options, reserved, 60);
    SIZE(tosavk_conformance_summary, 56);
    AT(tosavk_conformance_summary, struct_size, 0);
    AT(tosavk_conformance_summary, rows_failed, 16);
    AT(tosavk_conformance_summary, cases_failed, 32);
    AT(tosavk_conformance_summary, worst, 40);
    AT(tosavk_conformance_summary, stopped, 48);
    AT(tosavk_conformance_summary, reserved, 52);
}

namespace {

/// Text of the public C headers, by file name.
std::map<std::string, std::string> headers() {
    std::map<std::string, std::string> found;
    const char* source = std::getenv("TOSAVK_SOURCE");
    if (!source) return found;
    for (const auto& file : std::filesystem::directory_iterator(std::string(source) + "/include/tosavk")) {
        if (file.path().extension() != ".h") continue;
        std::ifstream in(file.path());
        found[file.path().filename()] = std::string(std::istreambuf_iterator<char>(in), {});
    }
    return found;
}

std::vector<std::string> all_matches(const std::string& text, const char* pattern) {
    const std::regex expression(pattern);
    std::vector<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
        found.push_back(at->str(1));
    return found;
}

}  // namespace

TEST(AbiLayout, EveryStructBeginsWithItsSize) {
    const auto texts = headers();
    if (texts.empty()) TOSAVK_MISSING("ctest", "ctest sets TOSAVK_SOURCE");
    for (const auto& [name, text] : texts) {
        const auto structs = all_matches(text, R"(typedef struct (\w+) \{)");
        const auto sized = all_matches(text, R"(typedef struct (\w+) \{\s*size_t struct_size;)");
        EXPECT_EQ(structs, sized) << name;
    }
}

TEST(AbiLayout, EveryFunctionSaysItsThreads) {
    const auto texts = headers();
    if (texts.empty()) TOSAVK_MISSING("ctest", "ctest sets TOSAVK_SOURCE");
    std::size_t functions = 0;
    for (const auto& [name, text] : texts) {
        std::vector<std::string> named;
        for (const std::string& note : all_matches(text, R"(/\* Threads: ([^/]*)\*/)"))
            for (const std::string& word : all_matches(note, R"((tosavk_\w+\*?))")) named.push_back(word);
        const char* declared = R"(\n(?:TOSAVK_API |int32_t |size_t )[^;(]*?(tosavk_\w+)\()";
        for (const std::string& function : all_matches(text, declared)) {
            ++functions;
            const bool is_named = std::any_of(named.begin(), named.end(), [&](const std::string& word) {
                return word.back() == '*' ? function.starts_with(word.substr(0, word.size() - 1)) : function == word;
            });
            EXPECT_TRUE(is_named) << name << ": no comment says from which threads " << function << " may be called";
        }
    }
    EXPECT_GT(functions, 150u);
}

TEST(AbiLayout, TheTableIsWhole) {
    const tosavk_api* api = tosavk_get_api(TOSAVK_API_VERSION);
    ASSERT_NE(api, nullptr);
    EXPECT_EQ(api->struct_size, sizeof(tosavk_api));
    for (std::size_t at = offsetof(tosavk_api, version); at < sizeof(tosavk_api); at += sizeof(void*)) {
        void* function = nullptr;
        std::memcpy(&function, reinterpret_cast<const char*>(api) + at, sizeof function);
        EXPECT_NE(function, nullptr) << "entry at byte " << at;
    }
}

TEST(AbiLayout, EntriesOfTablesStayWhereTheyAre) {
    const auto texts = headers();
    if (texts.empty()) TOSAVK_MISSING("ctest", "ctest sets TOSAVK_SOURCE");
    std::vector<std::string> wanted, found;
    std::ifstream list(std::string(std::getenv("TOSAVK_SOURCE")) + "/tests/api/api_tables.txt");
    for (std::string line; std::getline(list, line);) wanted.push_back(line);
    for (const std::string table : {"tosavk_api", "tosavk_vulkan_api"}) {
        for (const auto& [name, text] : texts) {
            const std::size_t begin = text.find("typedef struct " + table + " {"), end = text.find("} " + table + ";");
            if (begin == std::string::npos) continue;
            for (const std::string& entry : all_matches(text.substr(begin, end - begin), R"(\(\*(\w+)\)\()"))
                found.push_back(table + ' ' + entry);
        }
    }
    EXPECT_EQ(found, wanted) << "new functions go to the end of their table, and of it in api_tables.txt";
}

TEST(AbiLayout, EnumValues) {
    EXPECT_EQ(TOSAVK_OK, 0);
    EXPECT_EQ(TOSAVK_ERROR_USAGE, 1);
    EXPECT_EQ(TOSAVK_ERROR_INTERNAL, 10);
    EXPECT_EQ(TOSAVK_BOOL, 0);
    EXPECT_EQ(TOSAVK_I8, 2);
    EXPECT_EQ(TOSAVK_FP32, 10);
    EXPECT_EQ(TOSAVK_ROUNDING_SINGLE, 2);
    EXPECT_EQ(TOSAVK_LEVEL_NONE, 1);
    EXPECT_EQ(TOSAVK_SPEC_1_0, 3);
    EXPECT_EQ(TOSAVK_GRAPH_DOT, 1);
    EXPECT_EQ(TOSAVK_EXECUTABLE_GLSL, 1);
}

TEST(AbiLayout, ExportedSymbols) {
    const char* library = std::getenv("TOSAVK_LIBRARY");
    const char* source = std::getenv("TOSAVK_SOURCE");
    if (!library || !source) TOSAVK_MISSING("ctest", "ctest sets TOSAVK_LIBRARY and TOSAVK_SOURCE");
    std::ifstream list(std::string(source) + "/src/api/exported_symbols.txt");
    std::set<std::string> wanted, found;
    for (std::string line; std::getline(list, line);) {
        if (!line.empty()) wanted.insert(line);
    }
    ASSERT_FALSE(wanted.empty());
    std::FILE* pipe = ::popen(("nm -D --defined-only '" + std::string(library) + "'").c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string output;
    char buffer[4096];
    while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, size);
    ASSERT_EQ(::pclose(pipe), 0) << "nm is in Debian's binutils";
    std::istringstream lines(output);
    for (std::string address, kind, name; lines >> address >> kind >> name;) found.insert(name);
    const std::size_t in_tables =
        (sizeof(tosavk_api) - offsetof(tosavk_api, version)) / sizeof(void*) +
        (sizeof(tosavk_vulkan_api) - offsetof(tosavk_vulkan_api, device_adopt)) / sizeof(void*);
    EXPECT_EQ(wanted.size() - 2, in_tables) << "all but tosavk_get_api and its sister stand in a table";
    for (const std::string& name : wanted) EXPECT_TRUE(found.count(name)) << name << " is not exported";
    for (const std::string& name : found) EXPECT_TRUE(wanted.count(name)) << name << " is exported but not listed";
}
