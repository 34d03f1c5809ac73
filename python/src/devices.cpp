// Device and Buffer.
#include "native.hpp"

namespace tosavk::python {

namespace {

/// Name, UUID, LUID (empty: any), vendor, type and which of those that fit (tosavk_device_options); folder of the cache
/// (none: the environment's), whether there is a cache at all.
cpp::Device open(const std::string& name, const nb::bytes& uuid, const nb::bytes& luid, std::uint32_t vendor, int type,
                 std::uint32_t ordinal, const std::optional<nb::bytes>& cache_dir, bool no_cache) {
    auto options = tosavk_device_options{};
    options.name = name.c_str();
    if (uuid.size() == 16) options.uuid = static_cast<const std::uint8_t*>(uuid.data());
    if (luid.size() == 8) options.luid = static_cast<const std::uint8_t*>(luid.data());
    options.vendor_id = vendor;
    options.type = type;
    options.ordinal = ordinal;
    options.cache_dir = cache_dir ? cache_dir->c_str() : nullptr;
    options.no_cache = no_cache ? 1 : 0;
    const Released released;
    return cpp::Device(options);
}

/// A device of another owner. It is not released: the object has no end of its own.
cpp::Device* lent_device(std::uintptr_t address, const nb::object&) {
    return new cpp::Device(cpp::Device::adopt(reinterpret_cast<tosavk_device*>(address)));
}

/// A buffer of its own, of the memory of one of another owner.
cpp::Buffer lent_buffer(std::uintptr_t address, std::uint64_t size, const nb::object&) {
    tosavk_buffer* part = nullptr;
    cpp::detail::call(tosavk_buffer_slice, reinterpret_cast<const tosavk_buffer*>(address), std::uint64_t{0}, size,
                      &part);
    return cpp::Buffer::adopt(part);
}

Numbers memory_of(const cpp::Device& device) {
    const tosavk_memory_info info = device.memory();
    return {{"in_use", info.in_use}, {"peak", info.peak},     {"allocations", info.allocations},
            {"heap", info.heap},     {"budget", info.budget}, {"used", info.used},
            {"cached", info.cached}};
}

nb::dlpack::dtype element_type(int type) {
    using nb::dlpack::dtype_code;
    const auto make = [](dtype_code code, int bits) {
        return nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
    };
    switch (type) {
        case TOSAVK_BOOL: return make(dtype_code::Bool, 8);
        case TOSAVK_I4:
        case TOSAVK_I8: return make(dtype_code::Int, 8);
        case TOSAVK_I16: return make(dtype_code::Int, 16);
        case TOSAVK_I32: return make(dtype_code::Int, 32);
        case TOSAVK_I48: return make(dtype_code::Int, 64);
        case TOSAVK_FP8E4M3: return make(dtype_code::Float8_E4M3FN, 8);
        case TOSAVK_FP8E5M2: return make(dtype_code::Float8_E5M2, 8);
        case TOSAVK_FP16: return make(dtype_code::Float, 16);
        case TOSAVK_BF16: return make(dtype_code::Bfloat, 16);
        default: return make(dtype_code::Float, 32);
    }
}

/// Calls f(), which waits for the runs that use the buffers, when none does any more, unless a signal's handler raises.
template <class F> void when_idle(F f, const cpp::Buffer& buffer, const cpp::Buffer* other = nullptr) {
    wait_with_signals(std::nullopt, [&](auto time) {
        if (!buffer.wait_for(time) || (other && !other->wait_for(time))) return false;
        f();
        return true;
    });
}

bool wait(const cpp::Buffer& buffer, std::optional<double> timeout) {
    return wait_with_signals(timeout, [&](auto time) { return buffer.wait_for(time); });
}

/// The host's view of the buffer as a tensor, which keeps the buffer alive.
nb::ndarray<nb::array_api> view(const nb::object& self, int type, const std::vector<std::size_t>& shape) {
    const auto& buffer = nb::cast<const cpp::Buffer&>(self);
    std::span<std::byte> bytes;
    const auto map = [&] { bytes = buffer.map(); };
    buffer.info().mapped ? when_idle(map, buffer) : map();  // which says that it cannot
    return nb::ndarray<nb::array_api>(bytes.data(), shape.size(), shape.data(), self, nullptr, element_type(type),
                                      nb::device::cpu::value, 0);
}

/// Address, bytes, code and bits of the elements, shape, whether they lie in order, whether they may be written, and
/// the tensor itself: DLPack promises the memory for as long as this lives, whatever becomes of the producer.
using HostTensor = std::tuple<std::uintptr_t, std::size_t, int, int, std::vector<std::size_t>, bool, bool, nb::capsule>;

template <class Array> nb::capsule kept(const Array& array) {
    auto copy = std::make_unique<Array>(array);
    nb::capsule result(copy.get(), [](void* tensor) noexcept { delete static_cast<Array*>(tensor); });
    copy.release();
    return result;
}

template <class Array> HostTensor described(const Array& array, bool writable) {
    std::vector<std::size_t> shape(array.ndim());
    bool dense = true;
    std::int64_t stride = 1;
    for (std::size_t k = array.ndim(); k-- > 0;) {
        shape[k] = array.shape(k);
        if (shape[k] != 1 && array.stride(k) != stride) dense = false;
        stride *= static_cast<std::int64_t>(shape[k]);
    }
    return {reinterpret_cast<std::uintptr_t>(array.data()),
            array.nbytes(),
            static_cast<int>(array.dtype().code),
            static_cast<int>(array.dtype().bits),
            shape,
            dense,
            writable,
            kept(array)};
}

/// What a DLPack producer on the CPU has. TypeError where it cannot be read.
HostTensor take(const nb::object& producer) {
    nb::ndarray<nb::device::cpu> array;
    if (nb::try_cast(producer, array)) return described(array, true);
    nb::ndarray<nb::ro, nb::device::cpu> constant;
    if (nb::try_cast(producer, constant)) return described(constant, false);
    throw nb::type_error("no DLPack tensor on the host");
}

}  // namespace

void add_devices(nb::module_& module) {
    module.def("device_count", &cpp::Device::count);
    module.def("describe_device", &cpp::Device::describe);
    module.def("dlpack_info", take);

    nb::class_<cpp::Device>(module, "Device", nb::is_weak_referenceable())
        .def_static("open", open, nb::arg("name"), nb::arg("uuid"), nb::arg("luid"), nb::arg("vendor_id"),
                    nb::arg("type"), nb::arg("ordinal"), nb::arg("cache_dir").none(), nb::arg("no_cache"))
        .def_static("lent", lent_device, nb::rv_policy::reference, nb::keep_alive<0, 2>())
        .def_prop_ro("name", &cpp::Device::name)
        .def_prop_ro("driver", &cpp::Device::driver)
        .def("memory", memory_of);

    nb::class_<cpp::Buffer>(module, "Buffer")
        .def_static("create",
                    [](const cpp::Device& device, std::uint64_t size, int memory) {
                        return cpp::Buffer(device, size, static_cast<tosavk_memory_kind>(memory));
                    })
        .def_static(
            "import_host",
            [](const cpp::Device& device, std::uintptr_t address, std::size_t size, const nb::object&) {
                return cpp::Buffer::import_host(device, {reinterpret_cast<std::byte*>(address), size});
            },
            nb::keep_alive<0, 4>())  // the tensor whose memory it is
        .def_static("lent", lent_buffer, nb::keep_alive<0, 3>())
        .def_prop_ro("address",
                     [](const cpp::Buffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.get()); })
        .def("slice", &cpp::Buffer::slice, nb::keep_alive<0, 1>())
        .def_prop_ro("mapped", [](const cpp::Buffer& buffer) { return buffer.info().mapped != 0; })
        .def_prop_ro("size", [](const cpp::Buffer& buffer) { return buffer.info().size_bytes; })
        .def("upload",
             [](cpp::Buffer& buffer, const InBytes& data, std::uint64_t offset) {
                 const auto bytes = bytes_of(data);
                 if (!bytes.empty()) when_idle([&] { buffer.upload(bytes, offset); }, buffer);
             })
        .def("download",
             [](const cpp::Buffer& buffer, const OutBytes& data, std::uint64_t offset) {
                 const auto bytes = bytes_of(data);
                 if (!bytes.empty()) when_idle([&] { buffer.download(bytes, offset); }, buffer);
             })
        .def("fill",
             [](cpp::Buffer& buffer, std::uint8_t value) {
                 const std::uint64_t size = buffer.info().size_bytes;
                 if (size != 0) when_idle([&] { buffer.fill(value, 0, size); }, buffer);
             })
        .def("copy_from",
             [](cpp::Buffer& buffer, const cpp::Buffer& from) {
                 const std::uint64_t size = buffer.info().size_bytes;
                 if (size != 0) when_idle([&] { buffer.copy_from(from, 0, 0, size); }, buffer, &from);
             })
        .def("wait", wait, nb::arg("timeout").none())
        .def("view", view)
        .def("unmap", [](const cpp::Buffer& buffer) { buffer.unmap(); });
}

}  // namespace tosavk::python
