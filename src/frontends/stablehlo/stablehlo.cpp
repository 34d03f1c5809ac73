#include "frontends/stablehlo/stablehlo.hpp"

#include "frontends/stablehlo/read.hpp"

namespace tosavk {

namespace {

stablehlo::Program program_of(std::span<const std::byte> file) {
    return stablehlo::read_program(SharedBytes(Bytes(file.begin(), file.end())));
}

FileFacts::Value value_facts(const stablehlo::Type& type, const stablehlo::Dictionary& attributes) {
    FileFacts::Value facts;
    if (type.kind == stablehlo::Type::Kind::token) {
        facts.type = "token";
        return facts;
    }
    facts.type = stablehlo::name_of(type.element);
    facts.shape = type.dims;
    const auto* alias = stablehlo::find(attributes, "tf.aliasing_output");
    if (const auto* number = alias ? alias->as<stablehlo::Integer>() : nullptr; number && number->value >= 0)
        facts.alias = static_cast<std::uint64_t>(number->value);
    const auto* donor = stablehlo::find(attributes, "jax.buffer_donor");
    if (const auto* flag = donor ? donor->as<bool>() : nullptr) facts.donated = *flag;
    return facts;
}

}  // namespace

bool recognise_stablehlo(std::span<const std::byte> file) { return stablehlo::is_stablehlo(file); }

Graph import_stablehlo(std::span<const std::byte> file, const ImportOptions& options) {
    return stablehlo::lower_program(program_of(file), options);
}

ProbeReport probe_stablehlo(std::span<const std::byte> file, const ImportOptions& options) {
    return stablehlo::probe_program(program_of(file), options);
}

Signature stablehlo_signature(std::span<const std::byte> file, const ImportOptions& options) {
    return signature_of(import_stablehlo(file, options));
}

FileFacts stablehlo_facts(std::span<const std::byte> file) {
    const stablehlo::Program program = program_of(file);
    FileFacts facts;
    facts.format = "stablehlo";
    facts.description = program.producer;
    facts.name = program.name;
    for (const stablehlo::Function& function : program.functions) {
        facts.subgraphs.push_back(function.name);
        if (function.name != "main") continue;
        for (std::size_t k = 0; k < function.argument_types.size(); ++k)
            facts.arguments.push_back(value_facts(*function.argument_types[k], function.argument_attributes[k]));
        for (std::size_t k = 0; k < function.result_types.size(); ++k)
            facts.results.push_back(value_facts(*function.result_types[k], function.result_attributes[k]));
    }
    return facts;
}

}  // namespace tosavk
