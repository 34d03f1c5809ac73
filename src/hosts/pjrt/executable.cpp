#include "hosts/pjrt/executable.hpp"

#include <sha2.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace tosavk::pjrt {

namespace {

constexpr std::size_t most_contexts = 4;  ///< runs of one executable that are under way at once

std::string digest_of(std::string_view program, std::string_view options) {
    SHA2_CTX state;
    SHA256Init(&state);
    for (const std::string_view part : {program, options})
        SHA256Update(&state, reinterpret_cast<const std::uint8_t*>(part.data()), part.size());
    std::uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Final(digest, &state);
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) text += digits[byte >> 4], text += digits[byte & 15];
    return text;
}

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

std::int64_t bytes_of(const std::vector<ProgramValue>& values) {
    std::int64_t sum = 0;
    for (const ProgramValue& value : values)
        if (value.type) sum += static_cast<std::int64_t>(value.elements * value.count * value.type->part_bytes);
    return sum;
}

}  // namespace

Compiled::Compiled(Device& on, std::string code, std::string given)
    : client(on.client->shared_from_this()),
      device(on),
      program(std::move(code)),
      options(std::move(given)),
      fingerprint(digest_of(program, options)) {
    idle_.reserve(most_contexts);
    read_interface();
    compile(parse_compile_options(options));
    fill_lists();
    ++counters.compilations;
}

void Compiled::read_interface() {
    const auto facts = nlohmann::json::parse(cpp::describe(bytes_of(program)));
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
}

void Compiled::compile(const CompileOptions& given) {
    // What gives nothing back, or nothing but empty arrays, is not run.
    if (std::all_of(results.begin(), results.end(), [](const ProgramValue& v) { return v.count == 0; })) return;
    cpp::LoadOptions load;
    load.level = TOSAVK_LEVEL_NONE;
    load.precision = given.precision.value_or(client->options.precision);
    load.f64_as_f32 = client->options.f64_as_f32;
    const cpp::Graph graph = cpp::Graph::load(bytes_of(program), load);
    const auto count = [](const std::vector<ProgramValue>& values) {
        std::size_t tensors = 0;
        for (const ProgramValue& value : values) tensors += value.type ? value.type->parts() : 0;
        return tensors;
    };
    if (graph.input_count() != count(arguments) || graph.output_count() != count(results))
        throw Failure(Code::internal, "the graph of '" + name + "' has other inputs or outputs than its program");
    executable_.emplace(device.device, graph);
    for (std::uint32_t k = 0; k < graph.input_count(); ++k)
        padded_inputs_.push_back(executable_->input_binding(k).padded_bytes);
    for (std::uint32_t k = 0; k < graph.output_count(); ++k)
        padded_outputs_.push_back(executable_->output_binding(k).padded_bytes);
    measure();
}

void Compiled::measure() {
    auto context = take_context();
    const tosavk_counters counted = context->counters();
    constant_bytes = static_cast<std::int64_t>(counted.constant_bytes);
    temporary_bytes = static_cast<std::int64_t>(counted.arena_bytes);
    dispatches_ = context->dispatch_count();
    for (std::uint32_t k = 0; k < dispatches_; ++k) {
        const tosavk_dispatch_info info = context->dispatch(k);
        operations += info.work;
        bytes_accessed += info.bytes;
    }
    give_context(std::move(context));
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
        return std::make_unique<cpp::Context>(*executable_);
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

std::uint32_t Compiled::input_flags(std::uint32_t index, std::uint64_t size_bytes) const {
    return padded_inputs_[index] <= size_bytes ? std::uint32_t{TOSAVK_BIND_PADDED} : 0u;
}

std::uint32_t Compiled::output_flags(std::uint32_t index, std::uint64_t size_bytes) const {
    return padded_outputs_[index] <= size_bytes ? std::uint32_t{TOSAVK_BIND_PADDED} : 0u;
}

std::shared_ptr<Compiled> compile(Client& client, std::string_view program, std::string_view options) {
    const CompileOptions given = parse_compile_options(options);
    Device& device = client.device_of(given.device.value_or(0));
    return client.programs.get({device.id, digest_of(program, options)}, [&] {
        return std::make_shared<Compiled>(device, std::string(program), std::string(options));
    });
}

}  // namespace tosavk::pjrt
