// Executables and contexts of the C ABI: compiling, binding, running, counting.
#include "api/open_model.hpp"
#include "api/package.hpp"
#include "api/pipelines.hpp"
#include "graph/host_values.hpp"
#include "spirv/glslang.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>

using namespace tosavk;
using namespace tosavk::api;

namespace {

/// Every dispatch's shader, those of regions after all others; a source that several dispatches share stands once.
std::string print_glsl(const Plan& plan) {
    std::string text;
    std::map<std::string, std::size_t> seen;
    std::size_t count = 0;
    for_each_dispatch(plan, [&](const Dispatch& dispatch) {
        const std::size_t k = count++;
        text += fmt::format("// dispatch {}: {} ({}), groups {}x{}x{}", k, dispatch.label, dispatch.kernel,
                            dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
        if (!dispatch.constants.empty())
            text += fmt::format(", specialization constants {}", fmt::join(dispatch.constants, " "));
        if (!dispatch.pushed.empty()) text += fmt::format(", push constants {}", fmt::join(dispatch.pushed, " "));
        if (dispatch.glsl.empty()) {
            text += dispatch.spirv ? "\n// a custom operator's SPIR-V kernel\n\n" : "\n// no shader\n\n";
            return;
        }
        const auto [first, fresh] = seen.emplace(dispatch.glsl, k);
        if (fresh) text += "\n" + dispatch.glsl + "\n";
        else text += fmt::format("\n// the source of dispatch {}\n\n", first->second);
    });
    return text;
}

/// What the caller passes for an input or output must have its size.
void check_size(const Value& value, std::uint32_t index, std::size_t size_bytes, const char* what) {
    const std::size_t wanted = static_cast<std::size_t>(element_count(value.shape)) * size_of(value.type);
    if (size_bytes != wanted) {
        throw Error(ErrorCode::bad_input,
                    fmt::format("{} {} '{}' ({} {}) has {} bytes, not {}", what, index, value.name, name_of(value.type),
                                to_string(value.shape), wanted, size_bytes));
    }
}

/// The same where the caller has its elements as `type`.
void check_size(const Value& value, std::uint32_t index, HostType type, std::size_t size_bytes, const char* what) {
    const bool words = value.declared == HostKind::u64_words || value.declared == HostKind::i64_words;
    const std::size_t wanted = static_cast<std::size_t>(element_count(value.shape)) / (words ? 2 : 1) * type.bytes();
    if (size_bytes == wanted) return;
    throw Error(ErrorCode::bad_input, fmt::format("{} {} '{}' ({}) has {} bytes as {}, not {}", what, index, value.name,
                                                  to_string(value.shape), wanted, type.name(), size_bytes));
}

/// Output `index` of the last finished run, which there must be.
const Value& output_value(const tosavk_context& context, std::uint32_t index) {
    if (!context.executable) throw Error(ErrorCode::usage, "no finished run has left outputs in this context");
    const Graph& graph = context.executable->graph();
    return end_value(graph, graph.outputs, index, "output");
}

void set_input(tosavk_context& context, std::uint32_t index, std::span<const std::byte> bytes) {
    if (context.open) {
        context.open->set_input(index, {bytes.begin(), bytes.end()});
    } else {
        context.context->set_input(index, bytes);
        context.input_set[index] = true;
    }
}

/// By what the first operator reads: what follows it takes a small part of the work.
tosavk_arithmetic arithmetic_of(const Graph& graph, const Dispatch& dispatch, const DevicePlan& device) {
    if (dispatch.nodes.empty()) return TOSAVK_ARITHMETIC_FP32;
    const Node& node = graph.node(dispatch.nodes.front());
    if (node.inputs.empty()) return TOSAVK_ARITHMETIC_FP32;
    const DType type = graph.value(node.inputs.front()).type;
    if (dispatch.kernel == "gemm_cooperative")
        return is_float(type) ? TOSAVK_ARITHMETIC_MATRIX_FP16 : TOSAVK_ARITHMETIC_MATRIX_INT8;
    if (type == DType::fp16 && (device.half_roundings || (graph.fast_fp16 && device.has_fp16)))
        return TOSAVK_ARITHMETIC_FP16;
    if (is_float(type)) return TOSAVK_ARITHMETIC_FP32;
    const bool products = node.op == Op::conv2d || node.op == Op::conv3d || node.op == Op::depthwise_conv2d ||
                          node.op == Op::transpose_conv2d || node.op == Op::matmul;
    return products && type == DType::i8 ? TOSAVK_ARITHMETIC_INT8 : TOSAVK_ARITHMETIC_INT32;
}

}  // namespace

tosavk_context::tosavk_context(std::shared_ptr<tosavk::Executable> made_for, bool profile)
    : executable(std::move(made_for)),
      context(std::make_unique<tosavk::Context>(executable, profile)),
      input_set(executable->graph().inputs.size(), false) {}

tosavk_context::tosavk_context(std::unique_ptr<OpenContext> open_model) : open(std::move(open_model)) {}

tosavk_context::~tosavk_context() = default;

namespace tosavk::api {

void require_idle(const tosavk_context& context, const char* what) {
    if (context.running())
        throw Error(ErrorCode::usage, fmt::format("the context is running; wait for it before {}", what));
}

Value input_value(const tosavk_context& context, std::uint32_t index) {
    if (context.open) return context.open->input(index);
    const Graph& graph = context.executable->graph();
    return end_value(graph, graph.inputs, index, "input");
}

void submit(tosavk_context& context, RunRequest request) {
    if (context.running())
        throw Error(ErrorCode::usage, "the context is already running; wait for it before the next submit");
    if (context.open) context.open->prepare(context);
    for (std::size_t k = 0; k < context.input_set.size(); ++k) {
        const Graph& graph = context.executable->graph();
        if (!context.input_set[k] && !has_no_elements(graph.value(graph.inputs[k]).shape))
            throw Error(ErrorCode::usage, fmt::format("input {} was never set", k));
    }
    context.context->submit(std::move(request));
}

bool wait(tosavk_context& context, std::uint64_t timeout_ns) {
    if (!context.running()) throw Error(ErrorCode::usage, "nothing was submitted that could be waited for");
    return context.context->wait(timeout_ns);
}

}  // namespace tosavk::api

tosavk_status tosavk_compile(tosavk_device* device, const tosavk_graph* graph, const tosavk_compile_options* options,
                             tosavk_executable** executable, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(graph, "graph");
        call.require(executable, "executable");
        PackageUse use{};
        Progress progress(progress_listener(options));
        const ProgressScope scope(progress);
        auto made = make_executable(*device, *graph, plan_options(options), use, progress);
        *executable = new tosavk_executable{std::move(made), static_cast<std::uint64_t>(use)};
    });
}

