// Files to and from a caller's streams.
#pragma once

#include "api/handles.hpp"

namespace tosavk::api {

/// Everything up to the stream's end. Throws Error(io) where it fails or does not end within what files may have.
Bytes read_stream(tosavk_read_callback read, void* user);
/// Throws Error(io).
void write_stream(tosavk_write_callback write, void* user, std::span<const std::byte> bytes);

}  // namespace tosavk::api
