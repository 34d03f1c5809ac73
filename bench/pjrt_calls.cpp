// What a warm call costs inside the PJRT plug-in, which here no Python calls: the nine functions that JAX calls for a
// program of one argument and one result, and the wait for that, against submit and wait of the same graph on buffers
// that stay bound. Not part of the build; scripts/jax-times builds and runs it.
//
//   pjrt_calls libtosavk_pjrt.so ELEMENTS RUNS      fp32, ten elementwise operators
#include "hosts/pjrt/interface.hpp"

#include <tosavk/run.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace tv = tosavk::cpp;
using namespace tosavk::pjrt;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begun) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
}

/// Places in the plug-in's table.
enum class Function : std::size_t {
    error_message = 1,
    event_destroy = 5,
    event_await = 8,
    event_on_ready = 9,
    client_create = 10,
    client_destroy = 11,
    devices = 15,
    compile = 20,
    from_host = 22,
    memory_kind = 36,
    output_count = 44,
    executable_destroy = 40,
    loaded_destroy = 50,
    get_executable = 51,
    execute = 55,
    buffer_destroy = 58,
    buffer_device = 65,
    buffer_memory = 66,
    buffer_is_deleted = 68,
    ready_event = 72,
};

class Plugin {
public:
    explicit Plugin(const char* path) {
        void* library = dlopen(path, RTLD_NOW);
        if (library == nullptr) throw std::runtime_error(dlerror());
        const auto entry = reinterpret_cast<const Api* (*)()>(dlsym(library, "GetPjrtApi"));
        if (entry == nullptr) throw std::runtime_error("it is no PJRT plug-in");
        api_ = entry();
    }
    template <class Arguments> void call(Function function, Arguments& arguments) const {
        arguments.head = {sizeof arguments, nullptr};
        const auto place = static_cast<std::size_t>(function);
        if (Error* error = api_->functions[place](&arguments)) {
            ErrorMessage message{{sizeof(ErrorMessage), nullptr}, error, {}};
            api_->functions[static_cast<std::size_t>(Function::error_message)](&message);
            throw std::runtime_error(std::string(message.text.data, message.text.size));
        }
    }
    template <class V, class T> V ask(Function function, T* object) const {
        Ask<T, V> arguments{};
        arguments.self = object;
        call(function, arguments);
        return arguments.value;
    }
    template <class T> void tell(Function function, T* object) const {
        Only<T> arguments{};
        arguments.self = object;
        call(function, arguments);
    }

private:
    const Api* api_;
};

std::string program_of(const std::string& elements) {
    const std::string type = "tensor<" + elements + "xf32>";
    std::string text = "module @ten {\n  func.func public @main(%0: " + type + ") -> " + type + " {\n";
    text += "    %c = stablehlo.constant dense<0.75> : " + type + "\n";
    static constexpr const char* operators[] = {"add",      "multiply", "maximum", "subtract", "minimum",
                                                "multiply", "add",      "maximum", "multiply", "subtract"};
    int last = 0;
    for (const char* name : operators) {
        text += "    %" + std::to_string(last + 1) + " = stablehlo." + name + " %" + std::to_string(last) +
                ", %c : " + type + "\n";
        ++last;
    }
    return text + "    return %" + std::to_string(last) + " : " + type + "\n  }\n}\n";
}

/// A program on the plug-in's first device, with its argument there.
struct Warm {
    Warm(const Plugin& of, const std::string& code, std::int64_t elements) : plugin(of) {
        ClientCreate created{};
        plugin.call(Function::client_create, created);
        client = created.client;
        Device* device = plugin.ask<List<Device* const>>(Function::devices, client).data[0];
        const Program program{{sizeof(Program), nullptr}, {code.data(), code.size()}, {"mlir", 4}};
        Compile compiled{};
        compiled.client = client;
        compiled.program = &program;
        plugin.call(Function::compile, compiled);
        loaded = compiled.executable;
        executable = plugin.ask<ExecutableHandle*>(Function::get_executable, loaded);
        const std::vector<float> zeros(static_cast<std::size_t>(elements));
        FromHost given{};
        given.client = client;
        given.data = zeros.data();
        given.type = static_cast<std::int32_t>(Kind::f32);
        given.dims = {&elements, 1};
        given.device = device;
        plugin.call(Function::from_host, given);
        plugin.tell(Function::event_destroy, given.done);
        argument = given.buffer;
        wait_for(argument);
    }
    ~Warm() {
        plugin.tell(Function::buffer_destroy, argument);
        plugin.tell(Function::executable_destroy, executable);
        plugin.tell(Function::loaded_destroy, loaded);
        plugin.tell(Function::client_destroy, client);
    }
    Warm(const Warm&) = delete;
    Warm& operator=(const Warm&) = delete;

