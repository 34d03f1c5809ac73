// The commands of tosa-vk, one file each. Every one registers its options and hands back what it does when chosen.
#pragma once

#include "tools/cli/common.hpp"

#include <functional>

namespace tosavk::cli {

/// Runs after parsing; returns the exit code.
using Action = std::function<int()>;

Action add_run(CLI::App& app);
Action add_verify(CLI::App& app);
Action add_info(CLI::App& app);
Action add_ops(CLI::App& app);
Action add_dump(CLI::App& app);
Action add_probe(CLI::App& app);
Action add_convert(CLI::App& app);
Action add_compile(CLI::App& app);
Action add_conformance(CLI::App& app);

}  // namespace tosavk::cli
