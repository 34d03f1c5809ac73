// Graphs from calls: the C ABI's builder.
#include "api/graph_options.hpp"
#include "api/handles.hpp"
#include "api/probe.hpp"
#include "compile/rewrite/precision.hpp"
#include "frontends/calls/call_builder.hpp"
#include "ops/empty.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

using namespace tosavk;
using namespace tosavk::api;

struct tosavk_builder {
    CallBuilder calls;
    std::int32_t precision;
};

namespace {

std::string text_or_empty(const char* text) { return text ? text : ""; }

OutputType tensor_of(const tosavk_tensor_desc& desc) {
    if (desc.rank > TOSAVK_MAX_RANK)
        throw Error(ErrorCode::usage,
                    fmt::format("a tensor is described with rank {}, more than {}", desc.rank, TOSAVK_MAX_RANK));
    OutputType tensor{to_dtype(desc.type), Shape(desc.dims, desc.dims + desc.rank)};
    for (const std::int64_t d : tensor.shape) {
        if (d < 0)
            throw Error(ErrorCode::bad_model,
                        fmt::format("a tensor is described with shape {}, but every dimension must be at least 0",
                                    to_string(tensor.shape)));
    }
    element_count(tensor.shape);  // throws where it is beyond what is counted
    return tensor;
}

OutputType read_desc(const tosavk_tensor_desc* desc) { return tensor_of(read_struct(desc, "tosavk_tensor_desc")); }

/// Refuses a list that is NULL but not empty, and counts that no program means.
template <class T> std::span<const T> list_of(const T* items, std::size_t count, const char* name) {
    if (count > 0 && !items) throw Error(ErrorCode::usage, fmt::format("{} is NULL, but its count is {}", name, count));
    check_count(count, name);
    return {items, count};
}

AttributeValue read_attribute(const tosavk_attribute& given) {
    if (!given.name) throw Error(ErrorCode::usage, "an attribute has no name");
    if (given.reserved != 0)
        throw Error(ErrorCode::usage, fmt::format("attribute '{}' sets its reserved field", given.name));
    list_of(static_cast<const std::byte*>(given.data), given.count, given.name);
    AttributeValue value{given.name, {}};
    switch (given.kind) {
        case TOSAVK_ATTRIBUTE_INTEGERS: {
            std::vector<std::int64_t> numbers(given.count);
            if (given.count > 0) std::memcpy(numbers.data(), given.data, given.count * sizeof numbers[0]);
            value.value = std::move(numbers);
            return value;
        }
        case TOSAVK_ATTRIBUTE_REALS: {
            std::vector<double> numbers(given.count);
            if (given.count > 0) std::memcpy(numbers.data(), given.data, given.count * sizeof numbers[0]);
            value.value = std::move(numbers);
            return value;
        }
        case TOSAVK_ATTRIBUTE_TEXT:
            value.value = std::string(static_cast<const char*>(given.data), given.count);
            return value;
        default:
            throw Error(ErrorCode::usage,
                        fmt::format("{} of attribute '{}' is not a tosavk_attribute_kind", given.kind, given.name));
    }
}

NodeCall read_node(const Call& call, const tosavk_node_desc& given) {
    call.require(given.op, "node->op");
    NodeCall node;
    node.op = given.op;
    node.name = text_or_empty(given.name);
    const auto inputs = list_of(given.inputs, given.input_count, "node->inputs");
    node.inputs.assign(inputs.begin(), inputs.end());
    for (const tosavk_attribute& attribute :
         read_structs(given.attributes, given.attribute_count, "node->attributes", "tosavk_attribute"))
        node.attributes.push_back(read_attribute(attribute));
    if (given.output_count > 0 || given.outputs) {
        node.outputs.emplace();
        for (const tosavk_tensor_desc& desc :
             read_structs(given.outputs, given.output_count, "node->outputs", "tosavk_tensor_desc"))
            node.outputs->push_back(tensor_of(desc));
    }
    for (tosavk_builder* const region : list_of(given.regions, given.region_count, "node->regions")) {
        call.require(region, "a region");
        if (!region->calls.is_region())
            throw Error(ErrorCode::usage, "a region of a node comes from tosavk_builder_region");
        node.regions.push_back(&region->calls);
    }
    return node;
}

void check_size(const char* what, std::size_t size_bytes, const OutputType& tensor, std::size_t expected) {
    if (size_bytes == expected) return;
    throw Error(ErrorCode::bad_input, fmt::format("{} of type {} and shape {} has {} bytes, not {}", what,
                                                  name_of(tensor.type), to_string(tensor.shape), expected, size_bytes));
}

std::size_t bytes_of(const OutputType& tensor) {
    return static_cast<std::size_t>(element_count(tensor.shape)) * size_of(tensor.type);
}

/// Refuses elements that the type does not hold although its bytes could.
void check_elements(const char* what, DType type, std::span<const std::byte> bytes) {
    if (const auto found = unfit_element(type, bytes))
        throw Error(ErrorCode::bad_input, fmt::format("element {} of {} is {}, which type {} does not hold",
                                                      found->index, what, found->value, name_of(type)));
}

/// Checks what both ways of giving a constant have in common.
OutputType constant_desc(const Call& call, tosavk_builder* builder, const tosavk_tensor_desc* desc, const void* data,
                         std::size_t size_bytes, const std::uint32_t* value) {
    call.require(builder, "builder");
    call.require(desc, "desc");
    if (size_bytes > 0) call.require(data, "data");
    call.require(value, "value");
    const OutputType tensor = read_desc(desc);
    check_size("a constant", size_bytes, tensor, bytes_of(tensor));
    check_elements("a constant", tensor.type, {static_cast<const std::byte*>(data), size_bytes});
    return tensor;
}

/// What the level says of tensors that no node has checked.
void check_level(const GraphBuilder& builder, const std::string& name, const OutputType& tensor) {
    const Level& level = builder.level();
    if (static_cast<int>(tensor.shape.size()) > level.max_rank || !fits(level, tensor.type, tensor.shape))
        throw Error(ErrorCode::bad_model, fmt::format("tensor '{}' of shape {} is larger than level {} allows", name,
                                                      to_string(tensor.shape), level.name));
}

/// Refuses a name that one of these values has; `but` may have it.
void require_new(const Graph& graph, const std::vector<ValueId>& ids, const std::string& name, ValueId but,
                 const char* kind) {
    for (const ValueId id : ids) {
        if (id != but && graph.value(id).name == name)
            throw Error(ErrorCode::bad_model, fmt::format("there is a graph {} with the name '{}' already", kind, name),
                        {}, name);
    }
}

/// A name that no input has.
std::string free_input_name(const Graph& graph) {
    const auto taken = [&](const std::string& name) {
        return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                           [&](ValueId id) { return graph.value(id).name == name; });
    };
    for (std::size_t k = graph.inputs.size();; ++k) {
        std::string name = fmt::format("input_{}", k);
        if (!taken(name)) return name;
    }
}

}  // namespace

