// Clients, their devices and the memory of those.
#include "hosts/pjrt/executable.hpp"

#include <algorithm>

namespace tosavk::pjrt {

Counters counters;

// ---- memory ---------------------------------------------------------------------------------------------------------

std::optional<cpp::Buffer> Pool::take(std::uint64_t size_bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = free_.find(size_bytes);
    if (found == free_.end()) return {};
    std::optional<cpp::Buffer> result(std::move(found->second));
    free_.erase(found);
    bytes_ -= size_bytes;
    return result;
}

void Pool::give(cpp::Buffer buffer, std::uint64_t size_bytes) {
    const std::lock_guard lock(mutex_);
    if (size_bytes > most_bytes - bytes_) return;
    free_.emplace(size_bytes, std::move(buffer));
    bytes_ += size_bytes;
}

void Pool::clear() {
    const std::lock_guard lock(mutex_);
    free_.clear();
    bytes_ = 0;
}

std::uint64_t Pool::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

namespace {

/// Few sizes, so that the pool is of use, and room for what kernels write behind the end.
std::uint64_t rounded(std::uint64_t size_bytes) {
    const std::uint64_t unit = size_bytes < 65536 ? 256 : 4096;
    return std::max(unit, (size_bytes + unit - 1) / unit * unit);
}

cpp::Buffer allocate(Device& device, std::uint64_t size_bytes) {
    if (auto pooled = device.pool.take(size_bytes)) return std::move(*pooled);
    ++counters.allocations;
    return device.with_memory([&] { return cpp::Buffer(device.device, size_bytes); });
}

void raise(std::atomic<std::int64_t>& most, std::int64_t value) {
    std::int64_t seen = most.load();
    while (seen < value && !most.compare_exchange_weak(seen, value)) {}
}

}  // namespace

Storage::Storage(Device& on, std::uint64_t wanted_bytes)
    : client(on.client->shared_from_this()), device(on), size_bytes(rounded(wanted_bytes)) {
    buffer.emplace(allocate(device, size_bytes));
    const auto size = static_cast<std::int64_t>(size_bytes);
    raise(device.peak, device.in_use += size);
    raise(device.largest, size);
    ++device.arrays;
}

Storage::Storage(Device& on, cpp::Buffer shared, std::uint64_t size)
    : client(on.client->shared_from_this()), device(on), size_bytes(size), is_shared(true), buffer(std::move(shared)) {}

Storage::~Storage() {
    if (is_shared) return;
    device.in_use -= static_cast<std::int64_t>(size_bytes);
    --device.arrays;
    if (was_lent) return;
    try {
        device.pool.give(std::move(*buffer), size_bytes);
    } catch (...) {}  // no memory for its place there: it goes
}

// ---- devices --------------------------------------------------------------------------------------------------------

Device::Device(Client& of, int number, cpp::Device opened)
    : client(&of),
      id(number),
      device(std::move(opened)),
      kind(device.name()),
      driver(device.driver()),
      debug_text("TOSAVK_" + std::to_string(id) + "(" + kind + ")"),
      text("TosavkDevice(id=" + std::to_string(id) + ", name='" + kind + "')"),
      memory{this, id, "MEMORY_SPACE_" + std::to_string(id), "TosavkMemory(id=" + std::to_string(id) + ")"},
      memories{&memory},
      self{this},
      attributes{} {
    NamedValue& value = attributes[0];
    value.head = {sizeof(NamedValue), nullptr};
    value.name = {"driver", 6};
    value.type = static_cast<std::int32_t>(NamedType::text);
    value.text = driver.c_str();
    value.size = driver.size();
}

void Device::enter(Compiled& compiled) {
    const std::lock_guard lock(programs_mutex_);
    programs_.insert(&compiled);
}

void Device::leave(Compiled& compiled) noexcept {
    const std::lock_guard lock(programs_mutex_);
    programs_.erase(&compiled);
}

void Device::free_idle() noexcept {
    const std::lock_guard lock(programs_mutex_);
    for (Compiled* compiled : programs_) compiled->free_idle();
}

Client::Client(Options given)
    : options(std::move(given)),
      platform_version("tosa-vk " + cpp::version()),
      cache(options.cache_dir),
      completions(std::make_shared<Worker>()),
      transfers(std::make_shared<Worker>()),
      keeper(std::make_shared<Worker>()) {}

void Client::open_devices() {
    std::uint32_t count = 0;
    try {
        count = cpp::Device::count();
    } catch (const cpp::Error& e) {
        throw Failure(Code::not_found, e.what());
    }
    std::string why = "there is no Vulkan device";
    for (std::uint32_t k = 0; k < count; ++k) {
        tosavk_device_options wanted{};
        if (!options.device.empty()) wanted.name = options.device.c_str();
        if (!options.cache_dir.empty()) wanted.cache_dir = options.cache_dir.c_str();
        wanted.ordinal = k;
        try {
            devices.push_back(std::make_unique<Device>(*this, static_cast<int>(devices.size()), cpp::Device(wanted)));
        } catch (const cpp::Error& e) {
            if (e.status() != TOSAVK_ERROR_NO_DEVICE) throw;
            why = e.what();
            break;
        }
    }
    if (devices.empty()) throw Failure(Code::not_found, why);
    for (const auto& device : devices) {
        device_list.push_back(device.get());
        memory_list.push_back(&device->memory);
    }
}

Device& Client::device_of(std::int64_t id) const {
    if (id < 0 || id >= static_cast<std::int64_t>(devices.size()))
        throw Failure(Code::invalid_argument,
                      "there is no device " + std::to_string(id) + " among " + std::to_string(devices.size()));
    return *devices[static_cast<std::size_t>(id)];
}

void Client::begin_run() {
    const std::lock_guard lock(mutex_);
    ++runs_;
}

void Client::end_run() noexcept {
    const std::lock_guard lock(mutex_);
    if (--runs_ == 0) ends_.notify_all();
}

void Client::finish() noexcept {
    {
        std::unique_lock lock(mutex_);
        ends_.wait(lock, [&] { return runs_ == 0; });
    }
    keeper->finish();
    transfers->finish();
    completions->finish();
    for (const auto& device : devices) device->pool.clear();
}

}  // namespace tosavk::pjrt
