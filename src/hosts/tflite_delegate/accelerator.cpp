// The delegate as an accelerator of LiteRT's CompiledModel, which looks for the data symbol LiteRtAcceleratorImpl in a
// library of a name of its own. Layouts as of version 1.0 of its definition.
#include "hosts/tflite_delegate/delegate.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tosavk::delegate {

namespace {

enum : int { litert_ok = 0, litert_invalid_argument = 1, litert_unsupported = 504 };

struct Header {
    std::uint16_t struct_size, major, minor, reserved;
};
struct Version {
    int major, minor, patch;
};

/// The runtime's functions; more follow than are used.
struct RuntimeFunctions {
    Header header;
    void* before[17];
    int (*wrap_delegate)(Delegate* delegate, void (*deleter)(Delegate*), void** wrapper);
};
static_assert(offsetof(RuntimeFunctions, wrap_delegate) == 144);

struct Definition {
    Header header;
    int (*get_name)(void* accelerator, const char** name);
    int (*get_version)(void* accelerator, Version* version);
    int (*get_hardware_support)(void* accelerator, int* hardware);
    int (*is_delegate_responsible_for_jit)(void* accelerator, bool* is_it);
    int (*create_delegate)(const RuntimeFunctions* runtime, void* environment, void* accelerator, void* options,
                           void** wrapper);
    void* metrics[2];
    void* buffer_handlers[17];  ///< none: tensors are the host's
};
static_assert(sizeof(Definition) == 200 && offsetof(Definition, buffer_handlers) == 64);

/// There is no other way to give this one options: "device=cpu,verbose=1" in the environment.
Delegate* delegate_of_environment() {
    const char* given = std::getenv("TOSAVK_TFLITE_OPTIONS");
    std::string text = given != nullptr ? given : "";
    std::vector<std::string> keys, values;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string pair = text.substr(0, comma);
        const std::size_t equals = std::min(pair.find('='), pair.size());
        keys.push_back(pair.substr(0, equals));
        values.push_back(pair.substr(std::min(equals + 1, pair.size())));
        text.erase(0, comma + 1);
    }
    std::vector<const char*> raw_keys, raw_values;
    for (const std::string& key : keys) raw_keys.push_back(key.c_str());
    for (const std::string& value : values) raw_values.push_back(value.c_str());
    return make_delegate(raw_keys.data(), raw_values.data(), keys.size(), nullptr);
}

int get_name(void*, const char** name) {
    if (name == nullptr) return litert_invalid_argument;
    *name = "tosa-vk";
    return litert_ok;
}

int get_version(void*, Version* version) {
    if (version == nullptr) return litert_invalid_argument;
    *version = {1, 0, 0};
    return litert_ok;
}

int get_hardware_support(void*, int* hardware) {
    constexpr int gpu = 2;
    if (hardware == nullptr) return litert_invalid_argument;
    *hardware = gpu;
    return litert_ok;
}

int is_responsible_for_jit(void*, bool* is_it) {
    if (is_it == nullptr) return litert_invalid_argument;
    *is_it = true;
    return litert_ok;
}

int create_delegate(const RuntimeFunctions* runtime, void*, void*, void*, void** wrapper) noexcept {
    if (runtime == nullptr || wrapper == nullptr) return litert_invalid_argument;
    if (runtime->header.major != 1 || runtime->header.struct_size < sizeof(RuntimeFunctions) ||
        runtime->wrap_delegate == nullptr)
        return litert_unsupported;
    try {
        return runtime->wrap_delegate(delegate_of_environment(), [](Delegate* d) { destroy_delegate(d); }, wrapper);
    } catch (...) {
        return litert_unsupported;
    }
}

}  // namespace

}  // namespace tosavk::delegate

extern "C" {
extern __attribute__((visibility("default"))) tosavk::delegate::Definition LiteRtAcceleratorImpl;
tosavk::delegate::Definition LiteRtAcceleratorImpl = {{sizeof(tosavk::delegate::Definition), 1, 0, 0},
                                                      tosavk::delegate::get_name,
                                                      tosavk::delegate::get_version,
                                                      tosavk::delegate::get_hardware_support,
                                                      tosavk::delegate::is_responsible_for_jit,
                                                      tosavk::delegate::create_delegate,
                                                      {},
                                                      {}};
}
