// C++ over build.h: graphs from calls, header only. C++20.
#ifndef TOSAVK_BUILD_HPP
#define TOSAVK_BUILD_HPP

#include "tosavk/build.h"
#include "tosavk/run.hpp"

#include <algorithm>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <variant>

namespace tosavk::cpp {

/// A tensor's type and shape.
struct TensorType {
    std::int32_t type = TOSAVK_FP32;  ///< a tosavk_type
    Shape shape;
};

/// An attribute: numbers, a real number, or the name of a value.
struct Attribute {
    using Numbers = std::vector<std::int64_t>;

    Attribute(std::string attribute_name, Numbers numbers)
        : name(std::move(attribute_name)), value(std::move(numbers)) {}
    template <class T>
        requires(std::is_integral_v<T>)
    Attribute(std::string attribute_name, T number)
        : name(std::move(attribute_name)), value(Numbers{static_cast<std::int64_t>(number)}) {}
    template <std::floating_point T>
    Attribute(std::string attribute_name, T number)
        : name(std::move(attribute_name)), value(static_cast<double>(number)) {}
    Attribute(std::string attribute_name, const char* text)
        : name(std::move(attribute_name)), value(std::string(text)) {}
    Attribute(std::string attribute_name, std::string text) : name(std::move(attribute_name)), value(std::move(text)) {}

    std::string name;
    std::variant<Numbers, double, std::string> value;
};

/// An operator for CUSTOM nodes; see tosavk_custom_operator. What its functions throw is the error of the call that
/// they are in: an Error with its status, anything else as TOSAVK_ERROR_INTERNAL.
struct CustomOperator {
    std::string domain, name;
    std::vector<std::uint32_t> spirv;
    std::function<void(const tosavk_custom_node&, tosavk_custom_dispatch&)> plan;
    std::function<void(const tosavk_custom_node&)> check;
    std::function<void(const tosavk_custom_node&, const void* const* inputs, void* const* outputs)> reference;
    double tolerance = 0;
};

/// For LoadOptions, Builder and Device: tosavk_custom_set.
class CustomSet {
public:
    CustomSet() {
        tosavk_custom_set* set = nullptr;
        detail::call(tosavk_custom_set_create, &set);
        handle_.reset(set);
    }
    /// The functions live as long as something calls them.
    void add(CustomOperator op) {
        auto kept = std::make_unique<CustomOperator>(std::move(op));
        tosavk_custom_operator raw{};
        raw.domain_name = kept->domain.c_str();
        raw.operator_name = kept->name.c_str();
        raw.spirv = kept->spirv.empty() ? nullptr : kept->spirv.data();
        raw.spirv_size_bytes = kept->spirv.size() * sizeof(std::uint32_t);
        if (kept->plan) {
            raw.plan = [](void* user, const tosavk_custom_node* node, tosavk_custom_dispatch* dispatch) {
                return caught([&] { of(user).plan(*node, *dispatch); });
            };
        }
        if (kept->check) {
            raw.check = [](void* user, const tosavk_custom_node* node) {
                return caught([&] { of(user).check(*node); });
            };
        }
        if (kept->reference) {
            raw.reference = [](void* user, const tosavk_custom_node* node, const void* const* inputs,
                               void* const* outputs) {
                return caught([&] { of(user).reference(*node, inputs, outputs); });
            };
        }
        raw.user = kept.get();
        raw.release = [](void* user) { delete static_cast<CustomOperator*>(user); };
        raw.tolerance = kept->tolerance;
        add(raw);
        kept.release();
    }
    /// `op.struct_size` is set here.
    void add(tosavk_custom_operator op) {
        op.struct_size = sizeof op;
        const tosavk_custom_operator* given = &op;
        detail::call(tosavk_custom_set_add, get(), given);
    }
    /// See tosavk_device_set_customs.
    void give_to(Device& device) const {
        detail::call(tosavk_device_set_customs, device.get(), static_cast<const tosavk_custom_set*>(get()));
    }
    tosavk_custom_set* get() const { return handle_.get(); }

private:
    static const CustomOperator& of(void* user) { return *static_cast<const CustomOperator*>(user); }
    template <class F> static tosavk_error* caught(F call) {
        try {
            call();
            return nullptr;
        } catch (const Error& e) {
            return tosavk_error_create(e.status(), e.what(), e.node().c_str(), e.operand().c_str());
        } catch (const std::exception& e) {
            return tosavk_error_create(TOSAVK_ERROR_INTERNAL, e.what(), nullptr, nullptr);
        } catch (...) {
            return tosavk_error_create(TOSAVK_ERROR_INTERNAL, "it threw something unknown", nullptr, nullptr);
        }
    }