tosavk_status tosavk_builder_create(const tosavk_builder_options* options, tosavk_builder** builder,
                                    tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        const tosavk_builder_options given = read_struct(options, "tosavk_builder_options");
        require_zero(given.reserved, "tosavk_builder_options.reserved");
        auto made = std::make_unique<tosavk_builder>(
            tosavk_builder{CallBuilder(text_or_empty(given.name), with_empty(level_of(given.level)),
                                       is_set(given.keep_refused, "keep_refused")),
                           checked_precision(given.precision)});
        made->calls.graph().use_customs(customs_of(given.customs));
        *builder = made.release();
    });
}

void tosavk_builder_release(tosavk_builder* builder) { delete builder; }

tosavk_status tosavk_builder_input(tosavk_builder* builder, const char* name, const tosavk_tensor_desc* desc,
                                   uint32_t* value, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        call.require(desc, "desc");
        call.require(value, "value");
        const OutputType tensor = read_desc(desc);
        GraphBuilder& to = builder->calls.graph();
        const std::string used = name && *name ? name : free_input_name(to.graph());
        require_new(to.graph(), to.graph().inputs, used, no_id, "input");
        check_level(to, used, tensor);
        *value = to.input(used, tensor.type, tensor.shape);
    });
}

tosavk_status tosavk_builder_constant(tosavk_builder* builder, const char* name, const tosavk_tensor_desc* desc,
                                      const void* data, size_t size_bytes, uint32_t* value, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        const OutputType tensor = constant_desc(call, builder, desc, data, size_bytes, value);
        const auto* bytes = static_cast<const std::byte*>(data);
        *value = builder->calls.graph().constant(text_or_empty(name), tensor.type, tensor.shape,
                                                 tosavk::Bytes(bytes, bytes + size_bytes));
    });
}

tosavk_status tosavk_builder_constant_borrowed(tosavk_builder* builder, const char* name,
                                               const tosavk_tensor_desc* desc, const void* data, size_t size_bytes,
                                               tosavk_release_callback release, void* user, uint32_t* value,
                                               tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        const OutputType tensor = constant_desc(call, builder, desc, data, size_bytes, value);
        // Armed when the value stands: a failure leaves the bytes with the caller.
        auto armed = std::make_shared<bool>(false);
        // No pointer owns what is at NULL, so that it is never the one that owns no bytes.
        const std::shared_ptr<const void> owner(data ? data : armed.get(), [=](const void*) {
            if (*armed && release) release(user, data);
        });
        const std::span<const std::byte> bytes(static_cast<const std::byte*>(data), size_bytes);
        *value =
            builder->calls.graph().constant(text_or_empty(name), tensor.type, tensor.shape, SharedBytes(bytes, owner));
        *armed = true;
    });
}

