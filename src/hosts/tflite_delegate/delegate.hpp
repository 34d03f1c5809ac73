// Delegates as runtimes get them.
#pragma once

#include "hosts/tflite_delegate/session.hpp"

namespace tosavk::delegate {

/// Never null.
Delegate* make_delegate(const char* const* keys, const char* const* values, std::size_t count,
                        void (*report_error)(const char*)) noexcept;
void destroy_delegate(Delegate* delegate) noexcept;

}  // namespace tosavk::delegate
