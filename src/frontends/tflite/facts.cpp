// Description, signatures and metadata of a .tflite file.
#include "frontends/tflite/file.hpp"
#include "frontends/tflite/tflite.hpp"

#include <algorithm>

namespace tosavk {

namespace {

constexpr std::size_t longest_text = 256;

/// The bytes where a person can read them; trailing zeros, which pad versions, are left out.
std::string readable(std::span<const std::byte> bytes) {
    while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
    const bool plain = bytes.size() <= longest_text && std::all_of(bytes.begin(), bytes.end(), [](std::byte b) {
                           return std::to_integer<int>(b) >= 32 && std::to_integer<int>(b) < 127;
                       });
    return plain ? std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) : std::string();
}

using Maps = flatbuffers::Vector<flatbuffers::Offset<tflite::TensorMap>>;

std::vector<FileFacts::End> ends_of(const tflite::SubGraph* graph, const Maps* maps) {
    std::vector<FileFacts::End> ends;
    for (std::uint32_t k = 0; maps && k < maps->size(); ++k) {
        const tflite::TensorMap& map = *maps->Get(k);
        const bool known = graph && graph->tensors() && map.tensor_index() < graph->tensors()->size();
        ends.push_back({shown(map.name()), known ? shown(graph->tensors()->Get(map.tensor_index())->name()) : "?"});
    }
    return ends;
}

}  // namespace

FileFacts tflite_facts(std::span<const std::byte> bytes) {
    const TfliteFile file(bytes, {});
    const tflite::Model& model = file.model();
    FileFacts facts;
    facts.format = "tflite";
    facts.description = shown(model.description());
    for (const tflite::SubGraph* graph : *model.subgraphs()) facts.subgraphs.push_back(shown(graph->name()));
    for (std::uint32_t k = 0; model.signature_defs() && k < model.signature_defs()->size(); ++k) {
        const tflite::SignatureDef& from = *model.signature_defs()->Get(k);
        const bool known = from.subgraph_index() < model.subgraphs()->size();
        const tflite::SubGraph* graph = known ? model.subgraphs()->Get(from.subgraph_index()) : nullptr;
        facts.signatures.push_back({shown(from.signature_key()), from.subgraph_index(), ends_of(graph, from.inputs()),
                                    ends_of(graph, from.outputs())});
    }
    for (std::uint32_t k = 0; model.metadata() && k < model.metadata()->size(); ++k) {
        const tflite::Metadata& from = *model.metadata()->Get(k);
        const std::span<const std::byte> data = file.buffer(from.buffer());
        facts.metadata.push_back({shown(from.name()), data.size(), readable(data)});
    }
    for (std::uint32_t k = 0; model.external_buffer_groups() && k < model.external_buffer_groups()->size(); ++k)
        facts.external_files.push_back(shown(model.external_buffer_groups()->Get(k)->name()));
    return facts;
}

}  // namespace tosavk
