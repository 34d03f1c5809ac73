// C++ over tosavk.h: errors, devices and their buffers. C++20. Included by run.hpp.
#ifndef TOSAVK_DEVICE_HPP
#define TOSAVK_DEVICE_HPP

#include "tosavk/tools.h"
#include "tosavk/tosavk.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace tosavk::cpp {

/// A failed call: what() is one sentence.
class Error : public std::runtime_error {
public:
    Error(tosavk_status status, const std::string& message, std::string node = {}, std::string operand = {})
        : std::runtime_error(message), status_(status), node_(std::move(node)), operand_(std::move(operand)) {}

    tosavk_status status() const { return status_; }
    const std::string& node() const { return node_; }        ///< name of the node, or empty
    const std::string& operand() const { return operand_; }  ///< name of the operand, or empty

private:
    tosavk_status status_;
    std::string node_, operand_;
};

namespace detail {

template <auto Release> struct Deleter {
    template <class T> void operator()(T* handle) const { Release(handle); }
};
template <class T, auto Release> using Handle = std::unique_ptr<T, Deleter<Release>>;

/// Calls f(args..., &error) and throws what it reports.
template <class F, class... Args> void call(F f, Args... args) {
    tosavk_error* raw = nullptr;
    const tosavk_status status = f(args..., &raw);
    const Handle<tosavk_error, tosavk_error_release> error(raw);
    if (status != TOSAVK_OK) {
        throw Error(status, tosavk_error_message(raw), tosavk_error_node(raw), tosavk_error_operand(raw));
    }
}

inline std::string take(tosavk_text* text) {
    const Handle<tosavk_text, tosavk_text_release> owner(text);
    return std::string(tosavk_text_data(text), tosavk_text_size(text));
}

/// A struct of the ABI with its struct_size set.
template <class T> T sized() {
    T result{};
    result.struct_size = sizeof(T);
    return result;
}

}  // namespace detail

class Device {
public:
    /// `options.struct_size` is set here.
    explicit Device(tosavk_device_options options) {
        options.struct_size = sizeof options;
        const tosavk_device_options* given = &options;
        tosavk_device* device = nullptr;
        detail::call(tosavk_device_open_with, given, &device);
        handle_.reset(device);
    }
    /// "" chooses; else an index, "cpu" or a part of the name.
    explicit Device(const std::string& name = {}) {
        tosavk_device* device = nullptr;
        detail::call(tosavk_device_open, name.c_str(), &device);
        handle_.reset(device);
    }
    static std::uint32_t count() {
        std::uint32_t result = 0;
        detail::call(tosavk_device_count, &result);
        return result;
    }
    static std::string describe(std::uint32_t index) {
        tosavk_text* text = nullptr;
        detail::call(tosavk_device_describe, index, &text);
        return detail::take(text);
    }

    std::string name() const { return tosavk_device_name(handle_.get()); }
    /// Of its executables and contexts.
    tosavk_memory_info memory() const {
        auto result = detail::sized<tosavk_memory_info>();
        detail::call(tosavk_device_memory, static_cast<const tosavk_device*>(handle_.get()), &result);
        return result;
    }
    std::string driver() const { return tosavk_device_driver(handle_.get()); }
    /// JSON: the device's measured limits; those of an earlier process will do unless they are wanted `anew`.
    std::string limits(bool anew = false) const {
        tosavk_text* text = nullptr;
        detail::call(anew ? tosavk_device_measure_limits : tosavk_device_limits, handle_.get(), &text);
        return detail::take(text);
    }
    tosavk_device* get() const { return handle_.get(); }
    /// Takes over a handle of the C ABI.
    static Device adopt(tosavk_device* handle) { return Device(handle); }

private:
    explicit Device(tosavk_device* handle) : handle_(handle) {}

    detail::Handle<tosavk_device, tosavk_device_release> handle_;
};

