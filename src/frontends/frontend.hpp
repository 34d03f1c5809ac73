// Files in, graphs out: finds the front end that a file is for.
#pragma once

#include "frontends/common/facts.hpp"
#include "frontends/common/options.hpp"
#include "frontends/common/probe.hpp"
#include "frontends/common/signature.hpp"
#include "frontends/stablehlo/stablehlo.hpp"
#include "frontends/tflite/tflite.hpp"
#include "frontends/tosa/tosa.hpp"

#include <filesystem>
#include <span>
#include <string_view>

namespace tosavk {

/// One format of files.
struct Frontend {
    std::string_view name;  ///< as ProbeReport::format
    /// By content: what stands at fixed places, or else the structure.
    bool (*recognises)(std::span<const std::byte> file);
    Graph (*load)(std::span<const std::byte> file, const ImportOptions& options);
    /// Throws Error for a file that cannot be read at all.
    ProbeReport (*probe)(std::span<const std::byte> file, const ImportOptions& options);
    /// Without lowering any operator that it need not.
    Signature (*signature)(std::span<const std::byte> file, const ImportOptions& options);
    /// Throws Error for a file that cannot be read at all.
    FileFacts (*facts)(std::span<const std::byte> file);
};
std::span<const Frontend> frontends();

// Of the first front end that recognises the file. `origin` stands in messages.

Graph import_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options);
Graph import_file(const std::filesystem::path& path, const ImportOptions& options);
/// Its inputs, and which of their dimensions are open; those that `options` gives a shape are not.
Signature model_signature(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options);
FileFacts model_facts(std::span<const std::byte> file, const std::string& origin);
/// What the file's front end takes of it, operator by operator.
ProbeReport probe_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options);

}  // namespace tosavk