    detail::Handle<tosavk_custom_set, tosavk_custom_set_release> handle_;
};

/// Makes a graph step by step: tosavk_builder.
class Builder {
public:
    using Value = std::uint32_t;

    explicit Builder(const std::string& name = {}, tosavk_level level = TOSAVK_LEVEL_8K,
                     tosavk_precision precision = TOSAVK_PRECISION_DECLARED, bool keep_refused = false,
                     const tosavk_custom_set* customs = nullptr) {
        auto options = detail::sized<tosavk_builder_options>();
        options.name = name.c_str();
        options.level = level;
        options.precision = precision;
        options.keep_refused = keep_refused ? 1 : 0;
        options.customs = customs;
        const tosavk_builder_options* given = &options;
        tosavk_builder* builder = nullptr;
        detail::call(tosavk_builder_create, given, &builder);
        handle_.reset(builder);
    }

    Value input(const std::string& name, const TensorType& type) {
        const tosavk_tensor_desc desc = raw(type);
        Value value = 0;
        detail::call(tosavk_builder_input, get(), name.c_str(), &desc, &value);
        return value;
    }
    /// Copies the bytes.
    Value constant(const std::string& name, const TensorType& type, std::span<const std::byte> bytes) {
        const tosavk_tensor_desc desc = raw(type);
        Value value = 0;
        detail::call(tosavk_builder_constant, get(), name.c_str(), &desc, static_cast<const void*>(bytes.data()),
                     bytes.size(), &value);
        return value;
    }
    /// Keeps the owner, and with it the bytes, for as long as they are needed.
    Value constant(const std::string& name, const TensorType& type, std::span<const std::byte> bytes,
                   std::shared_ptr<const void> owner) {
        const tosavk_tensor_desc desc = raw(type);
        Value value = 0;
        auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
        const tosavk_release_callback release = [](void* user, const void*) {
            delete static_cast<std::shared_ptr<const void>*>(user);
        };
        detail::call(tosavk_builder_constant_borrowed, get(), name.c_str(), &desc,
                     static_cast<const void*>(bytes.data()), bytes.size(), release, static_cast<void*>(kept.get()),
                     &value);
        kept.release();
        return value;
    }
    Value shape(std::span<const std::int64_t> numbers, const std::string& name = {}) {
        Value value = 0;
        detail::call(tosavk_builder_shape, get(), name.c_str(), numbers.data(), numbers.size(), &value);
        return value;
    }
    /// Without bytes its initial value is zero.
    void variable(const std::string& name, const TensorType& type, std::span<const std::byte> initial = {}) {
        const tosavk_tensor_desc desc = raw(type);
        detail::call(tosavk_builder_variable, get(), name.c_str(), &desc, static_cast<const void*>(initial.data()),
                     initial.size());
    }

