// The conformance sweep: every operator and type row on random graphs, judged by whoever runs them. Pure: no Vulkan
// handle here; src/api brings the device.
#pragma once

#include "verify/conformance/random_node.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tosavk::conformance {

/// One operator with one combination of types, and how graphs of it are drawn.
struct SweepRow {
    std::string op;            ///< the specification's name
    std::string spec = "1.0";  ///< version of the specification that has the row, or own_domain
    std::vector<std::pair<std::string, std::string>> types;  ///< type variable and type: {"in_t", "i8_t"}
    std::string bound;                                       ///< the rule for its results, as text
    std::function<RandomCase(std::mt19937_64&, const RandomOptions&)> random;
    /// The specification's data set 0 to 5 for a dot product of floats; empty for all other rows.
    std::function<RandomCase(int set, std::mt19937_64&)> data_set;
    bool has_kernels = false;  ///< neither an expression nor an index map: followers fuse as an epilogue

    std::string types_text() const;  ///< "i8_t,i8_t,i32_t,i32_t"
};

/// Every list of rows that the sweep knows. A new list (of another version of the specification) is one more entry.
using RowSource = std::vector<SweepRow> (*)();
std::vector<RowSource> row_sources();
std::vector<SweepRow> registry_rows();  ///< the rows of ops/registry.cpp
std::vector<SweepRow> rows_0_30();      ///< those of TOSA 0.30, upgraded

/// Rows of the sweep that match; empty text matches all. Types as in types_text(), spaces and "_t" being optional.
/// Throws Error(usage) when nothing matches.
std::vector<SweepRow> find_rows(std::string_view op, std::string_view type, std::string_view spec);
/// Do these texts name the same types? Spaces and "_t" are optional in both.
bool same_types(std::string_view a, std::string_view b);

/// What became of one graph.
struct CaseReport {
    bool passed = true;
    std::string detail;  ///< where it failed: what and where
    struct Node {
        Op op = Op::unknown;
        double worst = 0;     ///< largest error as a share of its bound
        double variance = 0;  ///< dot products: sum of squared errors as a share of its bound
        double bias = 0;      ///< dot products: |sum of errors| as a share of its bound
        std::string detail;   ///< the worst element
    };
    std::vector<Node> nodes;
};
/// Runs one graph and compares it with the reference. An exception counts as a failure and is the detail.
using Judge = std::function<CaseReport(const RandomCase&)>;

struct RowResult {
    std::uint64_t cases = 0, failures = 0;
    double worst = 0;        ///< share of the bound; 0 when everything was exact
    std::uint64_t seed = 0;  ///< of the worst case, or of the first that failed
    bool data_set = false;   ///< that case was a data set of the specification: it runs with --cases 0 too
    std::string detail;      ///< of that case; with the graph where it failed

    bool passed() const { return failures == 0; }
};

/// Cases first_seed .. first_seed + cases - 1, and the data sets where the row has them. Case S depends on S and the
/// row alone.
RowResult run_row(const SweepRow& row, std::uint64_t first_seed, std::uint64_t cases, const Judge& judge);

/// Case `seed` of a row: which operands are constant, whether something follows and whether it is large follow from it.
RandomCase make_case(const SweepRow& row, std::uint64_t seed);

/// "tosa-vk conformance --op X --type i8_t,i32_t --seed 7 --cases 1"
std::string repro_command(const SweepRow& row, const RowResult& result);

/// Tensors beyond what many devices bind at once (128 MiB): an elementwise graph and one that moves data.
struct LargeCase {
    std::string op, types;
    std::function<RandomCase()> make;
};
std::vector<LargeCase> large_binding_cases();

}  // namespace tosavk::conformance
