// Programs and their runs.
#include "hosts/pjrt/calls.hpp"
#include "hosts/pjrt/executable.hpp"

namespace tosavk::pjrt {

namespace {

std::string_view view_of(Text text) {
    return text.size == 0 ? std::string_view() : std::string_view(text.data, text.size);
}

void client_compile(Compile& args) {
    const std::string_view format = view_of(args.program->format);
    if (format != "mlir") {
        throw Failure(Code::invalid_argument,
                      "a program of format '" + std::string(format) + "' is given, but StableHLO ('mlir') is wanted");
    }
    args.executable = new LoadedExecutable{compile(*args.client, view_of(args.program->code), view_of(args.options))};
}

// ---- executables ----------------------------------------------------------------------------------------------------

void executable_destroy(Only<ExecutableHandle>& args) { delete args.self; }
void name(Ask<ExecutableHandle, Text>& args) { args.value = text_of(args.self->compiled->name); }
void one(Ask<ExecutableHandle, std::size_t>& args) { args.value = 1; }
void output_count(Ask<ExecutableHandle, std::size_t>& args) { args.value = args.self->compiled->results.size(); }
void code_size(Ask<ExecutableHandle, std::int64_t>& args) { args.value = args.self->compiled->constant_bytes; }

void cost_analysis(CostAnalysis& args) {
    args.count = args.executable->compiled->costs.size();
    args.values = args.executable->compiled->costs.data();
}

void output_types(Ask<ExecutableHandle, List<const std::int32_t>>& args) {
    args.value = list_of(args.self->compiled->result_kinds);
}

void output_dimensions(OutputDimensions& args) {
    const Compiled& compiled = *args.executable->compiled;
    args.count = compiled.results.size();
    args.dims = compiled.result_dims.data();
    args.ranks = compiled.result_ranks.data();
}

void fingerprint(Ask<ExecutableHandle, Text>& args) { args.value = text_of(args.self->compiled->fingerprint); }

void compiled_memory(CompiledMemory& args) {
    const Compiled& compiled = *args.executable->compiled;
    args.code = compiled.constant_bytes;
    args.arguments = compiled.argument_bytes;
    args.results = compiled.result_bytes;
    args.aliases = compiled.alias_bytes;
    args.temporary = compiled.temporary_bytes;
    args.host_code = args.host_arguments = args.host_results = args.host_aliases = args.host_temporary = 0;
    const std::int64_t all = args.arguments + args.results - args.aliases + args.temporary;
    if (reaches(args.head, offsetof(CompiledMemory, total))) args.peak = all;
    if (reaches(args.head, offsetof(CompiledMemory, late))) args.total = all;
    for (std::size_t k = 0; k < 3; ++k)
        if (reaches(args.head, offsetof(CompiledMemory, late) + 8 * (k + 1))) args.late[k] = 0;
}

// ---- serialized -----------------------------------------------------------------------------------------------------

void serialize(Serialize<ExecutableHandle>& args) {
    auto bytes = std::make_unique<std::string>(write_image(args.self->compiled->image()));
    args.bytes = text_of(*bytes);
    args.deleter = [](void* holder) { delete static_cast<std::string*>(holder); };
    args.holder = bytes.release();
}

void deserialize(Deserialize& args) {
    const bool has_options = reaches(args.head, sizeof(Deserialize)) && args.options.size != 0;
    std::optional<std::string_view> options;
    if (has_options) options = view_of(args.options);
    args.executable = new LoadedExecutable{restore(*args.client, view_of(args.bytes), options)};
}

// ---- loaded executables ---------------------------------------------------------------------------------------------

void loaded_destroy(Only<LoadedExecutable>& args) { delete args.self; }
void get_executable(Ask<LoadedExecutable, ExecutableHandle*>& args) {
    args.value = new ExecutableHandle{args.self->compiled};
}
void loaded_devices(Ask<LoadedExecutable, List<Device* const>>& args) {
    args.value = {args.self->compiled->device.self, 1};
}
void loaded_delete(Only<LoadedExecutable>& args) { args.self->is_deleted = true; }
void loaded_is_deleted(Ask<LoadedExecutable, bool>& args) { args.value = args.self->is_deleted; }
void loaded_fingerprint(Ask<LoadedExecutable, Text>& args) { args.value = text_of(args.self->compiled->fingerprint); }

void device_assignment(Serialize<LoadedExecutable>& args) {
    auto bytes = std::make_unique<std::string>(assignment_of(args.self->compiled->device.id));
    args.bytes = text_of(*bytes);
    args.deleter = [](void* holder) { delete static_cast<std::string*>(holder); };
    args.holder = bytes.release();
}

void run(Execute& args) {
    if (args.executable->is_deleted) throw Failure(Code::invalid_argument, "the executable has been deleted");
    if (args.device_count != 1)
        throw Failure(Code::unimplemented,
                      "a run on " + std::to_string(args.device_count) + " devices at once is not supported");
    if (args.options != nullptr && (args.options->send_count != 0 || args.options->receive_count != 0))
        throw Failure(Code::unimplemented, "programs that send to the host or receive from it are not supported");
    List<const std::int64_t> kept{nullptr, 0};
    if (args.options != nullptr) kept = args.options->not_donated;
    const std::span<Buffer* const> arguments(args.argument_count == 0 ? nullptr : args.arguments[0],
                                             args.argument_count);
    std::shared_ptr<Event> done;
    auto results = execute(args.executable->compiled, arguments, {kept.data, kept.count}, done);
    EventHandle* event = args.events != nullptr ? handle_of(std::move(done)) : nullptr;
    if (event != nullptr) args.events[0] = event;
    for (std::size_t k = 0; k < results.size(); ++k) args.results[0][k] = results[k].release();
}

}  // namespace

void set_executable_calls(Api& api) {
    set<client_compile>(api, 20);
    set<executable_destroy>(api, 40);
    set<name>(api, 41);
    set<one>(api, 42);
    set<one>(api, 43);
    set<output_count>(api, 44);
    set<code_size>(api, 45);
    set<cost_analysis>(api, 46);
    set<serialize>(api, 49);
    set<loaded_destroy>(api, 50);
    set<get_executable>(api, 51);
    set<loaded_devices>(api, 52);
    set<loaded_delete>(api, 53);
    set<loaded_is_deleted>(api, 54);
    set<run>(api, 55);
    set<deserialize>(api, 56);
    set<loaded_fingerprint>(api, 57);
    set<output_types>(api, 90);
    set<output_dimensions>(api, 91);
    set<fingerprint>(api, 94);
    set<compiled_memory>(api, 96);
    set<device_assignment>(api, 117);
}

}  // namespace tosavk::pjrt