    /// The outputs. `types` may be empty where the inputs leave only one choice.
    std::vector<Value> node(const std::string& op, std::span<const Value> inputs,
                            const std::vector<Attribute>& attributes = {}, const std::vector<TensorType>& types = {},
                            const std::string& name = {}, std::span<const Builder* const> regions = {}) {
        std::vector<tosavk_attribute> list;
        for (const Attribute& attribute : attributes) list.push_back(raw(attribute));
        std::vector<tosavk_tensor_desc> outputs;
        for (const TensorType& type : types) outputs.push_back(raw(type));
        std::vector<tosavk_builder*> handles;
        for (const Builder* region : regions) handles.push_back(region->get());
        auto desc = detail::sized<tosavk_node_desc>();
        desc.op = op.c_str();
        desc.name = name.c_str();
        desc.inputs = inputs.data();
        desc.input_count = inputs.size();
        desc.attributes = list.data();
        desc.attribute_count = list.size();
        desc.outputs = outputs.empty() ? nullptr : outputs.data();
        desc.output_count = outputs.size();
        desc.regions = handles.data();
        desc.region_count = handles.size();
        const tosavk_node_desc* given = &desc;
        // No operator but those with lists has more outputs than inputs, and none of TOSA more than two.
        std::vector<Value> values(std::max<std::size_t>(outputs.size(), inputs.size() + 2));
        for (const Builder* region : regions) values.resize(values.size() + region->outputs_);
        std::size_t count = 0;
        detail::call(tosavk_builder_node, get(), given, values.data(), values.size(), &count);
        if (count > values.size()) throw Error(TOSAVK_ERROR_INTERNAL, "a node has more outputs than there is room for");
        values.resize(count);
        return values;
    }
    Value node1(const std::string& op, std::initializer_list<Value> inputs,
                const std::vector<Attribute>& attributes = {}, const std::vector<TensorType>& types = {},
                const std::string& name = {}) {
        return node(op, std::span(inputs.begin(), inputs.size()), attributes, types, name).at(0);
    }
    /// For COND_IF and WHILE_LOOP, passed to node().
    Builder region(const std::string& name = {}) const {
        tosavk_builder* made = nullptr;
        detail::call(tosavk_builder_region, static_cast<const tosavk_builder*>(get()), name.c_str(), &made);
        return Builder(made);
    }

    void output(Value value) {
        detail::call(tosavk_builder_output, get(), value);
        ++outputs_;
    }
    TensorInfo value(Value id) const {
        auto info = detail::sized<TensorInfo>();
        detail::call(tosavk_builder_value, static_cast<const tosavk_builder*>(get()), id, &info);
        return info;
    }
    /// JSON: what becomes of the nodes so far.
    std::string probe() const {
        tosavk_text* text = nullptr;
        detail::call(tosavk_builder_probe, static_cast<const tosavk_builder*>(get()), &text);
        return detail::take(text);
    }
    Graph finish() {
        tosavk_graph* graph = nullptr;
        detail::call(tosavk_builder_finish, get(), &graph);
        outputs_ = 0;
        return Graph::adopt(graph);
    }
    tosavk_builder* get() const { return handle_.get(); }

private:
    explicit Builder(tosavk_builder* handle) : handle_(handle) {}

    static tosavk_tensor_desc raw(const TensorType& type) {
        if (type.shape.size() > TOSAVK_MAX_RANK) throw Error(TOSAVK_ERROR_USAGE, "a tensor has too many dimensions");
        auto desc = detail::sized<tosavk_tensor_desc>();
        desc.type = type.type;
        desc.rank = static_cast<std::uint32_t>(type.shape.size());
        for (std::size_t k = 0; k < type.shape.size(); ++k) desc.dims[k] = type.shape[k];
        return desc;
    }
    /// Points into the attribute.
    static tosavk_attribute raw(const Attribute& attribute) {
        auto result = detail::sized<tosavk_attribute>();
        result.name = attribute.name.c_str();
        if (const auto* numbers = std::get_if<Attribute::Numbers>(&attribute.value)) {
            result.kind = TOSAVK_ATTRIBUTE_INTEGERS;
            result.data = numbers->data();
            result.count = numbers->size();
        } else if (const auto* number = std::get_if<double>(&attribute.value)) {
            result.kind = TOSAVK_ATTRIBUTE_REALS;
            result.data = number;
            result.count = 1;
        } else {
            const std::string& text = std::get<std::string>(attribute.value);
            result.kind = TOSAVK_ATTRIBUTE_TEXT;
            result.data = text.data();
            result.count = text.size();
        }
        return result;
    }

    detail::Handle<tosavk_builder, tosavk_builder_release> handle_;
    std::size_t outputs_ = 0;
};

}  // namespace tosavk::cpp

#endif  // TOSAVK_BUILD_HPP
