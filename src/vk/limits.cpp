// The kernels are run as plans of their own: no graph stands behind them.
#include "vk/limits.hpp"

#include "codegen/shader_files.hpp"
#include "graph/host_tensor.hpp"
#include "vk/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

namespace tosavk {

namespace {

using Clock = std::chrono::steady_clock;

std::string kernel_source(const std::string& kernel, const std::string& defines) {
    for (const ShaderFile& file : embedded_shaders()) {
        if (file.name != kernel + ".comp") continue;
        const std::size_t line = file.text.find('\n') + 1;  // behind #version
        return std::string(file.text.substr(0, line)) + defines + std::string(file.text.substr(line));
    }
    throw Error(ErrorCode::internal, fmt::format("there is no shader {}", kernel));
}

Binding bound(Space space, std::uint64_t offset, std::uint64_t size, bool written, ReadPath path = ReadPath::buffer) {
    return {{space, offset, size}, DType::fp32, written, "limits", path};
}

struct Times {
    double wall_ns = 0;                ///< submit and wait, the best run
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
    for (const auto& [wide, path] : {std::pair(false, ReadPath::buffer), std::pair(true, ReadPath::buffer), std::pair(false, ReadPath::texels)}) {
        if ((wide && !plan.int64) || (path == ReadPath::texels && !texels)) continue;
        for (const int each : {1, 4, 16}) {
            const auto stride = static_cast<std::int64_t>(bytes) / (wide ? 32 : 16) / each;
            Plan copies;
            copies.arena_bytes = 2 * bytes;
            for (const std::uint64_t from : {std::uint64_t{0}, bytes}) {
                Dispatch& dispatch = copies.dispatches.emplace_back();
                dispatch.label = dispatch.kernel = "limits_copy";
                dispatch.glsl = kernel_source(dispatch.kernel,
                                              fmt::format("#define WIDE {}\n#define TEXELS {}\n#define EACH {}\n", wide ? 1 : 0,
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

Plan multiply_adds(const DevicePlan& device, bool is_float, int chains, std::int32_t passes, std::int64_t invocations) {
    Plan plan;
    std::vector<std::int64_t> ints;
    std::vector<double> floats;
    for (int k = 0; k < 64; ++k) {
        ints.push_back(2 * k + 3);
        floats.push_back(0.5 + 0.4 * k / 64);  // sums converge instead of overflowing
    }
    plan.constants = is_float ? encode_reals(DType::fp32, floats) : encode_ints(DType::i32, ints);
    plan.arena_bytes = 4096;
    Dispatch& dispatch = plan.dispatches.emplace_back();
    dispatch.label = dispatch.kernel = "limits_multiply_add";
    dispatch.glsl = kernel_source(dispatch.kernel,
                                  fmt::format("#define IS_FLOAT {}\n#define CHAINS {}\n", is_float ? 1 : 0, chains));
    dispatch.constants = {passes, static_cast<std::int32_t>(plan.arena_bytes / 16)};
    dispatch.bindings = {bound(Space::constants, 0, plan.constants.size(), false),
                         bound(Space::arena, 0, plan.arena_bytes, true)};
    dispatch.groups = linear_groups(invocations, device);
    return plan;
}

double measure_arithmetic(const std::shared_ptr<Device>& device, bool is_float) {
    constexpr std::int32_t passes = 512;
    constexpr double long_enough_ns = 4e6;
    double best = 0;
    for (const int chains : {2, 4, 8}) {
        std::int64_t invocations = 4096;
        const auto run = [&](double seconds, int least) {
            const Plan plan = multiply_adds(device->plan(), is_float, chains, passes, invocations);
            const double ns = best_times(device, plan, true, seconds, least).dispatch_ns[0];
            const double work = 2.0 * 16 * chains * passes * static_cast<double>(invocations);
            best = std::max(best, work / ns);
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
        dispatch.glsl = kernel_source(dispatch.kernel, "#define WIDE 0\n#define TEXELS 0\n#define EACH 1\n");
        dispatch.constants = {1};
        dispatch.bindings = {bound(Space::arena, 0, 256, false), bound(Space::arena, 4096, 256, true)};
        dispatch.barrier_before = true;
    }
    return plan;
}

DeviceLimits measure(const std::shared_ptr<Device>& device) {
    DeviceLimits limits;
    limits.copy_gbytes_per_s = measure_copy(device);
    limits.fp32_gflops = measure_arithmetic(device, true);
    limits.int32_gops = measure_arithmetic(device, false);
    constexpr std::size_t many = 65;
    const double one_ns = best_times(device, idle_dispatches(1), false, 0.05, 20).wall_ns;
    const double many_ns = best_times(device, idle_dispatches(many), false, 0.05, 20).wall_ns;
    limits.submit_us = one_ns / 1e3;
    limits.dispatch_us = std::max(0.0, many_ns - one_ns) / 1e3 / static_cast<double>(many - 1);
    return limits;
}

}  // namespace

DeviceLimits measure_limits(const std::shared_ptr<Device>& device) {
    static std::mutex mutex;
    static std::map<std::string, DeviceLimits> known;
    const DeviceCaps& caps = device->caps();
    // Capabilities take part: a pretended device plans with fewer of them.
    const std::string key = caps_to_json(caps);
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    return known.emplace(key, measure(device)).first->second;
}

}  // namespace tosavk
