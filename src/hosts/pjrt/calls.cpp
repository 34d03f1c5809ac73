// The plug-in's entry, errors and events.
#include "hosts/pjrt/calls.hpp"

#include <cstddef>
#include <utility>

namespace tosavk::pjrt {

Error no_memory{Code::resource_exhausted, {}};

namespace {

// ---- what the runtime expects of the declarations -------------------------------------------------------------------

static_assert(sizeof(Api) > 976 && offsetof(Api, functions) == 40);
static_assert(sizeof(NamedValue) == 56 && sizeof(Program) == 48 && sizeof(Layout) == 80);
static_assert(offsetof(NamedValue, type) == 32 && offsetof(NamedValue, size) == 48 && offsetof(Layout, type) == 72);
static_assert(offsetof(MemoryStatistics, in_use) == 24 && offsetof(MemoryStatistics, limit) == 80 &&
              offsetof(MemoryStatistics, pool) == 160 && offsetof(MemoryStatistics, peak_allocated) == 192);
static_assert(offsetof(CompiledMemory, peak) == 104 && offsetof(CompiledMemory, total) == 112);
static_assert(sizeof(ViewOfMemory) == 112 && offsetof(ViewOfMemory, memory) == 104);
static_assert(offsetof(ExecuteOptions, not_donated) == 56);

// ---- errors ---------------------------------------------------------------------------------------------------------

Error* error_destroy(void* arguments) noexcept {
    const Error* error = static_cast<Ask<Error, int>*>(arguments)->self;
    if (error != &no_memory) delete error;
    return nullptr;
}

Error* error_message(void* arguments) noexcept {
    auto& args = *static_cast<ErrorMessage*>(arguments);
    args.text = args.error->sentence.empty() ? Text{"out of memory", 13} : text_of(args.error->sentence);
    return nullptr;
}

void error_code(ErrorCode& args) { args.code = static_cast<std::int32_t>(args.error->code); }

// ---- the plug-in ----------------------------------------------------------------------------------------------------

void plugin_initialize(Head&) {}

void plugin_attributes(PluginAttributes& args) {
    static constexpr std::int64_t current[] = {1, 20, 0}, minimum[] = {0, 9, 0};
    static const std::vector<NamedValue> values = [] {
        std::vector<NamedValue> list(3);
        for (NamedValue& value : list) value.head = {sizeof(NamedValue), nullptr};
        list[0].name = {"xla_version", 11};
        list[0].type = static_cast<std::int32_t>(NamedType::integer);
        list[0].integer = 2;
        list[0].size = 1;
        list[1].name = {"stablehlo_current_version", 25};
        list[1].integers = current;
        list[2].name = {"stablehlo_minimum_version", 25};
        list[2].integers = minimum;
        for (const std::size_t k : {1, 2}) {
            list[k].type = static_cast<std::int32_t>(NamedType::integers);
            list[k].size = 3;
        }
        return list;
    }();
    args.values = list_of(values);
}

// ---- events ---------------------------------------------------------------------------------------------------------

void event_destroy(Only<EventHandle>& args) { delete args.self; }
void event_is_ready(Ask<EventHandle, bool>& args) { args.value = args.self->event->is_done(); }

void raise(const std::optional<Error>& error) {
    if (error) throw Failure(error->code, error->sentence);
}
void event_error(Only<EventHandle>& args) { raise(args.self->event->error()); }
void event_await(Only<EventHandle>& args) { raise(args.self->event->await()); }

void event_on_ready(OnReady& args) {
    args.event->event->on_ready([callback = args.callback, user = args.user](const std::optional<Error>& error) {
        callback(error ? new Error(*error) : nullptr, user);
    });
}

// ---- what is not there ----------------------------------------------------------------------------------------------

template <std::size_t Place> void not_there(Head&) {
    if constexpr (Place == 73 || Place == 74 || Place == 76)  // of others that read an array where it lies, as DLPack
        throw Failure(Code::unimplemented,
                      "the memory of an array on tosavk is a Vulkan buffer, which has no address; take "
                      "numpy.asarray(array), or tosavk.from_jax(array), which shares the buffer");
    throw Failure(Code::unimplemented, "tosa-vk does not have function " + std::to_string(Place) + " of PJRT's API");
}

template <std::size_t... Places> void set_missing(Api& api, std::index_sequence<Places...>) {
    (set<not_there<Places>>(api, Places), ...);
}

}  // namespace

void set_error_calls(Api& api) {
    api.functions[0] = error_destroy;
    api.functions[1] = error_message;
    set<error_code>(api, 2);
    set<plugin_initialize>(api, 3);
    set<plugin_attributes>(api, 4);
    set<event_destroy>(api, 5);
    set<event_is_ready>(api, 6);
    set<event_error>(api, 7);
    set<event_await>(api, 8);
    set<event_on_ready>(api, 9);
}

namespace {

Api make_api() {
    Api api{};
    api.struct_size = offsetof(Api, functions) + function_count * sizeof(Api::Function);
    api.version = {sizeof api.version, nullptr, api_major, api_minor};
    set_missing(api, std::make_index_sequence<function_count>());
    set_error_calls(api);
    set_client_calls(api);
    set_buffer_calls(api);
    set_executable_calls(api);
    set_exchange_calls(api);
    return api;
}

}  // namespace

}  // namespace tosavk::pjrt

extern "C" {

__attribute__((visibility("default"))) const tosavk::pjrt::Api* GetPjrtApi() {
    static const tosavk::pjrt::Api api = tosavk::pjrt::make_api();
    return &api;
}

/// What the process has done through the plug-in, as JSON: the bytes of it with the NUL, of which `size` are written.
__attribute__((visibility("default"))) std::size_t tosavk_pjrt_get_counters(char* text, std::size_t size) {
    const auto& c = tosavk::pjrt::counters;
    const std::string json =
        "{\"compilations\": " + std::to_string(c.compilations) + ", \"lowerings\": " + std::to_string(c.lowerings) +
        ", \"restored\": " + std::to_string(c.restored) +
        ", \"shaders_compiled\": " + std::to_string(c.shaders_compiled) +
        ", \"executions\": " + std::to_string(c.executions) + ", \"dispatches\": " + std::to_string(c.dispatches) +
        ", \"submits\": " + std::to_string(c.submits) + ", \"uploads\": " + std::to_string(c.uploads) +
        ", \"downloads\": " + std::to_string(c.downloads) + ", \"allocations\": " + std::to_string(c.allocations) +
        ", \"donations\": " + std::to_string(c.donations) + "}";
    if (size != 0) text[json.copy(text, size - 1)] = '\0';
    return json.size() + 1;
}
}
