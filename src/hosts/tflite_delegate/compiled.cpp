#include "hosts/tflite_delegate/compiled.hpp"

#include <sha2.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>
#include <tuple>

namespace tosavk::delegate {

namespace {

using Digest = std::array<std::uint8_t, SHA256_DIGEST_LENGTH>;

Digest digest_of(std::span<const std::byte> file) {
    SHA2_CTX state;
    SHA256Init(&state);
    SHA256Update(&state, reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
    Digest digest;
    SHA256Final(digest.data(), &state);
    return digest;
}

/// What is alive, by a key; what nobody holds any more is forgotten.
template <class Key, class T> class Shared {
public:
    template <class Make, class Usable> std::shared_ptr<T> get(const Key& key, Make make, Usable usable) {
        {
            const std::lock_guard lock(mutex_);
            std::erase_if(alive_, [](const auto& entry) { return entry.second.expired(); });
            const auto found = alive_.find(key);
            if (found != alive_.end()) {
                if (std::shared_ptr<T> known = found->second.lock(); known && usable(*known)) return known;
            }
        }
        // Made without the lock: two threads may make the same, which costs memory and nothing else.
        std::shared_ptr<T> result = make();
        const std::lock_guard lock(mutex_);
        alive_[key] = result;
        return result;
    }

private:
    std::mutex mutex_;
    std::map<Key, std::weak_ptr<T>> alive_;
};

}  // namespace

OpenDevice::OpenDevice(const tosavk_device_options& options) : device(options), process(::getpid()) {}

bool OpenDevice::is_inherited() const { return ::getpid() != process; }

std::shared_ptr<OpenDevice> open_device(const DelegateOptions& options) {
    // Never destroyed: interpreters may live until the process ends.
    static auto& devices = *new Shared<std::tuple<std::string, std::string>, OpenDevice>;
    const auto make = [&] {
        tosavk_device_options wanted{};
        if (!options.device.empty()) wanted.name = options.device.c_str();
        if (!options.cache_dir.empty()) wanted.cache_dir = options.cache_dir.c_str();
        return std::make_shared<OpenDevice>(wanted);
    };
    return devices.get({options.device, options.cache_dir}, make,
                       [](const OpenDevice& d) { return !d.failed && !d.is_inherited(); });
}

namespace {

using Key = std::tuple<const OpenDevice*, int, int, Digest>;

Key key_of(const OpenDevice& device, std::span<const std::byte> file, const cpp::LoadOptions& load) {
    return {&device, load.rounding, load.precision, digest_of(file)};
}

/// Without an executable where the device is to blame for its lack.
template <class Make>
std::shared_ptr<Compiled> with_executable(std::shared_ptr<OpenDevice> device, cpp::Graph graph, Make make) {
    auto result = std::make_shared<Compiled>(std::move(device), std::move(graph));
    try {
        result->executable.emplace(make(*result));
    } catch (const cpp::Error& e) {
        if (!is_device_failure(e)) throw;
    }
    return result;
}

}  // namespace

Cost OpenFile::take_cost() const {
    const std::lock_guard lock(mutex_);
    const tosavk_model_counters now = model.counters();
    const Cost before = told_;
    told_ = {now.shaders_compiled, now.pipelines_created, now.weight_bytes_copied};
    return {told_.shaders - before.shaders, told_.pipelines - before.pipelines,
            told_.weight_bytes - before.weight_bytes};
}

Cost Compiled::take_cost(const cpp::Context& context) const {
    if (file) return file->take_cost();
    if (is_counted.exchange(true)) return {};
    const tosavk_counters counters = context.counters();
    return {counters.shaders_compiled, counters.pipelines_created, counters.weight_bytes_copied};
}

std::shared_ptr<const Compiled> compile(const std::shared_ptr<OpenDevice>& device, std::span<const std::byte> file,
                                        const cpp::LoadOptions& load) {
    static auto& compiled = *new Shared<Key, const Compiled>;
    const auto make = [&]() -> std::shared_ptr<const Compiled> {
        return with_executable(device, cpp::Graph::load(file, load),
                               [](const Compiled& c) { return cpp::Executable(c.device->device, c.graph); });
    };
    return compiled.get(key_of(*device, file, load), make, [](const Compiled& c) { return c.executable.has_value(); });
}

std::shared_ptr<const Compiled> specialize(const std::shared_ptr<OpenDevice>& device, std::span<const std::byte> file,
                                           const cpp::LoadOptions& load,
                                           const std::vector<std::vector<std::int64_t>>& shapes) {
    static auto& files = *new Shared<Key, const OpenFile>;
    const auto open = [&] { return std::make_shared<const OpenFile>(cpp::Model::open(file, load, most_sizes)); };
    const auto opened = files.get(key_of(*device, file, load), open, [](const OpenFile&) { return true; });
    cpp::Bindings bindings;
    for (std::size_t k = 0; k < shapes.size(); ++k)
        bindings.input_shapes.emplace_back(static_cast<std::uint32_t>(k), shapes[k]);
    const auto result = with_executable(device, opened->model.graph(bindings), [&](const Compiled& c) {
        return opened->model.specialize(c.device->device, bindings);
    });
    result->file = opened;
    return result;
}

double work_of(const Compiled& compiled) {
    if (!compiled.executable) return 0;
    const cpp::Context context(*compiled.executable);
    double work = 0;
    for (std::uint32_t k = 0; k < context.dispatch_count(); ++k) work += context.dispatch(k).work;
    return work;
}

bool is_device_failure(const cpp::Error& error) {
    switch (error.status()) {
        case TOSAVK_ERROR_NO_DEVICE:
        case TOSAVK_ERROR_DEVICE:
        case TOSAVK_ERROR_DEVICE_LOST:
        case TOSAVK_ERROR_OUT_OF_MEMORY: return true;
        default: return false;
    }
}

}  // namespace tosavk::delegate
