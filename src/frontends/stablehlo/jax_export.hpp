// What jax.export's Exported.serialize() writes: a flatbuffer around a portable artifact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tosavk::stablehlo {

struct JaxExport {
    std::span<const std::byte> module;  ///< a part of the file: the artifact
    std::uint16_t serialization_version = 0, calling_convention_version = 0;
    std::string function_name;           ///< fit to be shown
    std::vector<std::string> platforms;  ///< with several of them main's first argument is which one
    std::uint32_t devices = 1;
    /// Of the function's arguments, flattened, those that main has.
    std::vector<std::uint16_t> kept_arguments;
};

/// Nothing where the file is none. Never throws for what a file contains: what is damaged is not recognised.
std::optional<JaxExport> read_jax_export(std::span<const std::byte> file);

}  // namespace tosavk::stablehlo
