// tosa-vk conformance: the sweep over operators and type rows on a device.
#include "tools/cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include <unistd.h>

namespace tosavk::cli {

namespace {

struct ConformanceOptions {
    DeviceChoice device;
    cpp::ConformanceOptions sweep;
    bool json = false;
};

/// One line on stderr that is written over and over, where stderr is a terminal.
class Progress {
public:
    Progress() : on_(::isatty(STDERR_FILENO) != 0) {}
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(std::size_t done, std::uint64_t total, const std::string& what) {
        if (on_)
            std::fprintf(stderr, "\r\033[K%zu of %llu: %s", done, static_cast<unsigned long long>(total), what.c_str());
    }
    void clear() {
        if (on_) std::fprintf(stderr, "\r\033[K");
    }

private:
    bool on_;
};

struct Sums {
    std::string op;
    std::size_t rows = 0;
    std::uint64_t cases = 0, failed = 0, errors = 0;
    double worst = 0;
};

/// A table with one line per operator.
std::string table_of(const std::vector<Json>& rows) {
    std::vector<Sums> sums;
    for (const Json& row : rows) {
        const std::string op = row.at("op").get<std::string>() + (row.at("spec") == "0.30" ? " (0.30)" : "");
        auto at = std::find_if(sums.begin(), sums.end(), [&](const Sums& s) { return s.op == op; });
        if (at == sums.end()) at = sums.insert(at, {op, 0, 0, 0, 0, 0});
        const auto cases = row.at("cases").get<std::uint64_t>();
        at->failed += row.at("failed").get<std::uint64_t>();
        if (row.at("kind") == "values" || row.at("kind") == "large") {
            ++at->rows;
            at->cases += cases;
            at->worst = std::max(at->worst, row.at("worst_error").get<double>());
        } else {
            at->errors += cases;
        }
    }
    std::vector<std::vector<std::string>> table = {{"operator", "rows", "cases", "refused", "worst", "result"}};
    for (const Sums& s : sums) {
        table.push_back({s.op, std::to_string(s.rows), std::to_string(s.cases), std::to_string(s.errors),
                         s.worst == 0 ? "exact" : fmt::format("{:.3f}", s.worst),
                         s.failed == 0 ? "passed" : fmt::format("{} FAILED", s.failed)});
    }
    return table_text(table, {false, true, true, true, true, false});
}

int conformance(const ConformanceOptions& options) {
    const cpp::Device device = open_device(options.device, /*inspect=*/options.device.compile_only);
    Progress progress;
    std::vector<Json> rows;
    const tosavk_conformance_summary summary =
        cpp::run_conformance(device, options.sweep, [&](const char* text, std::uint64_t total) {
            rows.push_back(Json::parse(text));
            progress.show(rows.size(), total, rows.back().at("op").get<std::string>());
            return true;
        });
    progress.clear();
    if (options.json) {
        print(json_text(Json(rows)));
    } else {
        std::string text = table_of(rows);
        for (const Json& row : rows) {
            if (row.at("passed").get<bool>()) continue;
            text +=
                fmt::format("\n{} FAILED in {} of {} cases; repeat with\n  {}\n{}\n", row.at("op").get<std::string>(),
                            row.at("failed").get<std::uint64_t>(), row.at("cases").get<std::uint64_t>(),
                            row.at("repro").get<std::string>(), row.at("detail").get<std::string>());
        }
        text += fmt::format("\n{} on {}: {} rows, {} cases, {} failed; worst error {:.3f} of its bound\n",
                            summary.cases_failed == 0 ? "passed" : "FAILED", device.name(), summary.rows, summary.cases,
                            summary.cases_failed, summary.worst);
        print(text);
    }
    return summary.cases_failed == 0 ? exit_done : exit_different;
}

}  // namespace

Action add_conformance(CLI::App& app) {
    auto options = std::make_shared<ConformanceOptions>();
    CLI::App* command =
        app.add_subcommand("conformance", "Compares a device with the reference on every operator and type row");
    command->add_option("--op", options->sweep.op, "one operator only, e.g. CONV2D");
    command->add_option("--type", options->sweep.type, "one type row only, e.g. \"i8_t,i8_t,i32_t,i32_t\"");
    command
        ->add_option("--spec", options->sweep.spec,
                     "rows of one version of the specification, or our own (default: all)")
        ->check(CLI::IsMember({"1.0", "0.30", "tosavk"}));
    add_device_options(*command, options->device);
    command->add_option("--seed", options->sweep.seed, "seed of the first case (default 1)");
    command->add_option("--cases", options->sweep.cases, "random graphs per row (default 20)")
        ->check(CLI::Range(0, 1000000));
    command->add_flag("--large-binding", options->sweep.large_binding,
                      "also tensors above 128 MiB (about 2 GiB of host memory)");
    command->add_flag(
        "--candidates", options->sweep.all_candidates,
        "each case also with every other kernel and variant that takes its nodes, as --tune may choose them");
    command->add_option("--jobs", options->sweep.jobs, "threads, each with a device of its own (default 1)")
        ->check(CLI::Range(1, 64));
    command->add_flag("--json", options->json, "print JSON");
    command->footer(
        "Each row runs random graphs of its operator: seed S is the same graph and data everywhere, with operands\n"
        "constant or computed at run time, with and without an operator that fuses behind it. Dot products of floats\n"
        "also run the specification's data sets 0 to 5. Then graphs that break one condition of the specification, or "
        "a\n"
        "limit of level 8K, must be refused.\n"
        "--json prints an array of objects: kind (\"values\", \"error\", \"level\" or \"large\"), op, spec, types, "
        "cases,\n"
        "failed, passed, worst_error (as a share of the bound; 0 where results are exact), bound, seed, repro (a "
        "command\n"
        "that repeats the worst case), error_if (the broken condition; kinds error and level), detail (the worst\n"
        "element, or what failed).\n"
        "With --compile-only each graph is compiled, and has failed where a kernel spills registers to memory; what\n"
        "must be refused is left out.\n"
        "Exit code 1 when anything failed.\n"
        "Example: tosa-vk conformance --op EXP --cases 100");
    return [options] { return conformance(*options); };
}

}  // namespace tosavk::cli
