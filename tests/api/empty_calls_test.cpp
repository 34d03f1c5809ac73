// Tensors without elements among the builder's calls: descriptions, constants that are nowhere, probes, files.
#include "support/builder_calls.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace tosavk;
using namespace tosavk::test;
namespace cpp = tosavk::cpp;

#define EXPECT_HAS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST(EmptyCalls, ConstantsNeedNoPointer) {
    const BuilderHandle builder = make_builder();
    const tosavk_tensor_desc none = desc_of(DType::fp32, {3, 0});
    std::uint32_t value = 0;
    succeed([&](auto* e) { return tosavk_builder_constant(builder.get(), "a", &none, nullptr, 0, &value, e); });
    succeed([&](auto* e) { return tosavk_builder_output(builder.get(), value, e); });
    std::vector<const void*> released;
    const tosavk_release_callback release = [](void* user, const void* data) {
        static_cast<std::vector<const void*>*>(user)->push_back(data);
    };
    const float somewhere = 1;
    for (const float* data : {static_cast<const float*>(nullptr), &somewhere}) {
        succeed([&](auto* e) {
            return tosavk_builder_constant_borrowed(builder.get(), data ? "b" : "c", &none, data, 0, release, &released,
                                                    &value, e);
        });
        succeed([&](auto* e) { return tosavk_builder_output(builder.get(), value, e); });
    }
    EXPECT_HAS(sentence_of(TOSAVK_ERROR_BAD_INPUT,
                           [&](auto* e) {
                               return tosavk_builder_constant(builder.get(), "d", &none, &somewhere, 4, &value, e);
                           }),
               "has 0 bytes, not 4");
    succeed([&](auto* e) { return tosavk_builder_variable(builder.get(), "v", &none, nullptr, 0, e); });
    EXPECT_TRUE(released.empty());
    tosavk_graph* raw = nullptr;
    succeed([&](auto* e) { return tosavk_builder_finish(builder.get(), &raw, e); });
    {
        const GraphHandle graph(raw);
        EXPECT_EQ(tosavk_graph_output_count(raw), 3u);
        void* outputs[] = {nullptr, nullptr, nullptr};
        succeed([&](auto* e) { return tosavk_reference_run(raw, nullptr, outputs, e); });
    }
    // A value without elements is an empty one of the graph's own: nobody reads what was lent.
    EXPECT_EQ(released, (std::vector<const void*>{nullptr, &somewhere}));
}

TEST(EmptyCalls, DescriptionsAreChecked) {
    const BuilderHandle builder = make_builder();
    tosavk_tensor_desc desc = desc_of(DType::fp32, {2, -1});
    std::uint32_t value = 0;
    EXPECT_HAS(sentence_of(TOSAVK_ERROR_BAD_MODEL,
                           [&](auto* e) { return tosavk_builder_input(builder.get(), "x", &desc, &value, e); }),
               "every dimension must be at least 0");
    desc = desc_of(DType::fp32, {INT64_MAX, 0, INT64_MAX});
    tosavk_error* error = nullptr;
    tosavk_builder_input(builder.get(), "x", &desc, &value, &error);  // taken or refused, but counted without overflow
    tosavk_error_release(error);
}

TEST(EmptyCalls, AProbeSaysWhatIsRefused) {
    cpp::Builder b("probed", TOSAVK_LEVEL_8K, TOSAVK_PRECISION_DECLARED, true);
    const auto x = b.input("x", {TOSAVK_FP32, {0, 3}});
    const auto best = b.node1("ARGMAX", {x}, {{"axis", 0}}, {{TOSAVK_I32, {3}}});
    b.output(b.node1("ABS", {b.node1("REDUCE_MAX", {x}, {{"axis", 0}}, {{TOSAVK_FP32, {1, 3}}})}, {},
                     {{TOSAVK_FP32, {1, 3}}}));
    b.output(b.node1("ABS", {x}));
    b.output(best);
    const auto json = nlohmann::json::parse(b.probe());
    const auto& operators = json.at("operators");
    EXPECT_FALSE(json.at("taken"));
    EXPECT_FALSE(operators.at(0).at("taken"));
    EXPECT_HAS(operators.at(0).at("sentence").get<std::string>(), "'x' of shape 0x3 has no elements");
    for (std::size_t k = 1; k < operators.size(); ++k) EXPECT_TRUE(operators.at(k).at("taken")) << k;
}

TEST(EmptyCalls, FilesHaveNone) {
    cpp::Builder b("empty");
    b.output(b.input("x", {TOSAVK_FP32, {0}}));
    const cpp::Graph graph = b.finish();
    EXPECT_EQ(graph.node_count(), 0u);
    for (const char* path : {"/nowhere/at/all.tosa"}) {
        EXPECT_HAS(sentence_of(TOSAVK_ERROR_UNSUPPORTED,
                               [&](auto* e) { return tosavk_graph_save_file(graph.get(), path, e); }),
                   "an input or output of the graph has no elements, which a .tosa file cannot say");
    }
    EXPECT_EQ(graph.reference_run(std::vector<std::vector<std::byte>>(1)).at(0).size(), 0u);
    EXPECT_EQ(graph.random_input(0, 3).size(), 0u);
    EXPECT_HAS(graph.print(), "fp32[0]");
    // What lies inside, and not at the ends, is gone: such a graph is a file like any other.
    cpp::Builder c("inside");
    const auto x = c.input("x", {TOSAVK_FP32, {2}});
    const auto none =
        c.node1("SLICE", {x, c.shape(std::vector<std::int64_t>{1}), c.shape(std::vector<std::int64_t>{0})});
    c.output(c.node1("CONCAT", {none, x}, {{"axis", 0}}));
    EXPECT_EQ(cpp::Graph::load(c.finish().save()).input_count(), 1u);
}

}  // namespace