tosavk_status tosavk_executable_print(const tosavk_executable* executable, int32_t kind, tosavk_text** text,
                                      tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(executable, "executable");
        call.require(text, "text");
        const Executable& compiled = *executable->executable;
        switch (kind) {
            case TOSAVK_EXECUTABLE_PLAN: *text = make_text(print_plan(compiled.graph(), compiled.plan())); return;
            case TOSAVK_EXECUTABLE_GLSL: *text = make_text(print_glsl(compiled.plan())); return;
            case TOSAVK_EXECUTABLE_PIPELINES: *text = make_text(pipelines_json(compiled, false)); return;
            case TOSAVK_EXECUTABLE_ACCESSES: *text = make_text(accesses_json(compiled)); return;
            case TOSAVK_EXECUTABLE_ASSEMBLY: *text = make_text(pipelines_json(compiled, true)); return;
            default: throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_executable_text", kind));
        }
    });
}

void tosavk_executable_release(tosavk_executable* executable) { delete executable; }

tosavk_status tosavk_context_create(tosavk_executable* executable, const tosavk_context_options* options,
                                    tosavk_context** context, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(executable, "executable");
        call.require(context, "context");
        const tosavk_context_options given = read_struct(options, "tosavk_context_options");
        require_zero(given.reserved, "tosavk_context_options.reserved");
        auto made = std::make_unique<tosavk_context>(executable->executable, is_set(given.profile, "profile"));
        made->package = executable->package;
        *context = made.release();
    });
}

tosavk_status tosavk_context_set_input(tosavk_context* context, uint32_t index, const void* data, size_t size_bytes,
                                       tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        if (size_bytes > 0) call.require(data, "data");
        check_size(input_value(*context, index), index, size_bytes, "input");
        require_idle(*context, "setting an input");
        set_input(*context, index, {static_cast<const std::byte*>(data), size_bytes});
    });
}

tosavk_status tosavk_context_set_input_as(tosavk_context* context, uint32_t index, int32_t type, const void* data,
                                          size_t size_bytes, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        if (size_bytes > 0) call.require(data, "data");
        const HostType from = host_type(type);
        const Value value = input_value(*context, index);
        check_size(value, index, from, size_bytes, "input");
        require_idle(*context, "setting an input");
        const std::vector<std::byte> bytes =
            convert_values({static_cast<const std::byte*>(data), size_bytes}, from,
                           stored_type(value.type, value.declared), fmt::format("input {} '{}'", index, value.name));
        set_input(*context, index, bytes);
    });
}

tosavk_status tosavk_context_run(tosavk_context* context, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        submit(*context);
        wait(*context, UINT64_MAX);
    });
}

tosavk_status tosavk_context_submit(tosavk_context* context, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        submit(*context);
    });
}

tosavk_status tosavk_context_wait(tosavk_context* context, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        wait(*context, UINT64_MAX);
    });
}

