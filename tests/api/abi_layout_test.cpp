// Freezes the binary interface: struct offsets, enum values, and the exported symbols.
#include "support/require.hpp"
#include "tosavk/tosavk.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

// Fields are only ever appended: no line here ever changes, a new field gets a new line. For 64-bit pointers.
#define AT(type, field, offset) EXPECT_EQ(offsetof(type, field), std::size_t{offset}) << #type "." #field

TEST(AbiLayout, StructOffsets) {
    if (sizeof(void*) != 8) GTEST_SKIP() << "the numbers below are those of 64-bit targets";
    AT(tosavk_input_shape, index, 0);
    AT(tosavk_input_shape, rank, 4);
    AT(tosavk_input_shape, dims, 8);
    EXPECT_EQ(sizeof(tosavk_input_shape), 72u) << "passed in arrays, so that it can never grow";
    AT(tosavk_load_options, struct_size, 0);
    AT(tosavk_load_options, rounding, 8);
    AT(tosavk_load_options, level, 12);
    AT(tosavk_load_options, input_shapes, 16);
    AT(tosavk_load_options, input_shape_count, 24);
    AT(tosavk_load_options, spec, 32);
    AT(tosavk_load_options, precision, 36);
    AT(tosavk_tensor_info, struct_size, 0);
    AT(tosavk_tensor_info, name, 8);
    AT(tosavk_tensor_info, type, 16);
    AT(tosavk_tensor_info, rank, 20);
    AT(tosavk_tensor_info, dims, 24);
    AT(tosavk_tensor_info, size_bytes, 88);
    AT(tosavk_tensor_info, scale, 96);
    AT(tosavk_tensor_info, zero_point, 104);
    AT(tosavk_compile_options, struct_size, 0);
    AT(tosavk_compile_options, no_fuse, 8);
    AT(tosavk_compile_options, keep_all, 12);
    AT(tosavk_context_options, struct_size, 0);
    AT(tosavk_context_options, profile, 8);
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
    AT(tosavk_counters, package, 104);
    AT(tosavk_dispatch_info, struct_size, 0);
    AT(tosavk_dispatch_info, label, 8);
    AT(tosavk_dispatch_info, kernel, 16);
    AT(tosavk_dispatch_info, gpu_ns, 24);
    AT(tosavk_dispatch_info, work, 32);
    AT(tosavk_dispatch_info, bytes, 40);
    AT(tosavk_dispatch_info, is_integer, 48);
    AT(tosavk_dispatch_info, arithmetic, 52);
    AT(tosavk_check_report, struct_size, 0);
    AT(tosavk_check_report, passed, 8);
    AT(tosavk_check_report, values_checked, 16);
    AT(tosavk_check_report, worst, 24);
    AT(tosavk_check_report, detail, 32);
    AT(tosavk_conformance_options, struct_size, 0);
    AT(tosavk_conformance_options, op, 8);
    AT(tosavk_conformance_options, type, 16);
    AT(tosavk_conformance_options, spec, 24);
    AT(tosavk_conformance_options, seed, 32);
    AT(tosavk_conformance_options, cases, 40);
    AT(tosavk_conformance_options, large_binding, 48);
    AT(tosavk_conformance_options, jobs, 52);
    AT(tosavk_conformance_options, all_candidates, 56);
    AT(tosavk_conformance_summary, struct_size, 0);
    AT(tosavk_conformance_summary, rows, 8);
    AT(tosavk_conformance_summary, rows_failed, 16);
    AT(tosavk_conformance_summary, cases, 24);
    AT(tosavk_conformance_summary, cases_failed, 32);
    AT(tosavk_conformance_summary, worst, 40);
    AT(tosavk_conformance_summary, stopped, 48);
    AT(tosavk_custom_node, struct_size, 0);
    AT(tosavk_custom_node, inputs, 8);
    AT(tosavk_custom_node, input_count, 16);
    AT(tosavk_custom_node, output_count, 20);
    AT(tosavk_custom_node, outputs, 24);
    AT(tosavk_custom_node, attributes, 32);
    AT(tosavk_custom_node, attributes_size_bytes, 40);
    AT(tosavk_custom_dispatch, struct_size, 0);
    AT(tosavk_custom_dispatch, groups, 8);
    AT(tosavk_custom_dispatch, constant_count, 20);
    AT(tosavk_custom_dispatch, constants, 24);
    AT(tosavk_custom_operator, struct_size, 0);
    AT(tosavk_custom_operator, domain_name, 8);
    AT(tosavk_custom_operator, operator_name, 16);
    AT(tosavk_custom_operator, spirv, 24);
    AT(tosavk_custom_operator, spirv_size_bytes, 32);
    AT(tosavk_custom_operator, plan, 40);
    AT(tosavk_custom_operator, check, 48);
    AT(tosavk_custom_operator, reference, 56);
    AT(tosavk_custom_operator, user, 64);
    AT(tosavk_custom_operator, tolerance, 72);
    AT(tosavk_api, struct_size, 0);
    AT(tosavk_api, api_version, 8);
    AT(tosavk_api, version, 16);
    AT(tosavk_api, device_open, 16 + 8 * 13);
    AT(tosavk_api, compile, 16 + 8 * 26);
    AT(tosavk_api, array_save, 16 + 8 * 50);
    AT(tosavk_api, graph_save_file, 16 + 8 * 51);
    AT(tosavk_api, conformance_run, 16 + 8 * 52);
    AT(tosavk_api, context_reset_variables, 16 + 8 * 53);
    AT(tosavk_api, custom_register, 16 + 8 * 54);
    AT(tosavk_api, custom_unregister, 16 + 8 * 55);
    AT(tosavk_api, graph_load_problem, 16 + 8 * 56);
    AT(tosavk_api, problems_describe, 16 + 8 * 57);
    AT(tosavk_api, device_limits, 16 + 8 * 58);
    AT(tosavk_api, package_save, 16 + 8 * 59);
    AT(tosavk_api, context_wait_for, 16 + 8 * 60);
    AT(tosavk_api, device_measure_limits, 16 + 8 * 61);
    AT(tosavk_tune_options, struct_size, 0);
    AT(tosavk_tune_options, no_check, 8);
    AT(tosavk_tune_options, min_time_s, 16);
    AT(tosavk_tune_options, seed, 24);
    AT(tosavk_api, tune, 16 + 8 * 62);
    AT(tosavk_api, array_save_raw, 16 + 8 * 63);
    AT(tosavk_api, probe_file, 16 + 8 * 64);
    AT(tosavk_api, probe_memory, 16 + 8 * 65);
}

TEST(AbiLayout, EnumValues) {
    EXPECT_EQ(TOSAVK_OK, 0);
    EXPECT_EQ(TOSAVK_ERROR_USAGE, 1);
    EXPECT_EQ(TOSAVK_ERROR_INTERNAL, 10);
    EXPECT_EQ(TOSAVK_BOOL, 0);
    EXPECT_EQ(TOSAVK_I8, 2);
    EXPECT_EQ(TOSAVK_FP32, 10);
    EXPECT_EQ(TOSAVK_ROUNDING_SINGLE, 1);
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
    for (const std::string& name : wanted) EXPECT_TRUE(found.count(name)) << name << " is not exported";
    for (const std::string& name : found) EXPECT_TRUE(wanted.count(name)) << name << " is exported but not listed";
}
