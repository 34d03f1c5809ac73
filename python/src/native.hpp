// What the files of tosavk._native share: the module over the C++ wrapper that the Python package is written in.
#pragma once

#include "tosavk/tosavk.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace tosavk::python {

using Numbers = std::map<std::string, std::uint64_t>;

/// Whoever is without the GIL, or calls Python from a thread of the library, is inside. When the interpreter is about
/// to end the gate is closed: Python ends a thread that wants the GIL then by unwinding it, which C++ does not survive.
class Gate {
public:
    /// False once it is closed, unless this thread is inside already.
    bool enter();
    void leave();
    /// The same with the GIL; but a thread other than the one that closes stays here for good, without the GIL.
    bool enter_or_stay();
    /// Waits for those inside; what can be cancelled is.
    void close();
    bool is_closed() const { return closed_; }

private:
    std::atomic<int> inside_{0};
    std::atomic<bool> closed_{false};
    std::thread::id closer_;
};
extern Gate gate;

/// Inside the gate. Throws in the thread that has closed it.
class Inside {
public:
    Inside() {
        if (!gate.enter_or_stay()) throw cpp::Error(TOSAVK_ERROR_USAGE, "the interpreter is about to end");
    }
    ~Inside() { gate.leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

class Released {
    Inside inside_;
    nb::gil_scoped_release released_;
};

/// Path of a file, as os.fsencode gives it.
inline std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

/// Bytes of an array, which Python has made dense and flat.
using InBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutBytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::span<const std::byte> bytes_of(const InBytes& array) {
    return {reinterpret_cast<const std::byte*>(array.data()), array.size()};
}
inline std::span<std::byte> bytes_of(const OutBytes& array) {
    return {reinterpret_cast<std::byte*>(array.data()), array.size()};
}
inline std::span<const std::byte> bytes_of(const nb::bytes& bytes) {
    return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}
inline nb::bytes to_bytes(const std::vector<std::byte>& data) { return nb::bytes(data.data(), data.size()); }

/// By the numbers of inputs, and of an open model's symbols.
using NumberedShapes = std::vector<std::pair<std::uint32_t, std::vector<std::int64_t>>>;
using NumberedSizes = std::vector<std::pair<std::uint32_t, std::int64_t>>;

/// name, type, shape, size in bytes, scale, zero point, declared type
using Info = std::tuple<std::string, int, std::vector<std::int64_t>, std::size_t, double, std::int64_t, int>;
inline Info to_info(const tosavk_tensor_info& info) {
    return {info.name ? info.name : "",
            info.type,
            std::vector<std::int64_t>(info.dims, info.dims + info.rank),
            info.size_bytes,
            info.scale,
            info.zero_point,
            info.declared_type};
}

/// How often a call that waits looks for signals, such as that of Ctrl-C.
inline constexpr std::chrono::milliseconds between_signals{50};

/// Throws what a signal's handler raised (KeyboardInterrupt). Only Python's main thread has such.
inline void check_signals() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Calls wait(nanoseconds) without the GIL until it answers true, for `timeout` seconds at most (none: however long it
/// takes), and looks at signals between. Has it answered true?
template <class Wait> bool wait_with_signals(std::optional<double> timeout, Wait wait) {
    const Inside inside;
    using clock = std::chrono::steady_clock;
    const auto begun = clock::now();
    for (;;) {
        auto slice = std::chrono::nanoseconds(between_signals);
        bool last = false;
        if (timeout) {
            const double left = *timeout - std::chrono::duration<double>(clock::now() - begun).count();
            if (left * 1e9 < static_cast<double>(slice.count())) {
                slice = std::chrono::nanoseconds(left > 0 ? static_cast<std::int64_t>(left * 1e9) : 0);
                last = true;
            }
        }
        {
            const Released released;
            if (wait(slice)) return true;
        }
        check_signals();
        if (last) return false;
    }
}

void add_graphs(nb::module_& module);   ///< Graph, Builder
void add_models(nb::module_& module);   ///< LoadOptions, loading and probing, Model
void add_devices(nb::module_& module);  ///< Device, Buffer
void add_running(nb::module_& module);  ///< Executable, Context, Checker; both of models too

}  // namespace tosavk::python