tosavk_status tosavk_context_wait_for(tosavk_context* context, uint64_t timeout_ns, int32_t* finished,
                                      tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        call.require(finished, "finished");
        *finished = wait(*context, timeout_ns) ? 1 : 0;
    });
}

tosavk_status tosavk_context_get_output(tosavk_context* context, uint32_t index, void* data, size_t size_bytes,
                                        tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        if (size_bytes > 0) call.require(data, "data");
        check_size(output_value(*context, index), index, size_bytes, "output");
        if (!context->has_result()) throw Error(ErrorCode::usage, "no finished run has left outputs in this context");
        context->context->get_output(index, {static_cast<std::byte*>(data), size_bytes});
    });
}

tosavk_status tosavk_context_get_output_as(tosavk_context* context, uint32_t index, int32_t type, void* data,
                                           size_t size_bytes, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        if (size_bytes > 0) call.require(data, "data");
        const HostType to = host_type(type);
        const Value& value = output_value(*context, index);
        check_size(value, index, to, size_bytes, "output");
        if (!context->has_result()) throw Error(ErrorCode::usage, "no finished run has left outputs in this context");
        std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(value.shape)) * size_of(value.type));
        context->context->get_output(index, bytes);
        const HostType from = stored_type(value.type, value.declared);
        const bool same = from.kind == to.kind && from.type == to.type;  // as it is, whatever went in
        const std::vector<std::byte> converted =
            same ? bytes : convert_values(bytes, from, to, fmt::format("output {} '{}'", index, value.name));
        if (!converted.empty()) std::memcpy(data, converted.data(), converted.size());
    });
}

tosavk_status tosavk_context_counters(const tosavk_context* context, tosavk_counters* counters, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        call.require(counters, "counters");
        tosavk_counters result{};
        if (!context->executable) return write_struct(counters, result, "tosavk_counters");
        const Plan& plan = context->executable->plan();
        const ExecutableCounters shared = context->executable->counters();
        const ContextCounters own = context->context->counters();
        result.runs = own.runs;
        result.submits = own.submits;
        result.dispatches = plan.dispatches.size();
        result.allocations = shared.allocations + own.allocations;
        result.pipelines_created = shared.pipelines_created;
        result.weight_bytes_copied = shared.weight_bytes_copied;
        result.arena_bytes = plan.arena_bytes;
        result.constant_bytes = plan.constants.size();
        result.peak_lower_bound_bytes = plan.peak_lower_bound;
        result.shaders_compiled = shared.shaders_compiled;
        result.shaders_loaded = shared.shaders_loaded;
        result.compiler_started = glslang_initialised() ? 1 : 0;
        result.host_copies = own.host_copies;
        result.buffer_copies = own.buffer_copies;
        result.external_bytes = plan.external_bytes;
        result.package = context->package;
        write_struct(counters, result, "tosavk_counters");
    });
}

uint32_t tosavk_context_dispatch_count(const tosavk_context* context) {
    if (!context || !context->executable) return 0;
    return static_cast<uint32_t>(context->executable->plan().dispatches.size());
}

tosavk_status tosavk_context_dispatch(const tosavk_context* context, uint32_t index, tosavk_dispatch_info* info,
                                      tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        call.require(info, "info");
        if (!context->executable)
            throw Error(ErrorCode::usage, "there are no dispatches before the inputs' shapes are known");
        const Plan& plan = context->executable->plan();
        if (index >= plan.dispatches.size()) {
            throw Error(ErrorCode::usage,
                        fmt::format("there is no dispatch {}; the plan has {}", index, plan.dispatches.size()));
        }
        const Dispatch& dispatch = plan.dispatches[index];
        const std::vector<double> times =
            context->has_result() ? context->context->dispatch_ns() : std::vector<double>();
        tosavk_dispatch_info result{};
        result.label = dispatch.label.c_str();
        result.kernel = dispatch.kernel.c_str();
        result.gpu_ns = index < times.size() ? times[index] : 0;
        result.work = dispatch.work;
        result.bytes = dispatch.bytes;
        const tosavk_arithmetic arithmetic =
            arithmetic_of(context->executable->graph(), dispatch, context->executable->device().plan());
        const bool is_float = arithmetic == TOSAVK_ARITHMETIC_FP32 || arithmetic == TOSAVK_ARITHMETIC_FP16 ||
                              arithmetic == TOSAVK_ARITHMETIC_MATRIX_FP16;
        result.is_integer = is_float ? 0 : 1;
        result.arithmetic = arithmetic;
        write_struct(info, result, "tosavk_dispatch_info");
    });
}

tosavk_status tosavk_context_reset_variables(tosavk_context* context, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        require_idle(*context, "resetting its variables");
        if (context->context) context->context->reset_variables();
    });
}

void tosavk_context_release(tosavk_context* context) { delete context; }