    void wait_for(Buffer* buffer) const {
        auto* event = plugin.ask<EventHandle*>(Function::ready_event, buffer);
        plugin.tell(Function::event_await, event);
        plugin.tell(Function::event_destroy, event);
    }

    /// As JAX's runtime does it; the result before is dropped meanwhile.
    Buffer* run(Buffer* before) const {
        plugin.ask<bool>(Function::buffer_is_deleted, argument);
        plugin.ask<std::size_t>(Function::output_count, executable);
        Buffer* const arguments[] = {argument};
        Buffer* const* const lists[] = {arguments};
        Buffer* results[1] = {};
        Buffer** const result_lists[] = {results};
        EventHandle* events[1] = {};
        ExecuteOptions options{};
        options.head = {sizeof options, nullptr};
        Execute run{};
        run.executable = loaded;
        run.options = &options;
        run.arguments = lists;
        run.device_count = 1;
        run.argument_count = 1;
        run.results = result_lists;
        run.events = events;
        plugin.call(Function::execute, run);
        OnReady over{};
        over.event = events[0];
        over.callback = [](Error*, void*) {};
        plugin.call(Function::event_on_ready, over);
        plugin.tell(Function::event_destroy, events[0]);
        plugin.ask<Device*>(Function::buffer_device, results[0]);
        auto* memory = plugin.ask<Memory*>(Function::buffer_memory, results[0]);
        plugin.ask<Text>(Function::memory_kind, memory);
        if (before != nullptr) plugin.tell(Function::buffer_destroy, before);
        return results[0];
    }

    const Plugin& plugin;
    Client* client = nullptr;
    LoadedExecutable* loaded = nullptr;
    ExecutableHandle* executable = nullptr;
    Buffer* argument = nullptr;
};

void say(const char* what, std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    std::printf("%s best %.1f median %.1f\n", what, times.front(), times[times.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 4) return std::fputs("usage: pjrt_calls PLUGIN ELEMENTS RUNS\n", stderr), 2;
    const int runs = std::max(5, std::atoi(argv[3]));
    const std::string code = program_of(argv[2]);
    const Plugin plugin(argv[1]);
    const Warm warm(plugin, code, std::atoll(argv[2]));

    const tv::Device device;
    tv::LoadOptions load;
    load.level = TOSAVK_LEVEL_NONE;
    const tv::Graph graph =
        tv::Graph::load(std::span(reinterpret_cast<const std::byte*>(code.data()), code.size()), load);
    const tv::Executable executable(device, graph);
    tv::Context context(executable);
    tv::Buffer in(device, executable.input_binding(0).padded_bytes);
    tv::Buffer out(device, executable.output_binding(0).padded_bytes);
    in.fill(0, 0, in.info().size_bytes);
    context.bind_input(0, in, TOSAVK_BIND_PADDED);
    context.bind_output(0, out, TOSAVK_BIND_PADDED);

    std::vector<double> library, calls, started;
    Buffer* result = nullptr;
    for (int k = 0; k < runs; ++k) {  // in turns, so that other work on the machine meets both
        auto begun = Clock::now();
        context.submit();
        context.wait();
        library.push_back(microseconds_since(begun));
        begun = Clock::now();
        result = warm.run(result);
        started.push_back(microseconds_since(begun));
        warm.wait_for(result);
        calls.push_back(microseconds_since(begun));
    }
    plugin.tell(Function::buffer_destroy, result);
    say("submit and wait:       ", library);
    say("nine calls:            ", started);
    say("nine calls and wait:   ", calls);
    std::printf("ratio of bests %.2f, of medians %.2f\n", calls.front() / library.front(),
                calls[calls.size() / 2] / library[library.size() / 2]);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "pjrt_calls: %s\n", error.what());
    return 1;
}
