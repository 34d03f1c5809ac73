// What a client and a compilation are told.
#pragma once

#include "hosts/pjrt/interface.hpp"

#include <tosavk/run.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tosavk::pjrt {

/// Of jax's register_plugin(options=...).
struct Options {
    std::string device;     ///< a part of a device's name, or "cpu"; empty: all there are
    std::string cache_dir;  ///< of shaders and programs
    tosavk_precision precision = TOSAVK_PRECISION_DECLARED;
    bool f64_as_f32 = false;  ///< float64 and complex128 are rounded and computed as fp32; else they are refused
};

/// Throws Failure with a sentence for an unknown option or value.
Options parse_options(List<const NamedValue> given);

/// Of the runtime's serialized CompileOptionsProto, those that matter here.
struct CompileOptions {
    std::int64_t replicas = 1, partitions = 1;
    std::optional<std::int64_t> device;  ///< its id
    std::optional<tosavk_precision> precision;
};

/// Throws Failure where it is cut off, or asks for what is not there.
CompileOptions parse_compile_options(std::string_view bytes);

/// The serialized assignment of one program to one device.
std::string assignment_of(int device);

}  // namespace tosavk::pjrt