/// Memory of a device: see tosavk_buffer. Copies of a Buffer are not made; parts of it share its memory.
class Buffer {
public:
    Buffer(const Device& device, std::uint64_t size_bytes, tosavk_memory_kind memory = TOSAVK_MEMORY_DEVICE,
           bool exportable = false) {
        auto options = detail::sized<tosavk_buffer_options>();
        options.size_bytes = size_bytes;
        options.memory = memory;
        options.exportable = exportable ? 1 : 0;
        const tosavk_buffer_options* given = &options;
        tosavk_buffer* buffer = nullptr;
        detail::call(tosavk_buffer_create, device.get(), given, &buffer);
        handle_.reset(buffer);
    }
    /// Memory of the host, whole pages, which must outlive the buffer.
    static Buffer import_host(const Device& device, std::span<std::byte> memory) {
        tosavk_buffer* buffer = nullptr;
        detail::call(tosavk_buffer_import_host, device.get(), static_cast<void*>(memory.data()),
                     std::uint64_t{memory.size()}, &buffer);
        return Buffer(buffer);
    }
    /// `options.struct_size` is set here. The descriptor stays the caller's.
    static Buffer import_fd(const Device& device, std::int32_t fd, tosavk_buffer_options options) {
        options.struct_size = sizeof options;
        const tosavk_buffer_options* given = &options;
        tosavk_buffer* buffer = nullptr;
        detail::call(tosavk_buffer_import_fd, device.get(), fd, given, &buffer);
        return Buffer(buffer);
    }
    /// The caller closes it.
    std::int32_t export_fd() const {
        std::int32_t fd = -1;
        detail::call(tosavk_buffer_export_fd, constant(), &fd);
        return fd;
    }
    Buffer slice(std::uint64_t offset, std::uint64_t size_bytes) const {
        tosavk_buffer* part = nullptr;
        detail::call(tosavk_buffer_slice, constant(), offset, size_bytes, &part);
        return Buffer(part);
    }
    tosavk_buffer_info info() const {
        auto result = detail::sized<tosavk_buffer_info>();
        detail::call(tosavk_buffer_describe, constant(), &result);
        return result;
    }
    void upload(std::span<const std::byte> bytes, std::uint64_t offset = 0) {
        detail::call(tosavk_buffer_upload, get(), offset, static_cast<const void*>(bytes.data()), bytes.size());
    }
    void download(std::span<std::byte> bytes, std::uint64_t offset = 0) const {
        detail::call(tosavk_buffer_download, constant(), offset, static_cast<void*>(bytes.data()), bytes.size());
    }
    void fill(std::uint8_t value, std::uint64_t offset, std::uint64_t size_bytes) {
        detail::call(tosavk_buffer_fill, get(), offset, size_bytes, value);
    }
    void copy_from(const Buffer& from, std::uint64_t from_offset, std::uint64_t offset, std::uint64_t size_bytes) {
        detail::call(tosavk_buffer_copy, from.constant(), from_offset, get(), offset, size_bytes);
    }
    /// See tosavk_buffer_map.
    std::span<std::byte> map() const {
        void* data = nullptr;
        detail::call(tosavk_buffer_map, constant(), &data);
        return {static_cast<std::byte*>(data), static_cast<std::size_t>(info().size_bytes)};
    }
    void unmap() const { detail::call(tosavk_buffer_unmap, constant()); }
    /// Whether no run uses it any more, after `time` at most (0: only looks).
    bool wait_for(std::chrono::nanoseconds time) const {
        std::int32_t idle = 0;
        const auto ns = time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : std::uint64_t{0};
        detail::call(tosavk_buffer_wait, constant(), ns, &idle);
        return idle != 0;
    }
    tosavk_buffer* get() const { return handle_.get(); }
    /// Takes over a handle of the C ABI.
    static Buffer adopt(tosavk_buffer* handle) { return Buffer(handle); }

private:
    explicit Buffer(tosavk_buffer* handle) : handle_(handle) {}
    const tosavk_buffer* constant() const { return handle_.get(); }

    detail::Handle<tosavk_buffer, tosavk_buffer_release> handle_;
};

/// A timeline semaphore of a device: see tosavk_semaphore.
class Semaphore {
public:
    explicit Semaphore(const Device& device, std::uint64_t value = 0, bool exportable = false) {
        auto options = detail::sized<tosavk_semaphore_options>();
        options.value = value;
        options.exportable = exportable ? 1 : 0;
        const tosavk_semaphore_options* given = &options;
        tosavk_semaphore* semaphore = nullptr;
        detail::call(tosavk_semaphore_create, device.get(), given, &semaphore);
        handle_.reset(semaphore);
    }
    /// The descriptor stays the caller's.
    static Semaphore import_fd(const Device& device, std::int32_t fd) {
        tosavk_semaphore* semaphore = nullptr;
        detail::call(tosavk_semaphore_import_fd, device.get(), fd, &semaphore);
        return Semaphore(semaphore);
    }
    /// The caller closes it.
    std::int32_t export_fd() const {
        std::int32_t fd = -1;
        detail::call(tosavk_semaphore_export_fd, constant(), &fd);
        return fd;
    }
    std::uint64_t value() const {
        std::uint64_t result = 0;
        detail::call(tosavk_semaphore_value, constant(), &result);
        return result;
    }
    void signal(std::uint64_t value) { detail::call(tosavk_semaphore_signal, get(), value); }
    /// Whether the value was reached within so many nanoseconds.
    bool wait(std::uint64_t value, std::uint64_t timeout_ns = UINT64_MAX) const {
        std::int32_t reached = 0;
        detail::call(tosavk_semaphore_wait, constant(), value, timeout_ns, &reached);
        return reached != 0;
    }
    tosavk_semaphore_point at(std::uint64_t value) const { return {sizeof(tosavk_semaphore_point), get(), value}; }
    tosavk_semaphore* get() const { return handle_.get(); }
    /// Takes over a handle of the C ABI.
    static Semaphore adopt(tosavk_semaphore* handle) { return Semaphore(handle); }

private:
    explicit Semaphore(tosavk_semaphore* handle) : handle_(handle) {}
    const tosavk_semaphore* constant() const { return handle_.get(); }

    detail::Handle<tosavk_semaphore, tosavk_semaphore_release> handle_;
};

}  // namespace tosavk::cpp

#endif  // TOSAVK_DEVICE_HPP
