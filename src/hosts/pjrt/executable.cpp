#include "hosts/pjrt/executable.hpp"

#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <sys/stat.h>
#include <algorithm>
#include <map>

namespace tosavk::pjrt {

namespace {

constexpr std::size_t most_contexts = 4;  ///< runs of one executable that are under way at once

std::span<const std::byte> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Values of a program with their places among the tensors of its graph, which has none for tokens.
std::vector<ProgramValue> values_of(const nlohmann::json& list) {
    std::vector<ProgramValue> values;
    std::uint32_t next = 0;
    for (const auto& entry : list) {
        ProgramValue& value = values.emplace_back();
        value.first = next;
        const auto& name = entry.at("type").get_ref<const std::string&>();
        if (name == "token") continue;
        value.type = &type_named(name);
        value.dims = entry.at("shape").get<Dims>();
        value.elements = element_count(value.dims);
        const auto tensors = static_cast<std::uint32_t>(value.type->parts());
        value.count = value.elements == 0 ? 0 : tensors;
        next += tensors;
        if (entry.contains("alias")) value.alias = entry.at("alias").get<std::size_t>();
        value.is_donated = value.alias || entry.contains("donated");
    }
    return values;
}

/// The values are those tensors, by number and size.
template <class Info> bool are_tensors(const std::vector<ProgramValue>& values, std::uint32_t count, Info info) {
    std::uint32_t next = 0;
    for (const ProgramValue& value : values) {
        for (std::size_t part = 0; value.type && part < value.type->parts(); ++part, ++next)
            if (next >= count || info(next).size_bytes != value.elements * value.type->part_bytes) return false;
    }
    return next == count;
}

std::int64_t bytes_of(const std::vector<ProgramValue>& values) {
    std::int64_t sum = 0;
    for (const ProgramValue& value : values)
        if (value.type) sum += static_cast<std::int64_t>(value.elements * value.count * value.type->part_bytes);
    return sum;
}

/// Tells one build of the library from another of the same version, which may lower programs otherwise.
std::string library_build() {
    Dl_info library{};
    struct stat file{};
    if (::dladdr(reinterpret_cast<const void*>(&tosavk_version), &library) == 0 || !library.dli_fname ||
        ::stat(library.dli_fname, &file) != 0)
        return "";
    return std::to_string(file.st_size) + ' ' + std::to_string(file.st_mtim.tv_sec) + '.' +
           std::to_string(file.st_mtim.tv_nsec);
}

/// Of all that the executable depends on.
std::string fingerprint_of(const Device& device, std::string_view program, tosavk_precision precision) {
    static const std::string build = library_build();
    std::string all = cpp::version() + '\n' + build + '\n' + device.kind + '\n' + device.driver + '\n';
    all += std::to_string(precision) + (device.client->options.f64_as_f32 ? " f64_as_f32\n" : "\n");
    return digest_of(all += program);
}

/// Null where the cache has nothing of use: whatever is wrong with an entry, the program is compiled.
std::shared_ptr<Compiled> from_cache(Device& device, const std::string& key) {
    try {
        const auto bytes = device.client->cache.find(key);
        if (!bytes) return nullptr;
        Image image = read_image(*bytes);
        if (image.fingerprint != key || image.form != Image::Form::package) return nullptr;
        auto made = std::make_shared<Compiled>(device, std::move(image));
        if (made->was_planned_anew()) return nullptr;
        ++counters.restored;
        return made;
    } catch (...) {
        return nullptr;
    }
}

void keep(const Compiled& compiled) noexcept {
    try {
        const Image image = compiled.image();
        if (image.form == Image::Form::package) compiled.client->cache.keep(image.fingerprint, write_image(image));
    } catch (...) {}  // it is compiled again the next time
}

}  // namespace

Compiled::Compiled(Device& on, std::string code, tosavk_precision precision, std::string digest)
    : client(on.client->shared_from_this()),
      device(on),
      fingerprint(std::move(digest)),
      program_(std::move(code)),
      precision_(precision),
      facts_(cpp::describe(bytes_of(program_))) {
    read_interface();
    compile(program_);
    ++counters.compilations;
    device.enter(*this);
}

Compiled::Compiled(Device& on, Image image)
    : client(on.client->shared_from_this()),
      device(on),
      fingerprint(std::move(image.fingerprint)),
      program_(image.form == Image::Form::program ? std::move(image.content) : std::string()),
      precision_(image.precision),
      facts_(std::move(image.facts)) {
    read_interface();
    compile(image.form == Image::Form::program ? program_ : image.content);
    ++counters.compilations;
    device.enter(*this);
}

Compiled::~Compiled() { device.leave(*this); }

void Compiled::read_interface() {
    const auto facts = nlohmann::json::parse(facts_);
    if (facts.value("format", "") != "stablehlo") throw Failure(Code::invalid_argument, "the program is no StableHLO");
    name = facts.value("name", "");
    arguments = values_of(facts.at("arguments"));
    results = values_of(facts.at("results"));
    for (ProgramValue& argument : arguments) {
        if (!argument.alias) continue;
        if (*argument.alias >= results.size())
            throw Failure(Code::invalid_argument, "an argument is to become a result that is not there");
        alias_bytes += static_cast<std::int64_t>(argument.type ? argument.elements * argument.type->part_bytes : 0);
    }
    argument_bytes = bytes_of(arguments);
    result_bytes = bytes_of(results);
    fill_lists();
}

void Compiled::compile(std::string_view file) {
    idle_.reserve(most_contexts);
    // What gives nothing back, or nothing but empty arrays, is not run.
    if (std::all_of(results.begin(), results.end(), [](const ProgramValue& v) { return v.count == 0; })) return;
    cpp::LoadOptions load;
    load.level = TOSAVK_LEVEL_NONE;
    load.precision = precision_;
    load.f64_as_f32 = client->options.f64_as_f32;
    graph_.emplace(cpp::Graph::load(bytes_of(file), load));
    if (!program_.empty()) ++counters.lowerings;
    const bool fits =
        are_tensors(arguments, graph_->input_count(), [&](std::uint32_t k) { return graph_->input(k); }) &&
        are_tensors(results, graph_->output_count(), [&](std::uint32_t k) { return graph_->output(k); });
    if (!fits)
        throw Failure(Code::internal, "the graph of '" + name + "' has other inputs or outputs than its program");
    device.with_memory([&] { return &executable_.emplace(device.device, *graph_); });
    for (std::uint32_t k = 0; k < graph_->input_count(); ++k)
        padded_inputs_.push_back(executable_->input_binding(k).padded_bytes);
    for (std::uint32_t k = 0; k < graph_->output_count(); ++k)
        padded_outputs_.push_back(executable_->output_binding(k).padded_bytes);
    measure();
}

Image Compiled::image() const {
    Image image{facts_, fingerprint, device.id, precision_, Image::Form::nothing, {}};
    if (!graph_) return image;
    try {
        const std::vector<std::byte> package = cpp::save_package(device.device, *graph_);
        image.content.assign(reinterpret_cast<const char*>(package.data()), package.size());
        image.form = Image::Form::package;
    } catch (const cpp::Error& e) {
        if (e.status() != TOSAVK_ERROR_UNSUPPORTED || program_.empty()) throw;
        image.content = program_;
        image.form = Image::Form::program;
    }
    return image;
}

void Compiled::measure() {
    auto context = take_context();
    const tosavk_counters counted = context->counters();
    constant_bytes = static_cast<std::int64_t>(counted.constant_bytes);
    temporary_bytes = static_cast<std::int64_t>(counted.arena_bytes);
    counters.shaders_compiled += counted.shaders_compiled;
    package_ = counted.package;
    dispatches_ = context->dispatch_count();
    for (std::uint32_t k = 0; k < dispatches_; ++k) {
        const tosavk_dispatch_info info = context->dispatch(k);
        operations += info.work;
        bytes_accessed += info.bytes;
    }
    give_context(std::move(context));
    costs[0].real = static_cast<float>(operations);
    costs[1].real = static_cast<float>(bytes_accessed);
}

void Compiled::fill_lists() {
    for (const ProgramValue& result : results) {
        result_kinds.push_back(static_cast<std::int32_t>(result.type ? result.type->kind : Kind::token));
        result_dims.insert(result_dims.end(), result.dims.begin(), result.dims.end());
        result_ranks.push_back(result.dims.size());
    }
    const auto add = [&](std::string_view key, double number) {
        NamedValue& value = costs.emplace_back();
        value.head = {sizeof(NamedValue), nullptr};
        value.name = {key.data(), key.size()};
        value.type = static_cast<std::int32_t>(NamedType::real);
        value.real = static_cast<float>(number);
        value.size = 1;
    };
    add("flops", operations);
    add("bytes accessed", bytes_accessed);
}

std::unique_ptr<cpp::Context> Compiled::take_context() {
    {
        std::unique_lock lock(mutex_);
        returns_.wait(lock, [&] { return !idle_.empty() || contexts_ < most_contexts; });
        if (!idle_.empty()) {
            auto context = std::move(idle_.back());
            idle_.pop_back();
            return context;
        }
        ++contexts_;
    }
    try {
        return device.with_memory([&] { return std::make_unique<cpp::Context>(*executable_); });
    } catch (...) {
        give_context(nullptr);
        throw;
    }
}

void Compiled::give_context(std::unique_ptr<cpp::Context> context) noexcept {
    const std::lock_guard lock(mutex_);
    if (context) idle_.push_back(std::move(context));
    else --contexts_;
    returns_.notify_one();
}

void Compiled::free_idle() noexcept {
    std::vector<std::unique_ptr<cpp::Context>> freed;  // without the lock
    const std::lock_guard lock(mutex_);
    contexts_ -= idle_.size();
    freed.swap(idle_);
    idle_.reserve(most_contexts);
}

std::uint32_t Compiled::input_flags(std::uint32_t index, std::uint64_t size_bytes) const {
    return padded_inputs_[index] <= size_bytes ? std::uint32_t{TOSAVK_BIND_PADDED} : 0u;
}

std::uint32_t Compiled::output_flags(std::uint32_t index, std::uint64_t size_bytes) const {
    return padded_outputs_[index] <= size_bytes ? std::uint32_t{TOSAVK_BIND_PADDED} : 0u;
}

std::shared_ptr<Compiled> compile(Client& client, std::string_view program, std::string_view options) {
    const CompileOptions given = parse_compile_options(options);
    Device& device = client.device_of(given.device.value_or(0));
    const tosavk_precision precision = given.precision.value_or(client.options.precision);
    const std::string key = fingerprint_of(device, program, precision);
    return client.programs.get({device.id, key}, [&] {
        if (auto kept = from_cache(device, key)) return kept;
        auto made = std::make_shared<Compiled>(device, std::string(program), precision, key);
        if (made->has_graph() && client.cache.enabled()) client.keeper->post([made] { keep(*made); });
        return made;
    });
}

std::shared_ptr<Compiled> restore(Client& client, std::string_view bytes, std::optional<std::string_view> options) {
    Image image = read_image(bytes);
    std::optional<std::int64_t> wanted;
    if (options) wanted = parse_compile_options(*options).device;
    Device& device = client.device_of(wanted.value_or(image.device));
    return client.programs.get({device.id, "image " + digest_of(bytes)},
                               [&] { return std::make_shared<Compiled>(device, std::move(image)); });
}

}  // namespace tosavk::pjrt
