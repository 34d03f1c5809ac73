// Draws the cases of each row and keeps its worst one.
#include "verify/conformance/sweep.hpp"

#include "kernels/kernels.hpp"
#include "ops/builder.hpp"
#include "verify/conformance/bounds.hpp"
#include "verify/conformance/dot_product_data.hpp"
#include "verify/conformance/random_data.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::conformance {
namespace {

std::string type_name(DType type) { return std::string(name_of(type)) + "_t"; }

/// FNV-1a: the same stream on every platform and in every order of the rows.
std::uint64_t hash(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325u;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return h;
}

std::mt19937_64 stream(const SweepRow& row, std::uint64_t seed, std::string_view purpose) {
    return std::mt19937_64(hash(fmt::format("{}|{}|{}|{}|{}", row.spec, row.op, row.types_text(), purpose, seed)));
}

std::string plain_types(std::string_view text) {
    std::string result;
    for (const char c : text)
        if (c != ' ') result += c;
    result += ',';
    for (std::size_t at; (at = result.find("_t,")) != std::string::npos;) result.erase(at, 2);
    return result;
}

/// The cases of every row take turns, so that four in a row see every option, and sixteen most combinations.
RandomOptions options_of(const SweepRow& row, std::uint64_t seed) {
    RandomOptions options;
    options.run_time_operands = seed % 2 == 0 || seed % 16 == 9;
    options.follower = seed % 4 == 2 || seed % 8 == 5 || (seed % 4 == 3 && row.has_kernels);
    options.large = seed % 4 == 1;
    return options;
}

/// The nodes that a row is about: those of its operator, not what follows it; all of them where an operator of an older
/// version has become several others.
CaseReport::Node worst_of(const CaseReport& report, std::string_view op) {
    const bool named = std::any_of(report.nodes.begin(), report.nodes.end(),
                                   [&](const CaseReport::Node& node) { return name_of(node.op) == op; });
    CaseReport::Node worst;
    for (const CaseReport::Node& node : report.nodes) {
        if (named && name_of(node.op) != op) continue;
        if (worst.detail.empty() || std::max(node.worst, node.variance) > std::max(worst.worst, worst.variance))
            worst.detail = node.detail;
        worst.worst = std::max(worst.worst, node.worst);
        worst.variance = std::max(worst.variance, node.variance);
        worst.bias = std::max(worst.bias, node.bias);
    }
    return worst;
}

/// Collects the cases of one row.
class Tally {
public:
    Tally(const SweepRow& row, RowResult& result) : row_(row), result_(result) {}

    /// `set` is the data set, -1 for a random case. The errors of sets 3 to 5 must cancel.
    void add(std::uint64_t seed, int set, const RandomCase& made, const CaseReport& report) {
        const CaseReport::Node node = worst_of(report, row_.op);
        double worst = std::max(node.worst, node.variance);
        if (set >= 3) worst = std::max(worst, node.bias);
        const bool first = result_.cases++ == 0;
        if (report.passed && set >= 3 && node.bias > 1) {
            fail(seed, set, worst,
                 fmt::format("the sum of the errors is {:.3g} of its bound ({})", node.bias, node.detail), &made);
        } else if (!report.passed) {
            fail(seed, set, worst, report.detail, &made);
        } else if (result_.failures == 0 && (first || worst > result_.worst)) {
            note(seed, set, worst, node.detail);
        }
    }
    void add_thrown(std::uint64_t seed, int set, const std::string& what, const RandomCase* made) {
        ++result_.cases;
        fail(seed, set, 0, what, made);
    }

private:
    void fail(std::uint64_t seed, int set, double worst, const std::string& what, const RandomCase* made) {
        if (result_.failures++ == 0) note(seed, set, worst, made ? what + "\n" + describe(*made) : what);
    }
    void note(std::uint64_t seed, int set, double worst, std::string detail) {
        result_.seed = seed;
        result_.data_set = set >= 0;
        result_.worst = worst;
        result_.detail = set >= 0 ? fmt::format("data set {}: {}", set, detail) : std::move(detail);
    }

    const SweepRow& row_;
    RowResult& result_;
};

}  // namespace

std::string SweepRow::types_text() const {
    std::string text;
    for (const auto& [variable, type] : types) text += (text.empty() ? "" : ",") + type;
    return text;
}

std::vector<RowSource> row_sources() { return {registry_rows, rows_0_30}; }

