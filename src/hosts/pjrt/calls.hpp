// The table of functions that the runtime calls.
#pragma once

#include "hosts/pjrt/objects.hpp"

#include <new>

namespace tosavk::pjrt {

/// Of when there is no memory for an error; never destroyed.
extern Error no_memory;

template <auto F> struct Entry;
/// The edge of the interface: no exception leaves it.
template <class Arguments, void (*F)(Arguments&)> struct Entry<F> {
    static Error* call(void* arguments) noexcept {
        try {
            F(*static_cast<Arguments*>(arguments));
            return nullptr;
        } catch (...) {
            auto* error = new (std::nothrow) Error(current_error());
            return error != nullptr ? error : &no_memory;
        }
    }
};
template <auto F> void set(Api& api, std::size_t place) { api.functions[place] = Entry<F>::call; }

void set_error_calls(Api& api);
void set_client_calls(Api& api);
void set_buffer_calls(Api& api);
void set_executable_calls(Api& api);
void set_exchange_calls(Api& api);

/// Throws Failure unless it is row-major and without tiles; null is.
void check_layout(const Layout* layout, std::size_t rank);

inline Text text_of(const std::string& text) { return {text.c_str(), text.size()}; }
template <class T> List<const T> list_of(const std::vector<T>& list) { return {list.data(), list.size()}; }

}  // namespace tosavk::pjrt
