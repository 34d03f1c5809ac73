// The kernels are run as plans of their own: no graph stands behind them.
#include "vk/measure/limits.hpp"

#include "device/caps.hpp"
#include "graph/host_tensor.hpp"
#include "kernels/common/shader_files.hpp"
#include "kernels/common/shader_text.hpp"
#include "vk/core/device_state.hpp"
#include "vk/run/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

namespace tosavk {

namespace {

using Clock = std::chrono::steady_clock;

Binding bound(Space space, std::uint64_t offset, std::uint64_t size, bool written, ReadPath path = ReadPath::buffer) {
    return {{space, offset, size}, DType::fp32, written, "limits", path};
}

struct Times {
    double wall_ns = 0;               ///< submit and wait, the best run
    std::vector<double> dispatch_ns;  ///< the best run of each dispatch; the wall time where there are no timestamps
};

/// Runs the plan until `seconds` have passed, but `least` times.
Times best_times(const std::shared_ptr<Device>& device, const Plan& plan, bool profile, double seconds, int least) {
    const auto executable = Executable::create(device, std::make_shared<const Graph>(), plan);
    Context context(executable, profile);
    Times best;
    const auto begin = Clock::now();
    // The first run compiles, and touches memory for the first time.
    for (int run = 0; run <= least || std::chrono::duration<double>(Clock::now() - begin).count() < seconds; ++run) {
        const auto start = Clock::now();
        context.submit();
        context.wait();
        const double wall = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
        std::vector<double> each = context.dispatch_ns();
        each.resize(plan.dispatches.size(), 0);
        if (*std::max_element(each.begin(), each.end()) <= 0)
            std::fill(each.begin(), each.end(), wall / static_cast<double>(each.size()));
        if (run <= 1) best = {wall, each};
        best.wall_ns = std::min(best.wall_ns, wall);
        for (std::size_t k = 0; k < each.size(); ++k) best.dispatch_ns[k] = std::min(best.dispatch_ns[k], each[k]);
    }
    return best;
}

/// There and back between two halves of the arena, so that both have been written when it counts.
double measure_copy(const std::shared_ptr<Device>& device) {
    const DevicePlan& plan = device->plan();
    // Larger than the caches of a GPU; a software driver has none of its own, and memory to spare.
    std::uint64_t bytes = device->caps().type == "cpu" ? 32u << 20 : 128u << 20;
    if (plan.max_binding_bytes != 0) bytes = std::min(bytes, plan.max_binding_bytes);
    bytes = bytes / 4096 * 4096;
    double best_ns = 0;
    const bool texels = bytes / 16 <= plan.texel_elements;
    for (const auto& [wide, path] : {std::pair(false, ReadPath::buffer), std::pair(true, ReadPath::buffer),
                                     std::pair(false, ReadPath::texels), std::pair(true, ReadPath::texels)}) {
        if ((wide && !plan.int64) || (path == ReadPath::texels && !texels)) continue;
        for (const int each : {1, 4, 16}) {
            const auto stride = static_cast<std::int64_t>(bytes) / (wide ? 32 : 16) / each;
            Plan copies;
            copies.arena_bytes = 2 * bytes;
            for (const std::uint64_t from : {std::uint64_t{0}, bytes}) {
                Dispatch& dispatch = copies.dispatches.emplace_back();
                dispatch.label = dispatch.kernel = "limits_copy";
                dispatch.glsl = standalone_source(
                    dispatch.kernel, fmt::format("#define WIDE {}\n#define TEXELS {}\n#define EACH {}\n", wide ? 1 : 0,
                                                 path == ReadPath::texels ? 1 : 0, each));
                dispatch.constants = {static_cast<std::int32_t>(stride)};
                dispatch.bindings = {bound(Space::arena, from, bytes, false, path),
                                     bound(Space::arena, bytes - from, bytes, true)};
                dispatch.groups = linear_groups(stride, plan);
                dispatch.barrier_before = true;
            }
            for (const double ns : best_times(device, copies, true, 0.1, 4).dispatch_ns)
                best_ns = best_ns == 0 ? ns : std::min(best_ns, ns);
        }
    }
    return 2 * static_cast<double>(bytes) / best_ns;
}

/// One way to spend a device's arithmetic: a kernel that takes 64 words, a number of passes and of quads to write.
struct Arithmetic {
    std::string kernel, defines;
    bool float_words = false;
    std::int32_t passes = 0;
    double work = 0;                    ///< operations of one pass of an invocation
    std::uint32_t whole_subgroups = 0;  ///< invocations of a workgroup of such; 0: the device plan's workgroups
};

Arithmetic chains_of(const char* type, int chains) {
    return {"limits_multiply_add", fmt::format("#define TYPE {}\n#define CHAINS {}\n", type, chains), type[0] == 'F',
            512, 2.0 * 16 * chains};
}

enum class Bytes8 { ints, floats, dot4, mixed_dot4 };

Arithmetic bytes_tile(Bytes8 as, int rows) {
    return {"limits_int8",
            fmt::format("#define AS_FLOAT {}\n#define DOT4 {}\n#define ROWS {}\n", int(as == Bytes8::floats),
                        as == Bytes8::dot4         ? 1
                        : as == Bytes8::mixed_dot4 ? 2
                                                   : 0,
                        rows),
            false, 8, 2.0 * 32 * 16 * rows};
}

std::vector<Arithmetic> bytes_tiles(const DevicePlan& device) {
    std::vector<Arithmetic> ways{bytes_tile(Bytes8::ints, 4), bytes_tile(Bytes8::ints, 8), bytes_tile(Bytes8::ints, 16),
                                 bytes_tile(Bytes8::floats, 4), bytes_tile(Bytes8::floats, 8)};
    const Bytes8 at_once = device.dot4_mixed ? Bytes8::mixed_dot4 : Bytes8::dot4;
    if (device.dot4) ways.insert(ways.end(), {bytes_tile(at_once, 4), bytes_tile(at_once, 8), bytes_tile(at_once, 16)});
    return ways;
}

/// None where the device has no such matrices.
std::vector<Arithmetic> matrices(const DevicePlan& device, const MatrixShape& shape, bool floats) {
    std::vector<Arithmetic> ways;
    if (!shape) return ways;
    const std::uint32_t subgroups = std::clamp(max_invocations / device.subgroup_size, 1u, 4u);
    for (const auto& [rows, columns] : {std::pair(2, 2), std::pair(4, 2), std::pair(4, 4)}) {
        ways.push_back({"limits_matrix",
                        fmt::format("#define FLOATS {}\n#define CM {}\n#define CN {}\n#define CK {}\n#define FR "
                                    "{}\n#define FC {}\n#define SUBGROUPS {}\n",
                                    int(floats), shape.m, shape.n, shape.k, rows, columns, subgroups),
                        false, 64, 2.0 * shape.m * shape.n * shape.k * rows * columns / device.subgroup_size,
                        subgroups * device.subgroup_size});
    }
    return ways;
}

Plan multiply_adds(const DevicePlan& device, const Arithmetic& way, std::int64_t invocations) {
    Plan plan;
    std::vector<std::int64_t> ints;
    std::vector<double> floats;
    for (int k = 0; k < 64; ++k) {
        ints.push_back(2 * k + 3);
        floats.push_back(0.5 + 0.4 * k / 64);  // sums converge instead of overflowing
    }
    plan.constants = way.float_words ? encode_reals(DType::fp32, floats) : encode_ints(DType::i32, ints);
    plan.arena_bytes = 4096;
    Dispatch& dispatch = plan.dispatches.emplace_back();
    dispatch.label = dispatch.kernel = way.kernel;
    dispatch.glsl = standalone_source(way.kernel, way.defines);
    dispatch.constants = {way.passes, static_cast<std::int32_t>(plan.arena_bytes / 16)};
    dispatch.bindings = {bound(Space::constants, 0, plan.constants.size(), false),
                         bound(Space::arena, 0, plan.arena_bytes, true)};
    dispatch.groups = linear_groups(invocations, device);
    if (way.whole_subgroups != 0) {
        dispatch.invocations = way.whole_subgroups;
        dispatch.subgroup_size = device.subgroup_size;
        dispatch.groups = spill_groups(invocations / way.whole_subgroups, device);
    }
    return plan;
}

/// The best of several ways; 0 of none.
double measure_arithmetic(const std::shared_ptr<Device>& device, const std::vector<Arithmetic>& ways) {
    constexpr double long_enough_ns = 4e6;
    double best = 0;
    for (const Arithmetic& way : ways) {
        std::int64_t invocations = 4096;
        const auto run = [&](double seconds, int least) {
            const Plan plan = multiply_adds(device->plan(), way, invocations);
            const double ns = best_times(device, plan, true, seconds, least).dispatch_ns[0];
            best = std::max(best, way.work * way.passes * static_cast<double>(invocations) / ns);
            return ns;
        };
        for (double ns = run(0, 2); ns < long_enough_ns && invocations < (std::int64_t{1} << 24); ns = run(0, 2))
            invocations *= ns < long_enough_ns / 8 ? 8 : 2;
        run(0.15, 5);  // on a busy machine one of many runs has the cores for itself
    }
    return best;
}

Plan idle_dispatches(std::size_t count) {
    Plan plan;
    plan.arena_bytes = 8192;
    for (std::size_t k = 0; k < count; ++k) {
        Dispatch& dispatch = plan.dispatches.emplace_back();
        dispatch.label = dispatch.kernel = "limits_copy";
        dispatch.glsl = standalone_source(dispatch.kernel, "#define WIDE 0\n#define TEXELS 0\n#define EACH 1\n");
        dispatch.constants = {1};
        dispatch.bindings = {bound(Space::arena, 0, 256, false), bound(Space::arena, 4096, 256, true)};
        dispatch.barrier_before = true;
    }
    return plan;
}

DeviceLimits measure(const std::shared_ptr<Device>& device) {
    DeviceLimits limits;
    limits.copy_gbytes_per_s = measure_copy(device);
    const auto chains = [](const char* type) {
        return std::vector{chains_of(type, 2), chains_of(type, 4), chains_of(type, 8)};
    };
    limits.fp32_gflops = measure_arithmetic(device, chains("FP32"));
    limits.int32_gops = measure_arithmetic(device, chains("INT32"));
    if (device->plan().has_fp16) limits.fp16_gflops = measure_arithmetic(device, chains("FP16"));
    limits.int8_gops = measure_arithmetic(device, bytes_tiles(device->plan()));
    limits.matrix_fp16_gflops =
        measure_arithmetic(device, matrices(device->plan(), device->plan().cooperative_fp16, true));
    limits.matrix_int8_gops =
        measure_arithmetic(device, matrices(device->plan(), device->plan().cooperative_i8, false));
    constexpr std::size_t many = 65;
    const double one_ns = best_times(device, idle_dispatches(1), false, 0.05, 20).wall_ns;
    const double many_ns = best_times(device, idle_dispatches(many), false, 0.05, 20).wall_ns;
    limits.submit_us = one_ns / 1e3;
    limits.dispatch_us = std::max(0.0, many_ns - one_ns) / 1e3 / static_cast<double>(many - 1);
    return limits;
}

/// Everything that the numbers depend on, beyond what the disk cache is for (device, driver and compiler).
Digest limits_key(const Device& device) {
    // Goes up when the same kernels come to be run or counted in another way.
    constexpr int revision = 2;
    // Capabilities take part: a pretended device plans with fewer of them.
    std::string text = fmt::format("limits {} {}\n{}\n", TOSAVK_VERSION_STRING, revision, caps_to_json(device.caps()));
    text += device.plan().has_fp16 ? "fp16\n" : "";
    text += device.plan().dot4 ? "dot4\n" : "";
    for (const ShaderFile& file : embedded_shaders()) {
        if (file.name.starts_with("limits_")) text += file.text;
    }
    return sha256(text);
}

/// The measured numbers, in the order in which they are stored.
constexpr std::array numbers = {
    &DeviceLimits::copy_gbytes_per_s, &DeviceLimits::fp32_gflops, &DeviceLimits::fp16_gflops,
    &DeviceLimits::int32_gops,        &DeviceLimits::int8_gops,   &DeviceLimits::matrix_fp16_gflops,
    &DeviceLimits::matrix_int8_gops,  &DeviceLimits::dispatch_us, &DeviceLimits::submit_us};

}  // namespace

std::vector<std::byte> limits_to_bytes(const DeviceLimits& limits) {
    std::array<double, numbers.size()> values{};
    for (std::size_t k = 0; k < numbers.size(); ++k) values[k] = limits.*numbers[k];
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

std::optional<DeviceLimits> limits_from_bytes(std::span<const std::byte> bytes) {
    std::array<double, numbers.size()> values{};
    if (bytes.size() != sizeof values) return std::nullopt;
    std::memcpy(values.data(), bytes.data(), sizeof values);
    DeviceLimits limits;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        if (!std::isfinite(values[k]) || values[k] < 0) return std::nullopt;
        limits.*numbers[k] = values[k];
    }
    // What every device has; the rest may be missing or too small to tell.
    const bool known =
        limits.copy_gbytes_per_s > 0 && limits.fp32_gflops > 0 && limits.int32_gops > 0 && limits.int8_gops > 0;
    return known ? std::optional(limits) : std::nullopt;
}

DeviceLimits measure_limits(const std::shared_ptr<Device>& device, bool anew) {
    static std::mutex mutex;
    static std::map<Digest, DeviceLimits> known;
    PipelineLibrary& library = device->state().pipelines;
    const Digest in_file = limits_key(*device), in_process = sha256(hex(in_file) + library.identity());
    const std::lock_guard lock(mutex);
    if (!anew) {
        if (const auto found = known.find(in_process); found != known.end()) return found->second;
        const auto stored = library.stored(DiskCache::Kind::limits, in_file);
        if (std::optional<DeviceLimits> limits = stored ? limits_from_bytes(*stored) : std::nullopt) {
            limits->stored = true;
            return known[in_process] = *limits;
        }
    }
    const DeviceLimits limits = measure(device);
    library.store(DiskCache::Kind::limits, in_file, limits_to_bytes(limits));
    return known[in_process] = limits;
}

}  // namespace tosavk
