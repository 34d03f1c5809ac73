// Making graphs through the C ABI's builder.
#pragma once

#include "graph/types.hpp"
#include "tosavk/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tosavk::test {

struct BuilderRelease {
    void operator()(tosavk_builder* builder) const { tosavk_builder_release(builder); }
};
using BuilderHandle = std::unique_ptr<tosavk_builder, BuilderRelease>;
struct GraphRelease {
    void operator()(tosavk_graph* graph) const { tosavk_graph_release(graph); }
};
using GraphHandle = std::unique_ptr<tosavk_graph, GraphRelease>;

/// The sentence of a call that fails with this status, or what is wrong with that.
template <class F> std::string sentence_of(tosavk_status wanted, F call) {
    tosavk_error* error = nullptr;
    const tosavk_status status = call(&error);
    std::string message = tosavk_error_message(error);
    if (status != wanted) message = "status " + std::to_string(status) + ": " + message;
    tosavk_error_release(error);
    return message;
}
template <class F> void succeed(F call) { EXPECT_EQ(sentence_of(TOSAVK_OK, call), ""); }

inline BuilderHandle make_builder(const tosavk_builder_options* options = nullptr) {
    tosavk_builder* builder = nullptr;
    succeed([&](tosavk_error** e) { return tosavk_builder_create(options, &builder, e); });
    return BuilderHandle(builder);
}

inline tosavk_tensor_desc desc_of(DType type, const Shape& shape) {
    tosavk_tensor_desc desc{};
    desc.struct_size = sizeof desc;
    desc.type = static_cast<std::int32_t>(type);
    desc.rank = static_cast<std::uint32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), desc.dims);
    return desc;
}

/// Attributes as the C ABI takes them, with what they point to.
class AttributeList {
public:
    void integers(const std::string& name, std::vector<std::int64_t> numbers) {
        const auto& kept = integers_.emplace_back(std::move(numbers));
        add(name, TOSAVK_ATTRIBUTE_INTEGERS, kept.data(), kept.size());
    }
    void real(const std::string& name, double number) {
        add(name, TOSAVK_ATTRIBUTE_REALS, &reals_.emplace_back(number), 1);
    }
    void text(const std::string& name, const std::string& text) {
        const std::string& kept = texts_.emplace_back(text);
        add(name, TOSAVK_ATTRIBUTE_TEXT, kept.data(), kept.size());
    }
    const std::vector<tosavk_attribute>& list() const { return list_; }

private:
    void add(const std::string& name, std::int32_t kind, const void* data, std::size_t count) {
        list_.push_back({sizeof(tosavk_attribute), names_.emplace_back(name).c_str(), kind, 0, data, count});
    }
    std::deque<std::string> names_, texts_;
    std::deque<std::vector<std::int64_t>> integers_;
    std::deque<double> reals_;
    std::vector<tosavk_attribute> list_;
};

}  // namespace tosavk::test
