#include "frontends/stablehlo/stablehlo.hpp"

#include "frontends/stablehlo/read.hpp"

namespace tosavk {

namespace {

stablehlo::Program program_of(std::span<const std::byte> file) {
    return stablehlo::read_program(SharedBytes(Bytes(file.begin(), file.end())));
}

}  // namespace

bool recognise_stablehlo(std::span<const std::byte> file) { return stablehlo::is_stablehlo(file); }

Graph import_stablehlo(std::span<const std::byte> file, const ImportOptions& options) {
    return stablehlo::lower_program(program_of(file), options);
}

ProbeReport probe_stablehlo(std::span<const std::byte> file, const ImportOptions& options) {
    const stablehlo::Program program = program_of(file);
    Probe probe("stablehlo");
    std::string error;
    try {
        stablehlo::lower_program(program, options);
    } catch (const Error& e) {
        error = e.what();
    }
    return probe.finish(error);
}

Signature stablehlo_signature(std::span<const std::byte> file, const ImportOptions& options) {
    return signature_of(import_stablehlo(file, options));
}

FileFacts stablehlo_facts(std::span<const std::byte> file) {
    const stablehlo::Program program = program_of(file);
    FileFacts facts;
    facts.format = "stablehlo";
    facts.description = program.producer;
    for (const stablehlo::Function& function : program.functions) facts.subgraphs.push_back(function.name);
    return facts;
}

}  // namespace tosavk
