// What a runtime calls: makes and destroys delegates.
#include "hosts/tflite_delegate/delegate.hpp"
#include "hosts/tflite_delegate/guarded.hpp"
#include "hosts/tflite_delegate/kernel.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

namespace tosavk::delegate {

namespace {

struct Holder {
    Delegate runtime{};  ///< first: what a runtime gets is a pointer to it
    std::shared_ptr<DelegateImpl> impl;
};

Status prepare(Context* context, Delegate* delegate) {
    return guarded(context, "the graph", [&] {
        const std::shared_ptr<DelegateImpl> impl = impl_of(delegate);
        if (!impl) throw std::runtime_error("this delegate is another library's");
        if (!impl->options.error.empty()) throw std::runtime_error(impl->options.error);
        claim(*context, *delegate, impl);
    });
}

/// The runtime wants to read what partitions hand on to each other.
Status copy_from_handle(Context* context, Delegate* delegate, int handle, Tensor* tensor) {
    return guarded(context, "a tensor on the device", [&] {
        const std::shared_ptr<DelegateImpl> impl = impl_of(delegate);
        if (!impl) throw std::runtime_error("this delegate is another library's");
        fetch_shared(*impl, handle, *tensor);
    });
}

/// What `make` makes when memory is short, so that there always is a delegate.
Delegate& delegate_without_memory() {
    static Delegate delegate = [] {
        Delegate d{};
        d.prepare = [](Context* context, Delegate*) {
            if (context->report_error != nullptr) context->report_error(context, "tosa-vk delegate: no memory");
            return status_error;
        };
        return d;
    }();
    return delegate;
}

}  // namespace

std::shared_ptr<DelegateImpl> impl_of(const Delegate* delegate) {
    if (delegate == nullptr || delegate->prepare != prepare) return nullptr;
    return static_cast<const Holder*>(delegate->data)->impl;
}

Delegate* make_delegate(const char* const* keys, const char* const* values, std::size_t count,
                        void (*report_error)(const char*)) noexcept {
    try {
        auto holder = std::make_unique<Holder>();
        holder->impl = std::make_shared<DelegateImpl>(parse_options(keys, values, count));
        holder->runtime.data = holder.get();
        holder->runtime.prepare = prepare;
        holder->runtime.copy_from_handle = copy_from_handle;
        holder->runtime.flags = allow_dynamic_tensors | require_propagated_shapes;
        if (report_error != nullptr && !holder->impl->options.error.empty())
            report_error(("tosa-vk delegate: " + holder->impl->options.error).c_str());
        return &holder.release()->runtime;
    } catch (...) {
        return &delegate_without_memory();
    }
}

void destroy_delegate(Delegate* delegate) noexcept {
    if (impl_of(delegate) == nullptr) return;
    auto* holder = static_cast<Holder*>(delegate->data);
    holder->impl->write_profile();
    delete holder;
}

}  // namespace tosavk::delegate

using namespace tosavk::delegate;

namespace {

const Delegate* ours(const TfLiteDelegate* delegate) { return reinterpret_cast<const Delegate*>(delegate); }

}  // namespace

#pragma GCC visibility push(default)

TfLiteDelegate* tflite_plugin_create_delegate(const char* const* keys, const char* const* values, std::size_t count,
                                              void (*report_error)(const char*)) {
    // Python's runtimes declare the count as a 32-bit number; the upper half of the register is then not theirs.
    return reinterpret_cast<TfLiteDelegate*>(
        make_delegate(keys, values, static_cast<std::uint32_t>(count), report_error));
}

void tflite_plugin_destroy_delegate(TfLiteDelegate* delegate) {
    destroy_delegate(reinterpret_cast<Delegate*>(delegate));
}

std::int32_t tosavk_tflite_get_counters(const TfLiteDelegate* delegate, tosavk_tflite_counters* counters) {
    const std::shared_ptr<DelegateImpl> impl = impl_of(ours(delegate));
    if (!impl || counters == nullptr || counters->struct_size < sizeof counters->struct_size) return 1;
    tosavk_tflite_counters all = impl->counters();
    all.struct_size = counters->struct_size;
    std::memcpy(counters, &all, std::min(all.struct_size, sizeof all));
    return 0;
}

std::size_t tosavk_tflite_get_report(const TfLiteDelegate* delegate, char* json, std::size_t size_bytes) {
    const std::shared_ptr<DelegateImpl> impl = impl_of(ours(delegate));
    if (!impl) return 0;
    try {
        const std::string text = impl->report();
        if (json != nullptr && size_bytes > 0) {
            const std::size_t copied = std::min(text.size(), size_bytes - 1);
            std::memcpy(json, text.data(), copied);
            json[copied] = 0;
        }
        return text.size() + 1;
    } catch (...) {
        return 0;
    }
}

#pragma GCC visibility pop
