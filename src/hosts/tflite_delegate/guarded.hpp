// The edge of the C ABI: what a function says instead of throwing.
#pragma once

#include "hosts/tflite_delegate/runtime.hpp"

#include <cstdio>
#include <exception>

namespace tosavk::delegate {

template <class F> Status guarded(Context* context, const char* what, F f) noexcept {
    char sentence[512] = "unknown failure";
    try {
        f();
        return status_ok;
    } catch (const std::exception& e) {
        std::snprintf(sentence, sizeof sentence, "%s", e.what());
    } catch (...) {}
    if (context != nullptr && context->report_error != nullptr)
        context->report_error(context, "tosa-vk delegate: %s: %s", what, sentence);
    return status_error;
}

}  // namespace tosavk::delegate