std::vector<SweepRow> registry_rows() {
    std::vector<SweepRow> rows;
    for (const OpDef& def : registry()) {
        for (const TypeRow& types : def.rows) {
            SweepRow row;
            row.op = def.name;
            if (is_own(def.op)) row.spec = own_domain;
            for (std::size_t k = 0; k < types.types.size(); ++k)
                row.types.emplace_back(def.type_vars.at(k), type_name(types.types[k]));
            row.bound = bound_text(def, types);
            row.has_kernels = !kernels_of(def.op).empty();
            row.random = [&def, &types](std::mt19937_64& random, const RandomOptions& options) {
                return random_case(def, types, random, options);
            };
            if (has_dot_product_data(def, types)) {
                row.data_set = [&def, &types](int set, std::mt19937_64& random) {
                    return dot_product_case(def, types, set, random);
                };
            }
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

bool same_types(std::string_view a, std::string_view b) { return plain_types(a) == plain_types(b); }

std::vector<SweepRow> find_rows(std::string_view op, std::string_view type, std::string_view spec) {
    std::vector<SweepRow> found;
    bool known_op = false;
    for (const RowSource source : row_sources()) {
        for (SweepRow& row : source()) {
            if (!op.empty() && row.op != op) continue;
            known_op = true;
            if (!spec.empty() && row.spec != spec) continue;
            if (!type.empty() && !same_types(type, row.types_text())) continue;
            found.push_back(std::move(row));
        }
    }
    if (!known_op) throw Error(ErrorCode::usage, fmt::format("there is no operator '{}'; see tosa-vk ops", op));
    if (found.empty()) {
        throw Error(ErrorCode::usage, fmt::format("no row matches{}{}{}; see tosa-vk ops",
                                                  op.empty() ? "" : fmt::format(" operator {}", op),
                                                  type.empty() ? "" : fmt::format(" types '{}'", type),
                                                  spec.empty() ? "" : fmt::format(" specification {}", spec)));
    }
    return found;
}

RandomCase make_case(const SweepRow& row, std::uint64_t seed) {
    std::mt19937_64 random = stream(row, seed, "random");
    return row.random(random, options_of(row, seed));
}

RowResult run_row(const SweepRow& row, std::uint64_t first_seed, std::uint64_t cases, const Judge& judge) {
    RowResult result;
    result.seed = first_seed;
    Tally tally(row, result);
    const auto run = [&](std::uint64_t seed, int set, const std::function<RandomCase()>& make) {
        RandomCase made;
        try {
            made = make();
        } catch (const std::exception& error) {
            return tally.add_thrown(seed, set, fmt::format("no graph could be made: {}", error.what()), nullptr);
        }
        try {
            tally.add(seed, set, made, judge(made));
        } catch (const std::exception& error) {
            tally.add_thrown(seed, set, error.what(), &made);
        }
    };
    for (std::uint64_t k = 0; k < cases; ++k) run(first_seed + k, -1, [&] { return make_case(row, first_seed + k); });
    for (int set = 0; row.data_set && set < dot_product_sets; ++set) {
        run(first_seed, set, [&] {
            std::mt19937_64 random = stream(row, first_seed, fmt::format("set {}", set));
            return row.data_set(set, random);
        });
    }
    return result;
}

std::string repro_command(const SweepRow& row, const RowResult& result) {
    return fmt::format("tosa-vk conformance --op {} --type {}{} --seed {} --cases {}", row.op, row.types_text(),
                       row.spec == "1.0" ? "" : " --spec " + row.spec, result.seed, result.data_set ? 0 : 1);
}

std::vector<LargeCase> large_binding_cases() {
    // 33 Mi elements of 4 bytes: 132 MiB.
    constexpr std::int64_t rows = 33 * 1024, columns = 1024;
    const auto elementwise = [] {
        std::mt19937_64 random(1);
        RandomData data(random);
        GraphBuilder builder("large elementwise");
        RandomCase made;
        made.inputs.push_back(data.ints(DType::i32, {rows, 1}, -1000000, 1000000));
        const HostTensor other = data.ints(DType::i32, {1, columns}, -1000000, 1000000);
        const ValueId a = builder.input("input1", DType::i32, {rows, 1});
        const ValueId b = builder.constant("input2", DType::i32, other.shape, other.bytes);
        builder.output(builder.add1(Op::add, {a, b}, DType::i32, {}, "node"));
        made.graph = builder.finish();
        return made;
    };
    const auto movement = [] {
        std::mt19937_64 random(2);
        RandomData data(random);
        GraphBuilder builder("large concat");
        RandomCase made;
        std::vector<ValueId> ids;
        for (const std::int64_t n : {rows - 1, std::int64_t{1}}) {
            made.inputs.push_back(data.noise(DType::i32, {n, columns}));
            ids.push_back(builder.input(fmt::format("input1_{}", ids.size()), DType::i32, {n, columns}));
        }
        builder.output(builder.add1(Op::concat, ids, DType::i32, {}, "node"));
        made.graph = builder.finish();
        return made;
    };
    return {{"ADD", "i32_t", elementwise}, {"CONCAT", "i32_t", movement}};
}

}  // namespace tosavk::conformance
