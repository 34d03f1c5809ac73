// TOSAVK_VALIDATION=1 runs everything under VK_LAYER_KHRONOS_validation (core and synchronization checks).
#pragma once

#include <cstdint>

namespace tosavk {

/// True when the environment asks for the validation layer; read when an instance is created.
bool validation_requested();

/// Warnings and errors of the validation layer since the process started; they are also printed to stderr.
std::uint64_t validation_message_count();

}  // namespace tosavk
