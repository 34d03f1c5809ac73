// Sets of CUSTOM operators: C callbacks behind the functions that the library works with.
#include "ops/custom.hpp"
#include "api/handles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

using namespace tosavk;
using namespace tosavk::api;

namespace tosavk::api {

std::shared_ptr<const CustomSet> Customs::get() const {
    const std::lock_guard lock(mutex_);
    return set_;
}

void Customs::set(std::shared_ptr<const CustomSet> set) {
    const std::lock_guard lock(mutex_);
    set_.swap(set);  // the one before goes when nothing is locked any more: it calls the caller
}

void Customs::add(CustomOperator op) {
    const std::lock_guard lock(mutex_);
    auto more = set_ ? std::make_shared<CustomSet>(*set_) : std::make_shared<CustomSet>();
    more->add(std::move(op));
    set_ = std::move(more);  // the operators of the one before are in this one too
}

std::shared_ptr<const CustomSet> customs_of(const tosavk_custom_set* set) { return set ? set->customs.get() : nullptr; }

std::shared_ptr<const Graph> graph_for(const tosavk_device& device, const tosavk_graph& graph) {
    const auto customs = device.customs.get();
    return customs ? with_customs(graph.graph, *customs) : graph.graph;
}

}  // namespace tosavk::api

namespace {

/// A node in the C ABI's terms; points into the graph.
class CNode {
public:
    explicit CNode(const NodeView& view) : attributes_(view.attrs().implementation_attrs) {
        for (std::size_t k = 0; k < view.input_count(); ++k) add(view.in(k), inputs_);
        for (std::size_t k = 0; k < view.output_count(); ++k) add(view.out(k), outputs_);
        for (const tosavk_tensor_info& info : inputs_) input_list_.push_back(&info);
        for (const tosavk_tensor_info& info : outputs_) output_list_.push_back(&info);
        node_.struct_size = sizeof node_;
        node_.inputs = input_list_.data();
        node_.input_count = static_cast<std::uint32_t>(input_list_.size());
        node_.outputs = output_list_.data();
        node_.output_count = static_cast<std::uint32_t>(output_list_.size());
        node_.attributes = attributes_.data();
        node_.attributes_size_bytes = attributes_.size();
    }
    CNode(const CNode&) = delete;

    const tosavk_custom_node* get() const { return &node_; }

private:
    static void add(const Value& value, std::vector<tosavk_tensor_info>& list) {
        list.push_back(describe_tensor(value.name.c_str(), value.type, value.shape));
        list.back().struct_size = sizeof(tosavk_tensor_info);
        list.back().scale = value.scale;
        list.back().zero_point = value.zero_point;
    }

    const std::string& attributes_;
    std::vector<tosavk_tensor_info> inputs_, outputs_;
    std::vector<const tosavk_tensor_info*> input_list_, output_list_;
    tosavk_custom_node node_{};
};

/// What a callback says is wrong becomes an error of the node.
void require_fine(const NodeView& view, tosavk_error* given) {
    if (!given) return;
    const std::unique_ptr<tosavk_error, decltype(&tosavk_error_release)> error(given, tosavk_error_release);
    throw Error(static_cast<ErrorCode>(error->status),
                fmt::format("{}: {}", view.title(),
                            error->message.empty() ? "its operator refuses it without a sentence" : error->message),
                error->node.empty() ? view.node().name : error->node, error->operand);
}

/// `owner` lives as long as the callbacks.
CustomOperator wrap(const tosavk_custom_operator& given, const std::shared_ptr<const void>& owner) {
    CustomOperator op;
    op.domain = given.domain_name ? given.domain_name : "";
    op.name = given.operator_name;
    op.tolerance = given.tolerance;
    if (given.spirv) {
        if (given.spirv_size_bytes == 0 || given.spirv_size_bytes % 4 != 0) {
            throw Error(ErrorCode::usage,
                        fmt::format("custom operator '{}': spirv_size_bytes is {}, no whole number of words", op.name,
                                    given.spirv_size_bytes));
        }
        op.spirv.assign(given.spirv, given.spirv + given.spirv_size_bytes / 4);
    }
    void* const user = given.user;
    if (const auto check = given.check) {
        op.check = [=](const NodeView& view) { require_fine(view, check(user, CNode(view).get())); };
    }
    if (const auto plan = given.plan) {
        op.dispatch = [=](const NodeView& view) {
            tosavk_custom_dispatch wanted{};
            wanted.struct_size = sizeof wanted;
            std::fill(std::begin(wanted.groups), std::end(wanted.groups), 1u);
            require_fine(view, plan(user, CNode(view).get(), &wanted));
            if (wanted.constant_count > TOSAVK_MAX_CUSTOM_CONSTANTS) {
                view.fail(fmt::format("its operator asks for {} constants, and {} are possible", wanted.constant_count,
                                      TOSAVK_MAX_CUSTOM_CONSTANTS));
            }
            CustomDispatch dispatch;
            std::copy(std::begin(wanted.groups), std::end(wanted.groups), dispatch.groups.begin());
            dispatch.constants.assign(wanted.constants, wanted.constants + wanted.constant_count);
            return dispatch;
        };
    }
    if (const auto reference = given.reference) {
        op.reference = [=, kept = owner](RefContext& ctx) {
            std::vector<const void*> inputs;
            std::vector<void*> outputs;
            for (const HostTensor* tensor : ctx.inputs) inputs.push_back(tensor->bytes.data());
            for (HostTensor& tensor : ctx.outputs) outputs.push_back(tensor.bytes.data());
            require_fine(ctx.view, reference(user, CNode(ctx.view).get(), inputs.data(), outputs.data()));
        };
    }
    return op;
}

}  // namespace

tosavk_status tosavk_custom_set_create(tosavk_custom_set** set, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(set, "set");
        *set = new tosavk_custom_set;
    });
}

tosavk_status tosavk_custom_set_add(tosavk_custom_set* set, const tosavk_custom_operator* op, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(set, "set");
        call.require(op, "op");
        const tosavk_custom_operator given = read_struct(op, "tosavk_custom_operator");
        call.require(given.operator_name, "op->operator_name");
        // Armed when the set has the operator: a failure leaves `user` with the caller.
        auto armed = std::make_shared<bool>(false);
        const std::shared_ptr<const void> owner(given.user,
                                                [armed, release = given.release, user = given.user](const void*) {
                                                    if (*armed && release) release(user);
                                                });
        set->customs.add(wrap(given, owner));
        *armed = true;
    });
}

void tosavk_custom_set_release(tosavk_custom_set* set) { delete set; }

tosavk_status tosavk_device_set_customs(tosavk_device* device, const tosavk_custom_set* set, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        device->customs.set(customs_of(set));
    });
}
