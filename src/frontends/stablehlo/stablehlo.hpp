// StableHLO programs as graphs.
#pragma once

#include "frontends/common/facts.hpp"
#include "frontends/common/options.hpp"
#include "frontends/common/probe.hpp"
#include "frontends/common/signature.hpp"
#include "frontends/stablehlo/program.hpp"

#include <span>

namespace tosavk {

namespace stablehlo {
/// The function `main`, with what it calls in place of the calls.
Graph lower_program(const Program& program, const ImportOptions& options);
/// Its operations, those of the functions that are called and of the regions of control flow; what a reduction's or
/// another region does with numbers belongs to its operation.
ProbeReport probe_program(const Program& program, const ImportOptions& options);
}  // namespace stablehlo

// Of the file's text or bytecode, for the registry of front ends.
bool recognise_stablehlo(std::span<const std::byte> file);
Graph import_stablehlo(std::span<const std::byte> file, const ImportOptions& options);
ProbeReport probe_stablehlo(std::span<const std::byte> file, const ImportOptions& options);
Signature stablehlo_signature(std::span<const std::byte> file, const ImportOptions& options);
FileFacts stablehlo_facts(std::span<const std::byte> file);

}  // namespace tosavk
