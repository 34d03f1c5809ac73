#include "hosts/tflite_delegate/session.hpp"
#include "hosts/tflite_delegate/operators.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>

namespace tosavk::delegate {

namespace {

/// Bytes of one element in the runtime; 0 for those that it packs.
std::size_t element_bytes(int type) {
    switch (type) {
        case type_bool:
        case type_int8:
        case type_uint8:
        case type_float8_e4m3fn:
        case type_float8_e5m2: return 1;
        case type_int16:
        case type_uint16:
        case type_float16:
        case type_bfloat16: return 2;
        case type_float32:
        case type_int32:
        case type_uint32: return 4;
        case type_int64: return 8;
        default: return 0;
    }
}

}  // namespace

Session::~Session() {
    for (const auto& entry : shared) owner->drop_handle(entry.second.handle);
    owner->write_profile();
}

Shapes shapes_of(const Context& context, const std::vector<int>& tensors) {
    Shapes shapes;
    for (const int tensor : tensors) shapes.push_back(shape_of(context.tensors[tensor]));
    return shapes;
}

Form form_of(const Tensor& tensor, const cpp::TensorInfo& info) {
    if (info.declared_type == TOSAVK_HOST_I64_WORDS) throw Refused("its INT64 numbers may need more than 32 bits");
    if (tensor.type == type_int64 && info.type == TOSAVK_I32) return Form::int64;
    const std::size_t bytes = element_bytes(tensor.type);
    if (bytes == 0 || bytes != tosavk_type_size(info.type))
        throw Refused("a tensor of type " + std::to_string(tensor.type) + " cannot be handed over");
    return Form::bytes;
}

Partition make_partition(const Context& context, const Session& session, std::vector<int> nodes,
                         std::vector<int> outputs, SizesInFile sizes) {
    std::vector<const NodeRecord*> records;
    for (const int node : nodes) {
        const auto found = session.nodes.find(node);
        if (found == session.nodes.end()) throw Refused("a node is not there");
        records.push_back(&found->second);
    }
    Model model = write_model(context, records, std::move(outputs), sizes);
    Partition partition;
    partition.nodes = std::move(nodes);
    partition.inputs = std::move(model.inputs);
    partition.outputs = std::move(model.outputs);
    partition.shapes = shapes_of(context, partition.inputs);
    const cpp::LoadOptions& load = session.owner->options.load;
    partition.compiled = sizes == SizesInFile::now ? compile(session.device, model.file, load)
                                                   : specialize(session.device, model.file, load, partition.shapes);
    const cpp::Graph& graph = partition.compiled->graph;
    if (graph.variable_count() != 0) throw Refused("its variables stay with the runtime");
    if (graph.input_count() != partition.inputs.size() || graph.output_count() != partition.outputs.size())
        throw Refused("the graph has other inputs or outputs");
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) {
        const cpp::TensorInfo info = graph.input(k);
        form_of(context.tensors[partition.inputs[k]], info);
        if (cpp::shape_of(info) != partition.shapes[k]) throw Refused("an input has another shape");
    }
    for (std::uint32_t k = 0; k < graph.output_count(); ++k)
        form_of(context.tensors[partition.outputs[k]], graph.output(k));
    return partition;
}

void DelegateImpl::add_left(const std::vector<LeftNode>& left) {
    // A delegate may be given to any number of graphs.
    constexpr std::size_t most = 10000;
    const std::lock_guard lock(mutex_);
    for (const LeftNode& node : left) {
        if (left_.size() < most) left_.push_back(node);
    }
}

std::string DelegateImpl::report() const {
    const std::lock_guard lock(mutex_);
    const tosavk_tflite_counters& c = counters_;
    nlohmann::ordered_json json{{"graphs", c.graphs},
                                {"nodes", c.nodes},
                                {"claimed_nodes", c.claimed_nodes},
                                {"partitions", c.partitions},
                                {"compilations", c.compilations},
                                {"shaders_compiled", c.shaders_compiled},
                                {"pipelines_created", c.pipelines_created},
                                {"weight_bytes_copied", c.weight_bytes_copied},
                                {"runs", c.runs},
                                {"dispatches", c.dispatches},
                                {"reference_runs", c.reference_runs},
                                {"host_copies", c.host_copies},
                                {"device_tensors", c.device_tensors}};
    auto& left = json["left"] = nlohmann::ordered_json::array();
    for (const LeftNode& node : left_)
        left.push_back({{"node", node.node}, {"operator", node.name}, {"sentence", node.sentence}});
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void DelegateImpl::write_profile() const noexcept {
    if (options.profile.empty()) return;
    try {
        const std::string text = report();
        if (options.profile == "-") {
            std::fputs(text.c_str(), stderr);
            return;
        }
        std::ofstream file(options.profile, std::ios::binary);
        file << text;
        if (!file.flush()) std::fprintf(stderr, "tosa-vk delegate: cannot write %s\n", options.profile.c_str());
    } catch (...) {
        std::fputs("tosa-vk delegate: the profile cannot be written\n", stderr);
    }
}

int DelegateImpl::add_handle(Session& session, int tensor) {
    const std::lock_guard lock(mutex_);
    handles_[++last_handle_] = {&session, tensor};
    return last_handle_;
}

void DelegateImpl::drop_handle(int handle) noexcept {
    const std::lock_guard lock(mutex_);
    handles_.erase(handle);
}

std::pair<Session*, int> DelegateImpl::find_handle(int handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(handle);
    return found == handles_.end() ? std::pair<Session*, int>() : found->second;
}

void DelegateImpl::say(const std::string& sentence) const noexcept {
    if (options.verbose) std::fprintf(stderr, "tosa-vk delegate: %s\n", sentence.c_str());
}

void DelegateImpl::warn_once(const std::string& why, const char* consequence) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (warned_) return;
        warned_ = true;
    }
    std::fprintf(stderr, "tosa-vk delegate: %s; %s\n", why.c_str(), consequence);
}

}  // namespace tosavk::delegate
