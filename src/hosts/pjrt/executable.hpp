// Programs, compiled for a device.
#pragma once

#include "hosts/pjrt/image.hpp"
#include "hosts/pjrt/objects.hpp"

#include <tosavk/run.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tosavk::pjrt {

/// An argument or a result of a program.
struct ProgramValue {
    const ElementType* type = nullptr;  ///< null: a token, which is nothing
    Dims dims;
    std::size_t elements = 0;
    std::uint32_t first = 0, count = 0;  ///< inputs or outputs of the graph that it is; none is bound without elements
    std::optional<std::size_t> alias;    ///< the result that may have its memory
    bool is_donated = false;
};

/// What handles of one program share. Immutable but for its contexts.
class Compiled {
public:
    /// From StableHLO. Throws Failure and cpp::Error.
    Compiled(Device& device, std::string program, tosavk_precision precision, std::string fingerprint);
    /// From what image() made. Throws Failure and cpp::Error.
    Compiled(Device& device, Image image);
    ~Compiled();
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;

    const std::shared_ptr<Client> client;
    Device& device;
    const std::string fingerprint;
    std::string name;
    std::vector<ProgramValue> arguments, results;

    /// Waits where as many runs are under way as may be: who starts runs faster than the device ends them is to wait
    /// rather than to pile up memory.
    std::unique_ptr<cpp::Context> take_context();
    /// Null where it failed.
    void give_context(std::unique_ptr<cpp::Context> context) noexcept;
    /// The contexts that nothing runs on.
    void free_idle() noexcept;
    bool has_graph() const { return executable_.has_value(); }
    /// Throws cpp::Error.
    Image image() const;
    /// It came from an image for another device or library: the graph was compiled anew.
    bool was_planned_anew() const { return package_ == 2; }
    std::uint64_t dispatches() const { return dispatches_; }
    /// How an input or output is bound to a buffer of a size.
    std::uint32_t input_flags(std::uint32_t index, std::uint64_t size_bytes) const;
    std::uint32_t output_flags(std::uint32_t index, std::uint64_t size_bytes) const;

    double operations = 0, bytes_accessed = 0;
    std::int64_t constant_bytes = 0, temporary_bytes = 0, argument_bytes = 0, result_bytes = 0, alias_bytes = 0;

    // What the interface hands out as lists.
    std::vector<std::int32_t> result_kinds;
    std::vector<std::int64_t> result_dims;
    std::vector<std::size_t> result_ranks;
    std::vector<NamedValue> costs;

private:
    void read_interface();
    void compile(std::string_view file);
    void measure();
    void fill_lists();

    const std::string program_;  ///< StableHLO; empty where it came as a package
    const tosavk_precision precision_;
    std::string facts_;
    std::optional<cpp::Graph> graph_;
    std::optional<cpp::Executable> executable_;
    std::uint64_t package_ = 0;  ///< as of tosavk_counters
    std::vector<std::uint64_t> padded_inputs_, padded_outputs_;
    std::uint64_t dispatches_ = 0;
    std::mutex mutex_;
    std::condition_variable returns_;
    std::vector<std::unique_ptr<cpp::Context>> idle_;
    std::size_t contexts_ = 0;  ///< those that are not idle too
};

/// The same for the same program, options and device while anybody has it; from the cache folder where that has it.
std::shared_ptr<Compiled> compile(Client& client, std::string_view program, std::string_view options);
/// From the bytes of an image; with `options`, for the device that those name. Throws Failure and cpp::Error.
std::shared_ptr<Compiled> restore(Client& client, std::string_view bytes, std::optional<std::string_view> options);

struct ExecutableHandle {
    std::shared_ptr<Compiled> compiled;
};
struct LoadedExecutable {
    std::shared_ptr<Compiled> compiled;
    std::atomic<bool> is_deleted{false};
};

/// Submits a run; the results are there before they are computed. Throws Failure and cpp::Error, with nothing changed.
std::vector<std::unique_ptr<Buffer>> execute(const std::shared_ptr<Compiled>& compiled,
                                             std::span<Buffer* const> arguments,
                                             std::span<const std::int64_t> not_donated, std::shared_ptr<Event>& done);

}  // namespace tosavk::pjrt
