// What the handles of the interface are.
#pragma once

#include "hosts/pjrt/events.hpp"
#include "hosts/pjrt/interface.hpp"
#include "hosts/pjrt/options.hpp"
#include "hosts/pjrt/program_cache.hpp"
#include "hosts/pjrt/types.hpp"

#include <tosavk/run.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tosavk::pjrt {

using Dims = std::vector<std::int64_t>;

struct Memory {
    Device* device;
    int id;
    std::string debug_text, text;
};

/// Memory that arrays have given back, by size, so that a program which runs over and over allocates none. Runs that
/// share memory come in the order of their submits: it may be given out while the device still uses it.
class Pool {
public:
    /// Nothing where none of that size is free.
    std::optional<cpp::Buffer> take(std::uint64_t size_bytes);
    void give(cpp::Buffer buffer, std::uint64_t size_bytes);
    void clear();
    std::uint64_t bytes() const;

private:
    static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;
    mutable std::mutex mutex_;
    std::multimap<std::uint64_t, cpp::Buffer> free_;
    std::uint64_t bytes_ = 0;
};

class Compiled;

/// A Vulkan device, which is its own description.
struct Device {
    Device(Client& client, int id, cpp::Device device);

    Client* const client;
    const int id;
    const cpp::Device device;
    const std::string kind, driver;
    std::string debug_text, text;
    Memory memory;
    Memory* memories[1];
    Device* self[1];
    NamedValue attributes[1];
    Pool pool;
    std::atomic<std::int64_t> in_use{0}, peak{0}, arrays{0}, largest{0};  ///< bytes of arrays; their number

    /// Programs of the device, whose contexts hold memory for temporaries while nothing runs.
    void enter(Compiled& compiled);
    void leave(Compiled& compiled) noexcept;
    void free_idle() noexcept;
    /// What `make` makes, if need be of the memory that is idle here.
    template <class Make> auto with_memory(Make make) {
        try {
            return make();
        } catch (const cpp::Error& e) {
            if (e.status() != TOSAVK_ERROR_OUT_OF_MEMORY) throw;
        }
        pool.clear();
        free_idle();
        return make();
    }

private:
    std::mutex programs_mutex_;
    std::set<Compiled*> programs_;
};

/// Programs that somebody has, by device and digest.
class Programs {
public:
    template <class Make> std::shared_ptr<Compiled> get(const std::pair<int, std::string>& key, Make make) {
        {
            const std::lock_guard lock(mutex_);
            std::erase_if(alive_, [](const auto& entry) { return entry.second.expired(); });
            const auto found = alive_.find(key);
            if (found != alive_.end()) {
                if (auto known = found->second.lock()) return known;
            }
        }
        // Made without the lock: two threads may make the same, which costs memory and nothing else.
        std::shared_ptr<Compiled> result = make();
        const std::lock_guard lock(mutex_);
        alive_[key] = result;
        return result;
    }

private:
    std::mutex mutex_;
    std::map<std::pair<int, std::string>, std::weak_ptr<Compiled>> alive_;
};

/// What all that a client made keeps alive; its handle keeps it too.
struct Client : std::enable_shared_from_this<Client> {
    explicit Client(Options options);
    void open_devices();
    /// Waits for all that is under way and ends the threads.
    void finish() noexcept;

    /// Throws Failure.
    Device& device_of(std::int64_t id) const;

    std::shared_ptr<Event> done() const { return Event::done(completions); }
    std::shared_ptr<Event> pending() const { return std::make_shared<Event>(completions); }
    void begin_run();
    void end_run() noexcept;

    const Options options;
    const std::string platform_version;
    std::vector<std::unique_ptr<Device>> devices;
    std::vector<Device*> device_list;
    std::vector<Memory*> memory_list;
    Programs programs;
    ProgramCache cache;
    const std::shared_ptr<Worker> completions;  ///< what follows the end of runs, and everybody's callbacks
    const std::shared_ptr<Worker> transfers;    ///< copies to the host, which wait for the device
    const std::shared_ptr<Worker> keeper;       ///< writes to the cache
    std::shared_ptr<Client> handle;             ///< to itself, until that is destroyed

private:
    std::mutex mutex_;
    std::condition_variable ends_;
    std::size_t runs_ = 0;
};

/// Memory of one tensor on a device. Goes back to the device's pool.
struct Storage {
    Storage(Device& device, std::uint64_t wanted_bytes);
    /// Of memory that others have too: it does not go to the pool, and no result is put in its place.
    Storage(Device& device, cpp::Buffer shared, std::uint64_t size_bytes);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    const std::shared_ptr<Client> client;
    Device& device;
    const std::uint64_t size_bytes;
    const bool is_shared = false;
    std::atomic<bool> was_lent{false};  ///< others may have parts of the buffer: its memory does not go to the pool
    std::optional<cpp::Buffer> buffer;
};
using Parts = std::vector<std::shared_ptr<Storage>>;  ///< one; two of complex numbers; none where there are no elements

/// Before memory becomes another array's: whoever asked for its address gets no loan of it any more. False where others
/// than its array and `parts` have it.
bool give_up_address(const Parts& parts);

/// An array on a device, for one caller. What is under way keeps its parts, not the array.
struct Buffer {
    Buffer(Device& device, const ElementType& type, Dims dims, Parts parts, std::shared_ptr<Event> ready);

    const std::shared_ptr<Client> client;
    Device& device;
    const ElementType& type;
    const Dims dims;
    const std::vector<std::int64_t> minor_to_major;
    const std::shared_ptr<Event> ready;  ///< when the parts hold the array

    std::size_t element_count() const;
    /// Throws Failure where it is deleted.
    Parts alive() const;
    bool is_deleted() const;
    /// What it held.
    Parts remove();

private:
    mutable std::mutex mutex_;
    Parts parts_;
    bool is_deleted_ = false;
};

std::size_t element_count(const Dims& dims);
Parts make_parts(Device& device, const ElementType& type, std::size_t elements);
/// From the host; strides in bytes, null where dense.
void upload(const ElementType& type, const Dims& dims, const Parts& parts, const void* data,
            const std::int64_t* strides);
/// To the host, dense. Waits for what the device still does with them.
void download(const ElementType& type, const Parts& parts, std::size_t elements, std::byte* data);

/// What the process has done through the plug-in, for its tests.
struct Counters {
    std::atomic<std::uint64_t> compilations{0}, lowerings{0}, restored{0}, shaders_compiled{0}, executions{0},
        dispatches{0}, submits{0}, uploads{0}, downloads{0}, allocations{0}, donations{0};
};
extern Counters counters;

}  // namespace tosavk::pjrt