tosavk_status tosavk_builder_shape(tosavk_builder* builder, const char* name, const int64_t* numbers, size_t count,
                                   uint32_t* value, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        call.require(value, "value");
        *value = builder->calls.graph().constant_ints(
            text_or_empty(name), DType::shape, {static_cast<std::int64_t>(count)}, list_of(numbers, count, "numbers"));
    });
}

tosavk_status tosavk_builder_variable(tosavk_builder* builder, const char* name, const tosavk_tensor_desc* desc,
                                      const void* initial, size_t size_bytes, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        call.require(name, "name");
        call.require(desc, "desc");
        const OutputType tensor = read_desc(desc);
        const auto* bytes = static_cast<const std::byte*>(initial);
        if (size_bytes > 0) call.require(initial, "initial");
        if (initial) check_size("a variable", size_bytes, tensor, bytes_of(tensor));
        if (initial) check_elements("a variable", tensor.type, {bytes, size_bytes});
        check_level(builder->calls.graph(), name, tensor);
        builder->calls.graph().variable(name, tensor.type, tensor.shape,
                                        initial ? tosavk::Bytes(bytes, bytes + size_bytes) : tosavk::Bytes());
    });
}

tosavk_status tosavk_builder_node(tosavk_builder* builder, const tosavk_node_desc* node, uint32_t* values,
                                  size_t capacity, size_t* count, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        call.require(node, "node");
        if (capacity > 0) call.require(values, "values");
        const std::vector<ValueId> made = builder->calls.node(read_node(call, read_struct(node, "tosavk_node_desc")));
        for (std::size_t k = 0; k < std::min(capacity, made.size()); ++k) values[k] = made[k];
        if (count) *count = made.size();
    });
}

tosavk_status tosavk_builder_region(const tosavk_builder* builder, const char* name, tosavk_builder** region,
                                    tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        call.require(region, "region");
        const GraphBuilder& outer = builder->calls.graph();
        auto made = std::make_unique<tosavk_builder>(tosavk_builder{
            CallBuilder(text_or_empty(name), outer.level(), builder->calls.keeps_refused(), true), builder->precision});
        made->calls.graph().use_customs(outer.customs());
        for (const Variable& variable : outer.graph().variables) made->calls.graph().variable(variable);
        *region = made.release();
    });
}

tosavk_status tosavk_builder_output(tosavk_builder* builder, uint32_t value, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        GraphBuilder& to = builder->calls.graph();
        const Graph& graph = to.graph();
        if (value < graph.values.size()) {
            const Value& ends = graph.value(value);
            if (ends.type == DType::shape)
                throw Error(ErrorCode::bad_model, fmt::format("graph output '{}' cannot have type shape", ends.name));
            require_new(graph, graph.outputs, ends.name, value, "output");
            require_new(graph, graph.inputs, ends.name, value, "input");
        }
        to.output(value);
    });
}

tosavk_status tosavk_builder_value(const tosavk_builder* builder, uint32_t value, tosavk_tensor_info* info,
                                   tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        call.require(info, "info");
        const Graph& graph = builder->calls.graph().graph();
        if (value >= graph.values.size())
            throw Error(ErrorCode::usage,
                        fmt::format("there is no value {}; the builder has {}", value, graph.values.size()));
        const Value& found = graph.value(value);
        if (found.type == DType::shape)
            throw Error(ErrorCode::usage, fmt::format("value {} is a shape, which has no tosavk_type", value));
        write_struct(info, describe_tensor(found.name.c_str(), found.type, found.shape), "tosavk_tensor_info");
    });
}

tosavk_status tosavk_builder_probe(const tosavk_builder* builder, tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        call.require(json, "json");
        *json = make_text(probe_json(builder->calls.probe()));
    });
}

tosavk_status tosavk_builder_finish(tosavk_builder* builder, tosavk_graph** graph, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(builder, "builder");
        call.require(graph, "graph");
        if (builder->calls.is_region())
            throw Error(ErrorCode::usage, "a region cannot be finished, but given to a node");
        Graph done = without_empty(builder->calls.checked());
        if (builder->precision != TOSAVK_PRECISION_DECLARED) done = in_precision(done, builder->precision);
        auto result = std::make_unique<tosavk_graph>();
        result->graph = std::make_shared<const Graph>(std::move(done));
        builder->calls.clear();
        *graph = result.release();
    });
}
