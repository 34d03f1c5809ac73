// The C ABI without a device: arguments, struct_size, errors, graphs, the reference run.
#include "tosavk/api.h"
#include "hosts/pjrt/options.hpp"
#include "hosts/tflite_delegate/options.hpp"
#include "support/small_models.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cfenv>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <unistd.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;

/// The last error of a call, freed.
struct Outcome {
    tosavk_status status;
    std::string message;
};
template <class F> Outcome outcome(F call) {
    tosavk_error* error = nullptr;
    const tosavk_status status = call(&error);
    Outcome result{status, tosavk_error_message(error)};
    EXPECT_EQ(status, tosavk_error_status(error));
    EXPECT_EQ(status != TOSAVK_OK, error != nullptr);
    if (error) {
        EXPECT_FALSE(result.message.empty());
    }
    tosavk_error_release(error);
    return result;
}

TEST(Api, NullArgumentsAreUsageErrors) {
    const cpp::Graph graph = cpp::Graph::load(test::small_float_model());
    tosavk_graph* out = nullptr;
    tosavk_text* text = nullptr;
    auto info = cpp::detail::sized<tosavk_tensor_info>();
    float value[4] = {};
    const Outcome outcomes[] = {
        outcome([&](tosavk_error** e) { return tosavk_graph_load_file(nullptr, nullptr, &out, e); }),
        outcome([&](tosavk_error** e) { return tosavk_graph_load_file("x", nullptr, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_graph_load_memory(nullptr, 1, nullptr, &out, e); }),
        outcome([&](tosavk_error** e) { return tosavk_graph_input(nullptr, 0, &info, e); }),
        outcome([&](tosavk_error** e) { return tosavk_graph_output(graph.get(), 0, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_graph_output(graph.get(), 1, &info, e); }),
        outcome([&](tosavk_error** e) { return tosavk_graph_print(graph.get(), TOSAVK_GRAPH_DOT, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_graph_print(graph.get(), 9, &text, e); }),
        outcome([&](tosavk_error** e) { return tosavk_reference_run(graph.get(), nullptr, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_random_input(graph.get(), 7, 0, value, sizeof value, e); }),
        outcome([&](tosavk_error** e) { return tosavk_random_input(graph.get(), 0, 0, nullptr, sizeof value, e); }),
        outcome([&](tosavk_error** e) { return tosavk_device_count(nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_device_describe(0, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_device_open("", nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_compile(nullptr, graph.get(), nullptr, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_executable_print(nullptr, TOSAVK_EXECUTABLE_PLAN, &text, e); }),
        outcome([&](tosavk_error** e) { return tosavk_context_create(nullptr, nullptr, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_context_set_input(nullptr, 0, value, 4, e); }),
        outcome([&](tosavk_error** e) { return tosavk_context_run(nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_context_submit(nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_context_wait(nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_context_wait_for(nullptr, 0, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_context_get_output(nullptr, 0, value, 4, e); }),
        outcome([&](tosavk_error** e) { return tosavk_context_counters(nullptr, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_context_dispatch(nullptr, 0, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_tune(nullptr, graph.get(), nullptr, &text, e); }),
        outcome([&](tosavk_error** e) { return tosavk_checker_create(nullptr, nullptr, nullptr, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_checker_run(nullptr, 0, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_checker_run_with(nullptr, nullptr, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_graph_with_precision(nullptr, 0, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_ops_describe(nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_probe_file(nullptr, nullptr, &text, e); }),
        outcome([&](tosavk_error** e) { return tosavk_probe_file("x", nullptr, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_probe_memory(nullptr, 0, nullptr, &text, e); }),
        outcome([&](tosavk_error** e) { return tosavk_array_load(nullptr, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_array_info(nullptr, &info, e); }),
        outcome([&](tosavk_error** e) { return tosavk_array_convert(nullptr, TOSAVK_I4, nullptr, e); }),
        outcome([&](tosavk_error** e) { return tosavk_array_save("/tmp/x.npy", TOSAVK_FP32, 1, nullptr, value, e); }),
        outcome(
            [&](tosavk_error** e) { return tosavk_array_save("/tmp/x.npy", TOSAVK_FP32, 99, info.dims, value, e); }),
        outcome([&](tosavk_error** e) { return tosavk_array_save("/tmp/x.npy", 77, 0, nullptr, value, e); }),
        outcome([&](tosavk_error** e) { return tosavk_array_save_raw(nullptr, TOSAVK_BF16, 0, nullptr, value, e); }),
    };
    for (std::size_t k = 0; k < std::size(outcomes); ++k)
        EXPECT_EQ(outcomes[k].status, TOSAVK_ERROR_USAGE) << k << ": " << outcomes[k].message;
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(text, nullptr);
    // What cannot fail takes NULL.
    tosavk_error_release(nullptr);
    tosavk_text_release(nullptr);
    tosavk_device_release(nullptr);
    tosavk_graph_release(nullptr);
    tosavk_executable_release(nullptr);
    tosavk_context_release(nullptr);
    tosavk_checker_release(nullptr);
    tosavk_array_release(nullptr);
    EXPECT_EQ(tosavk_graph_input_count(nullptr), 0u);
    EXPECT_EQ(tosavk_context_dispatch_count(nullptr), 0u);
    EXPECT_STREQ(tosavk_device_name(nullptr), "");
    EXPECT_STREQ(tosavk_text_data(nullptr), "");
    EXPECT_EQ(tosavk_array_data(nullptr), nullptr);
    // And no error object is needed.
    EXPECT_EQ(tosavk_graph_load_file(nullptr, nullptr, nullptr, nullptr), TOSAVK_ERROR_USAGE);
}

TEST(Api, ProbesModels) {
    const auto model = test::small_float_model();
    const auto report = nlohmann::json::parse(cpp::probe(std::span(model)));
    EXPECT_EQ(report.at("format"), "tflite");
    EXPECT_EQ(report.at("taken"), true);
    EXPECT_EQ(report.at("graph"), nlohmann::json::array());
    ASSERT_FALSE(report.at("operators").empty());
    for (const auto& op : report.at("operators")) EXPECT_EQ(op.at("taken"), true) << op;
    const auto none = outcome([&](tosavk_error** e) {
        tosavk_text* text = nullptr;
        return tosavk_probe_memory("no model", 8, nullptr, &text, e);
    });
    EXPECT_EQ(none.status, TOSAVK_ERROR_BAD_MODEL);
    EXPECT_EQ(none.message, "the model in memory: this is text, not a model");
    // Options that the file cannot follow are refused by both, in the same words.
    for (const std::uint32_t index : {0u, 7u}) {
        const tosavk_input_shape shape{sizeof shape, index, 2, {3, 5}};
        tosavk_load_options options{};
        options.struct_size = sizeof options;
        options.input_shapes = &shape;
        options.input_shape_count = 1;
        tosavk_text* text = nullptr;
        ASSERT_EQ(tosavk_probe_memory(model.data(), model.size(), &options, &text, nullptr), TOSAVK_OK);
        const auto shaped = nlohmann::json::parse(tosavk_text_data(text));
        tosavk_text_release(text);
        tosavk_graph* graph = nullptr;
        const auto loaded = outcome([&](tosavk_error** e) {
            return tosavk_graph_load_memory(model.data(), model.size(), &options, &graph, e);
        });
        EXPECT_EQ(loaded.status, TOSAVK_ERROR_BAD_INPUT);
        EXPECT_EQ(shaped.at("taken"), false);
        ASSERT_EQ(shaped.at("graph").size(), 1u);
        EXPECT_NE(loaded.message.find(shaped.at("graph")[0].get<std::string>()), std::string::npos) << loaded.message;
    }
    EXPECT_EQ(outcome([&](tosavk_error** e) {
                  tosavk_text* text = nullptr;
                  return tosavk_probe_file("/there/is/none.tflite", nullptr, &text, e);
              }).status,
              TOSAVK_ERROR_IO);
}

TEST(Api, StructSize) {
    const auto model = test::small_float_model();
    const auto load = [&](const tosavk_load_options* options) {
        return outcome([&](tosavk_error** e) {
            tosavk_graph* graph = nullptr;
            const tosavk_status status = tosavk_graph_load_memory(model.data(), model.size(), options, &graph, e);
            tosavk_graph_release(graph);
            return status;
        });
    };
    EXPECT_EQ(load(nullptr).status, TOSAVK_OK);
    auto options = cpp::detail::sized<tosavk_load_options>();
    EXPECT_EQ(load(&options).status, TOSAVK_OK);
    for (const std::size_t absurd : {std::size_t{0}, std::size_t{7}, std::size_t{100000}, ~std::size_t{0}}) {
        options.struct_size = absurd;
        EXPECT_EQ(load(&options).status, TOSAVK_ERROR_USAGE) << absurd;
    }
    options = cpp::detail::sized<tosavk_load_options>();
    options.hybrid = TOSAVK_HYBRID_DEQUANTIZE;
    EXPECT_EQ(load(&options).status, TOSAVK_OK);
    options.hybrid = 2;
    EXPECT_EQ(load(&options).status, TOSAVK_ERROR_USAGE);
    options.hybrid = 0;
    for (const std::int32_t f64_as_f32 : {0, 1, 2, -1}) {
        options.f64_as_f32 = f64_as_f32;
        const bool known = f64_as_f32 == 0 || f64_as_f32 == 1;
        EXPECT_EQ(load(&options).status, known ? TOSAVK_OK : TOSAVK_ERROR_USAGE) << f64_as_f32;
    }
    options.f64_as_f32 = 0;
    // An older program's struct ends early: what lies behind it is not read.
    options.struct_size = offsetof(tosavk_load_options, input_shapes);
    options.input_shapes = reinterpret_cast<const tosavk_input_shape*>(8);
    options.input_shape_count = 1000;
    EXPECT_EQ(load(&options).status, TOSAVK_OK);
    // A newer program's struct is longer: unknown fields must be zero.
    struct {
        tosavk_load_options known;
        std::uint64_t later;
    } newer{};
    newer.known.struct_size = sizeof newer;
    EXPECT_EQ(load(&newer.known).status, TOSAVK_OK);
    newer.later = 1;
    EXPECT_EQ(load(&newer.known).status, TOSAVK_ERROR_USAGE);

    const cpp::Graph graph = cpp::Graph::load(model);
    tosavk_tensor_info info{};
    info.struct_size = offsetof(tosavk_tensor_info, dims);
    info.dims[0] = -5;
    info.scale = 77;
    ASSERT_EQ(tosavk_graph_input(graph.get(), 0, &info, nullptr), TOSAVK_OK);
    EXPECT_EQ(info.rank, 2u);
    EXPECT_EQ(info.dims[0], -5) << "beyond the caller's struct";
    EXPECT_EQ(info.scale, 77);
    EXPECT_EQ(info.struct_size, offsetof(tosavk_tensor_info, dims));
}

TEST(Api, GraphIsDescribed) {
    const cpp::Graph graph = cpp::Graph::load(test::small_float_model());
    ASSERT_EQ(graph.input_count(), 1u);
    ASSERT_EQ(graph.output_count(), 1u);
    EXPECT_GE(graph.node_count(), 2u);
    const auto input = graph.input(0);
    EXPECT_STREQ(input.name, test::small_input_name);
    EXPECT_EQ(input.type, TOSAVK_FP32);
    EXPECT_EQ(cpp::shape_of(input), (cpp::Shape{1, 4}));
    EXPECT_EQ(input.size_bytes, 16u);
    EXPECT_NE(graph.print(TOSAVK_GRAPH_LISTING).find("ADD"), std::string::npos);
    EXPECT_NE(graph.print(TOSAVK_GRAPH_DOT).find("digraph"), std::string::npos);

    const cpp::Graph quantized = cpp::Graph::load(test::small_int8_model());
    EXPECT_DOUBLE_EQ(quantized.input(1).scale, 0.25);
    EXPECT_EQ(quantized.input(1).zero_point, -7);
    EXPECT_EQ(quantized.output(0).type, TOSAVK_I8);
}

TEST(Api, DynamicShapes) {
    cpp::LoadOptions options;
    options.input_shapes = {{0, {3, 4}}};
    const cpp::Graph graph = cpp::Graph::load(test::small_float_model(), options);
    EXPECT_EQ(cpp::shape_of(graph.output(0)), (cpp::Shape{3, 4}));
    for (const auto& [index, shape] :
         {std::pair<std::uint32_t, cpp::Shape>{0, {3, 5}}, {0, {3}}, {1, {3, 4}}, {0, {0, 4}}}) {
        options.input_shapes = {{index, shape}};
        try {
            cpp::Graph::load(test::small_float_model(), options);
            ADD_FAILURE();
        } catch (const cpp::Error& e) {
            EXPECT_EQ(e.status(), TOSAVK_ERROR_BAD_INPUT) << e.what();
        }
    }
}

TEST(Api, BadModelsAreErrors) {
    const auto status_of = [](std::span<const std::byte> file) {
        return outcome([&](tosavk_error** e) {
                   tosavk_graph* graph = nullptr;
                   return tosavk_graph_load_memory(file.data(), file.size(), nullptr, &graph, e);
               })
            .status;
    };
    const auto model = test::small_float_model();
    EXPECT_EQ(status_of(std::span(model).first(model.size() / 2)), TOSAVK_ERROR_BAD_MODEL);
    EXPECT_EQ(status_of(test::small_float_model(static_cast<tflite::BuiltinOperator>(9999))), TOSAVK_ERROR_UNSUPPORTED);
    const auto missing = outcome([](tosavk_error** e) {
        tosavk_graph* graph = nullptr;
        return tosavk_graph_load_file("/nonexistent/model.tflite", nullptr, &graph, e);
    });
    EXPECT_EQ(missing.status, TOSAVK_ERROR_IO);
    EXPECT_NE(missing.message.find("/nonexistent/model.tflite"), std::string::npos);
}

TEST(Api, ReferenceRun) {
    const cpp::Graph graph = cpp::Graph::load(test::small_float_model());
    const float x[4] = {0.5f, 0.5f, -10, 100};
    std::vector<std::vector<std::byte>> inputs(1, std::vector<std::byte>(sizeof x));
    std::memcpy(inputs[0].data(), x, sizeof x);
    const auto outputs = graph.reference_run(inputs);
    float y[4];
    ASSERT_EQ(outputs.at(0).size(), sizeof y);
    std::memcpy(y, outputs[0].data(), sizeof y);
    EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{1.5f, 0, 0, 96}));
}

/// A host's threads may round otherwise, and take subnormal numbers for zero.
TEST(Api, FloatsOfTheHostsThread) {
    const cpp::Graph graph = cpp::Graph::load(test::small_float_model());
    float x[4] = {1e-40f, 0.1f, 1e-39f, 1 / 3.0f};
    std::vector<std::vector<std::byte>> inputs(1, std::vector<std::byte>(sizeof x));
    std::memcpy(inputs[0].data(), x, sizeof x);
    const auto wanted = graph.reference_run(inputs);
    std::fenv_t before;
    std::fegetenv(&before);
    std::fesetround(FE_UPWARD);
#ifdef __SSE2__
    const unsigned flush = 0x8040;  // subnormal numbers as results and as operands
    _mm_setcsr(_mm_getcsr() | flush);
#endif
    const auto found = graph.reference_run(inputs);
    const int rounding = std::fegetround();
#ifdef __SSE2__
    const bool flushes = (_mm_getcsr() & flush) == flush;
#else
    const bool flushes = true;
#endif
    std::fesetenv(&before);
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(rounding, FE_UPWARD);
    EXPECT_TRUE(flushes);
}

TEST(Api, RandomInputsDependOnSeedAndIndex) {
    const cpp::Graph graph = cpp::Graph::load(test::small_int8_model());
    EXPECT_EQ(graph.random_input(0, 5), graph.random_input(0, 5));
    EXPECT_NE(graph.random_input(0, 5), graph.random_input(0, 6));
    EXPECT_NE(graph.random_input(0, 5), graph.random_input(1, 5));
    EXPECT_NE(graph.random_input(0, 6), graph.random_input(1, 5));
}

TEST(Api, TypesAndOperators) {
    EXPECT_STREQ(tosavk_type_name(TOSAVK_I8), "i8");
    EXPECT_STREQ(tosavk_type_name(11), "?");
    EXPECT_STREQ(tosavk_type_name(-1), "?");
    EXPECT_EQ(tosavk_type_size(TOSAVK_I48), 8u);
    EXPECT_EQ(tosavk_type_size(11), 0u);
    const std::string ops = cpp::describe_ops();
    EXPECT_NE(ops.find("\"CONV2D\""), std::string::npos);
}

/// Bits of bf16 and fp8 through a file and back; a file of uint8 as what it is nearest to, and as what holds its
/// values.
TEST(Api, Arrays) {
    const std::string path = ::testing::TempDir() + "tosavk-api-" + std::to_string(::getpid()) + ".npy";
    const std::uint16_t halves[] = {0x3f80, 0xc000, 0x4040};
    cpp::Array::save(path, TOSAVK_BF16, {3}, halves, true);
    const cpp::Array bf16 = cpp::Array::load(path);
    EXPECT_EQ(bf16.info().type, TOSAVK_BF16);
    EXPECT_STREQ(bf16.info().name, "void16");
    EXPECT_THROW(bf16.convert(TOSAVK_FP16), cpp::Error) << "nobody says of what type the bits are";
    EXPECT_EQ(bf16.convert(TOSAVK_BF16).info().type, TOSAVK_BF16);
    EXPECT_EQ(std::memcmp(bf16.bytes().data(), halves, sizeof halves), 0);
    const std::uint8_t bytes[] = {0x38, 0xc0, 0x7e};
    for (const tosavk_type type : {TOSAVK_FP8E4M3, TOSAVK_FP8E5M2}) {
        cpp::Array::save(path, type, {3}, bytes, true);
        const cpp::Array file = cpp::Array::load(path);
        EXPECT_EQ(file.info().type, TOSAVK_FP8E4M3);
        EXPECT_STREQ(file.info().name, "void8");
        EXPECT_THROW(file.convert(TOSAVK_FP32), cpp::Error);
        const cpp::Array converted = file.convert(type);
        EXPECT_EQ(converted.info().type, type);
        EXPECT_STREQ(converted.info().name, "");
        EXPECT_EQ(std::memcmp(converted.bytes().data(), bytes, sizeof bytes), 0);
    }
    const std::int64_t none[] = {0, 3};
    ASSERT_EQ(tosavk_array_save(path.c_str(), TOSAVK_FP32, 2, none, nullptr, nullptr), TOSAVK_OK);
    const cpp::Array empty = cpp::Array::load(path);
    EXPECT_EQ(empty.info().rank, 2u);
    EXPECT_EQ(empty.info().dims[0], 0);
    EXPECT_EQ(empty.info().size_bytes, 0u);
    const std::int64_t negative[] = {-1};
    EXPECT_EQ(tosavk_array_save(path.c_str(), TOSAVK_FP32, 1, negative, bytes, nullptr), TOSAVK_ERROR_USAGE);
    const std::int64_t one[] = {1};
    EXPECT_EQ(tosavk_array_save(path.c_str(), TOSAVK_FP32, 1, one, nullptr, nullptr), TOSAVK_ERROR_USAGE);
    std::ofstream(path, std::ios::binary)
        << std::string("\x93NUMPY\x01\0\x3a\0", 10) << "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), } "
        << std::string("\x05\xc8", 2);
    const cpp::Array file = cpp::Array::load(path);
    EXPECT_EQ(file.info().type, TOSAVK_I16);
    EXPECT_STREQ(file.info().name, "uint8");
    const std::int16_t wide[] = {5, 200};
    EXPECT_EQ(std::memcmp(file.bytes().data(), wide, sizeof wide), 0);
    tosavk_array* loaded = nullptr;
    ASSERT_EQ(tosavk_array_load(path.c_str(), &loaded, nullptr), TOSAVK_OK);
    tosavk_array* narrow = nullptr;
    const Outcome refused =
        outcome([&](tosavk_error** e) { return tosavk_array_convert(loaded, TOSAVK_I8, &narrow, e); });
    EXPECT_EQ(refused.status, TOSAVK_ERROR_BAD_INPUT);
    EXPECT_EQ(refused.message, "element 1 is 200, which type i8 does not hold (-128 to 127)");
    EXPECT_EQ(narrow, nullptr);
    tosavk_array_release(loaded);
    std::remove(path.c_str());
}

TEST(Api, TableHoldsEveryFunction) {
    const tosavk_api* api = tosavk_get_api(TOSAVK_API_VERSION);
    ASSERT_NE(api, nullptr);
    EXPECT_EQ(api->struct_size, sizeof(tosavk_api));
    const auto* entries =
        reinterpret_cast<void* const*>(reinterpret_cast<const char*>(api) + offsetof(tosavk_api, version));
    const std::size_t count = (sizeof(tosavk_api) - offsetof(tosavk_api, version)) / sizeof(void*);
    EXPECT_TRUE(std::none_of(entries, entries + count, [](void* p) { return p == nullptr; }));
    EXPECT_EQ(tosavk_get_api(0), nullptr);
}

/// Unasked, a model is computed within the bounds of what it declares, whoever loads it.
TEST(Api, HostsAreExactUnasked) {
    EXPECT_EQ(cpp::LoadOptions().precision, TOSAVK_PRECISION_DECLARED);
    EXPECT_EQ(tosavk_load_options{}.precision, TOSAVK_PRECISION_DECLARED);
    EXPECT_EQ(tosavk_builder_options{}.precision, TOSAVK_PRECISION_DECLARED);
    EXPECT_EQ(delegate::DelegateOptions().load.precision, TOSAVK_PRECISION_DECLARED);
    EXPECT_EQ(pjrt::Options().precision, TOSAVK_PRECISION_DECLARED);
    EXPECT_FALSE(pjrt::CompileOptions().precision.has_value());
}

}  // namespace
