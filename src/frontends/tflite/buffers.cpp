// Where the bytes of a .tflite file's constants lie: in its flatbuffer, behind it, or in a file beside it.
#include "frontends/tflite/file.hpp"

#include "base/files.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

[[noreturn]] void bad(const std::string& what) { throw Error(ErrorCode::bad_model, "TFLite model: " + what); }

std::span<const std::byte> part(std::span<const std::byte> whole, std::uint64_t offset, std::uint64_t size,
                                const std::string& what) {
    if (offset > whole.size() || size > whole.size() - offset) {
        bad(fmt::format("{} is {} bytes at {}, but there are {}", what, size, offset, whole.size()));
    }
    return whole.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

}  // namespace

std::span<const std::byte> TfliteFile::buffer(std::uint32_t index) const {
    const auto* buffers = model_->buffers();
    const std::uint32_t count = buffers ? buffers->size() : 0;
    if (index == 0 && count == 0) return {};
    if (index >= count) bad(fmt::format("buffer {} does not exist (there are {})", index, count));
    const tflite::Buffer& buffer = *buffers->Get(index);
    // 0 and 1 stand for nothing there: writers reserve the place with a 1.
    if (buffer.offset() > 1 && buffer.size() > 1)
        return part(bytes_, buffer.offset(), buffer.size(), fmt::format("buffer {}", index));
    if (index == 0 || !buffer.data()) return {};
    return std::as_bytes(std::span(buffer.data()->data(), buffer.data()->size()));
}

/// Files of constants lie beside the model, and nowhere else: a model is not to name any other place.
std::span<const std::byte> TfliteFile::external(std::uint32_t id) const {
    const auto* list = model_->external_buffers();
    const tflite::ExternalBuffer* found = nullptr;
    for (std::uint32_t k = 0; list && k < list->size(); ++k) {
        if (list->Get(k)->id() == id) found = list->Get(k);
    }
    if (!found) bad(fmt::format("external buffer {} does not exist", id));
    const auto* groups = model_->external_buffer_groups();
    if (!groups || found->group() >= groups->size() || !groups->Get(found->group())->name())
        bad(fmt::format("external buffer {} is in group {}, which does not exist", id, found->group()));
    if (found->packing() && found->packing()->size() > 0)
        throw Error(ErrorCode::unsupported,
                    fmt::format("TFLite model: external buffer {} is packed as '{}'", id, shown(found->packing())));
    const flatbuffers::String& group = *groups->Get(found->group())->name();
    const std::string name(group.c_str(), group.size());
    const std::filesystem::path path(name);
    if (path.empty() || path != path.filename() || name == "." || name == "..")
        bad(fmt::format("'{}' is no name of a file beside the model", printable(name)));
    if (folder_.empty()) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("TFLite model: its constants lie in '{}', a file beside it: load it from a file too",
                                printable(name)));
    }
    auto file = external_files_.find(name);
    if (file == external_files_.end()) file = external_files_.emplace(name, read_file(folder_ / path)).first;
    return part(file->second, found->offset(), found->length(), fmt::format("external buffer {}", id));
}

std::span<const std::byte> TfliteFile::data_of(const tflite::Tensor& tensor, const std::string& title) const {
    if (tensor.external_buffer() != 0) return external(tensor.external_buffer());
    const std::uint32_t index = tensor.buffer(), count = model_->buffers() ? model_->buffers()->size() : 0;
    if (index > 0 && index >= count) bad(fmt::format("{} refers to buffer {}, but there are {}", title, index, count));
    return buffer(index);
}

void TfliteFile::choose_signature(const std::string& key) {
    std::string known;
    const auto* signatures = model_->signature_defs();
    for (std::uint32_t k = 0; signatures && k < signatures->size(); ++k) {
        const tflite::SignatureDef& signature = *signatures->Get(k);
        const std::string text = shown(signature.signature_key());
        if (text != key) {
            known += fmt::format("{}'{}'", known.empty() ? "" : ", ", text);
            continue;
        }
        if (signature.subgraph_index() >= subgraph_count())
            bad(fmt::format("signature '{}' names subgraph {}, but there are {}", key, signature.subgraph_index(),
                            subgraph_count()));
        main = read_subgraph(signature.subgraph_index());
        const auto arrange = [&](const auto* maps, std::span<const std::int32_t>& ends,
                                 std::vector<std::int32_t>& order) {
            for (std::uint32_t m = 0; maps && m < maps->size(); ++m) {
                const tflite::TensorMap& map = *maps->Get(m);
                if (map.tensor_index() >= main.tensors.size())
                    bad(fmt::format("signature '{}' names tensor {}, but there are {}", key, map.tensor_index(),
                                    main.tensors.size()));
                // The name that callers know it by.
                if (map.name()) main.tensors[map.tensor_index()].name = shown(map.name());
                order.push_back(static_cast<std::int32_t>(map.tensor_index()));
            }
            if (order.size() == ends.size()) ends = order;
        };
        arrange(signature.inputs(), main.inputs, signature_inputs_);
        arrange(signature.outputs(), main.outputs, signature_outputs_);
        return;
    }
    throw Error(ErrorCode::usage, fmt::format("TFLite model: there is no signature '{}'; there {}", key,
                                              known.empty() ? "is none" : "are " + known));
}

}  // namespace tosavk
