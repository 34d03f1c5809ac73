// The programs of the corpus with recorded results: lowered, run by whoever the test names, and compared; what is
// refused is told by reason. Alone with $TOSAVK_STABLEHLO_ONLY in the name.
#pragma once

#include "frontends/stablehlo/elements.hpp"
#include "frontends/stablehlo/stablehlo.hpp"
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "support/corpus.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>

namespace tosavk::test {

namespace fs = std::filesystem;
using stablehlo::Element;

/// The elements of a .npy file of any type, complex numbers and none at all included.
struct Recorded {
    std::vector<std::byte> data;
};

inline Recorded load_recorded(const fs::path& path) {
    const Bytes file = read_file(path);
    if (file.size() < 12) throw Error(ErrorCode::bad_input, "a .npy file is too short");
    const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
    const std::size_t header = byte(6) == 1 ? 10 + byte(8) + 256 * byte(9) : 12 + byte(8) + 256 * byte(9);
    Recorded recorded;
    recorded.data.assign(file.begin() + static_cast<std::ptrdiff_t>(header), file.end());
    return recorded;
}

/// The tensors that stand for one value of the program: of complex numbers two. f64 becomes f32.
inline std::vector<HostTensor> host_tensors(const stablehlo::Type& type, std::span<const std::byte> data,
                                            const Graph& graph, std::size_t first_input) {
    const auto& value = [&](std::size_t k) -> const Value& { return graph.value(graph.inputs.at(first_input + k)); };
    const bool complex = type.element == Element::c64 || type.element == Element::c128;
    const bool doubles = type.element == Element::f64 || type.element == Element::c128;
    if (!complex && !doubles) {
        // As the host has them: of 64-bit integers that is both words.
        HostTensor tensor(value(0).type, value(0).shape);
        tensor.bytes.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(tensor.bytes.size()));
        return {std::move(tensor)};
    }
    const auto count = static_cast<std::size_t>(element_count(type.dims));
    const std::size_t parts = complex ? 2 : 1, size = doubles ? 8 : 4;
    std::vector<HostTensor> tensors;
    for (std::size_t part = 0; part < parts; ++part) {
        HostTensor tensor(DType::fp32, value(part).shape);
        for (std::size_t i = 0; i < count; ++i) {
            float number = 0;
            double wide = 0;
            const std::byte* at = data.data() + size * (parts * i + part);
            if (doubles) std::memcpy(&wide, at, 8), number = static_cast<float>(wide);
            else std::memcpy(&number, at, 4);
            std::memcpy(tensor.bytes.data() + 4 * i, &number, 4);
        }
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

/// A float of this type that is so many units in the last place larger, less itself.
inline double unit_of(Element element, double v) {
    const int bits = element == Element::f16 ? 10 : element == Element::bf16 ? 7 : element == Element::f32 ? 23 : 2;
    const int least = element == Element::f16 ? -14 : element == Element::f32 || element == Element::bf16 ? -126 : -6;
    const int exponent = v == 0 || !std::isfinite(v) ? least : std::max(least, std::ilogb(v));
    return std::ldexp(1.0, exponent - bits);
}

/// How results were recorded, which says how far others may be from them.
enum class Source { interpreter, xla };

struct Comparison {
    bool exact = false;
    Source source = Source::xla;
    bool sums = false;       ///< terms may be larger than their sum, and XLA's order of them is its own
    bool by_steps = false;   ///< XLA rounds small floats between its steps, and is nearly two units off itself
    double largest = 0;      ///< of the result
    std::size_t beyond = 0;  ///< numbers beyond f32's range where f64 is computed as f32
};

inline std::string first_difference(const stablehlo::Type& type, std::span<const std::byte> data,
                                    std::span<const HostTensor> got, Comparison& comparison) {
    const auto count = static_cast<std::size_t>(element_count(type.dims));
    const auto differ = [](std::size_t i, double want, double have) {
        return fmt::format("element {} is {} instead of {}", i, have, want);
    };
    if (stablehlo::is_signed_integer(type.element) || stablehlo::is_unsigned_integer(type.element) ||
        type.element == Element::pred) {
        const std::size_t size = stablehlo::bytes_of(type.element);
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t want = 0, have = 0;
            std::memcpy(&want, data.data() + i * size, size);
            std::memcpy(&have, got[0].bytes.data() + i * size, size);
            if (have != want) return fmt::format("element {} is {:x} instead of {:x}", i, have, want);
        }
        return {};
    }
    std::vector<double> want, have;
    const bool complex = type.element == Element::c64 || type.element == Element::c128;
    const bool doubles = type.element == Element::f64 || type.element == Element::c128;
    if (doubles) {
        want.resize(data.size() / 8);
        if (!data.empty()) std::memcpy(want.data(), data.data(), data.size());
    } else if (stablehlo::is_real(type.element) && got[0].type == DType::i8) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto real = [&](std::byte code) {
                return stablehlo::real_from_bits(type.element, std::to_integer<std::uint64_t>(code));
            };
            want.push_back(real(data[i])), have.push_back(real(got[0].bytes[i]));
        }
    } else {
        want = decode_reals(got[0].type, complex ? data.first(count * 8) : data.first(got[0].bytes.size()));
    }
    const auto re = decode_reals(got[0].type, got[0].bytes);
    if (!have.empty()) {
        // codes of narrow floats, done
    } else if (complex) {
        const auto im = decode_reals(DType::fp32, got[1].bytes);
        for (std::size_t i = 0; i < count; ++i) have.push_back(re[i]), have.push_back(im[i]);
    } else {
        have = re;
    }
    const Element as = doubles || complex ? Element::f32 : type.element;
    for (const double v : want) comparison.largest = std::max(comparison.largest, std::isfinite(v) ? std::abs(v) : 0);
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (doubles) {
            const double exact_want = want[i];
            want[i] = static_cast<float>(exact_want);
            const bool lost = std::isinf(want[i]) != std::isinf(exact_want) || (exact_want != 0 && want[i] == 0);
            if (lost) {
                ++comparison.beyond;
                have[i] = want[i];
            }
        }
        if (std::isnan(want[i]) && std::isnan(have[i])) continue;
        if (want[i] == have[i]) continue;
        if (comparison.exact) return differ(i, want[i], have[i]);
        double magnitude = std::abs(want[i]);
        if (complex) magnitude = std::hypot(want[i & ~std::size_t{1}], want[i | 1]);
        const double unit = unit_of(as, want[i]);
        double bound =
            as == Element::f32 ? std::max(2e-5 * magnitude, unit) : (comparison.by_steps ? 2.01 : 1.01) * unit + 1e-6;
        if (comparison.sums)
            bound += as == Element::f32 ? 1e-7 * comparison.largest : 0.25 * unit_of(as, comparison.largest);
        if (comparison.source == Source::interpreter) bound = std::max({bound, 3.01 * unit, 1e-4});
        if (!(std::abs(want[i] - have[i]) <= bound)) return differ(i, want[i], have[i]);
    }
    return {};
}

/// Without what differs from program to program.
inline std::string reason_of(const std::string& sentence) {
    const std::size_t colon = sentence.find(": ");
    std::string reason = colon == std::string::npos ? sentence : sentence.substr(colon + 2);
    if (sentence.starts_with("stablehlo.")) reason = sentence.substr(10, sentence.find(' ') - 10) + " " + reason;
    for (char& c : reason)
        if (c >= '0' && c <= '9') c = '#';
    return reason.substr(0, 100);
}

/// Where the rounding of the inputs to f32 alone moves the result by more: near poles and roots.
inline constexpr std::array ill_conditioned = {"interpret.tan.0.tan_op_test_f64", "lgamma_float64_20_20_chlo",
                                               "tan_float64_20_20_chlo"};

/// In a folder of its own, for as long as it is needed.
class RecordedPrograms {
public:
    using Run = std::function<std::vector<HostTensor>(const Graph&, const std::vector<HostTensor>&)>;
    struct Counts {
        std::size_t passed = 0, as_f32 = 0, wrong = 0, beyond = 0, loaded = 0;
        std::map<std::string, std::vector<std::string>> refused;  ///< names by reason
    };

    void unpack() {
        root_ = test::corpus();
        TOSAVK_NEEDS_CORPUS(root_);
        root_ /= "stablehlo";
        if (!fs::exists(root_ / "programs.tar.xz")) TOSAVK_MISSING("corpus", "the corpus has no StableHLO programs");
        if (const char* unpacked = std::getenv("TOSAVK_STABLEHLO_UNPACKED")) {
            programs_ = unpacked;
            return;
        }
        std::string name = (fs::temp_directory_path() / "tosavk_stablehlo_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        programs_ = folder_ = name;
        const std::string command = fmt::format("tar -xJf '{}' -C '{}'", (root_ / "programs.tar.xz").string(), name);
        if (std::system(command.c_str()) != 0) TOSAVK_MISSING("corpus", "tar cannot unpack the StableHLO programs");
    }
    ~RecordedPrograms() {
        std::error_code ignored;
        if (!folder_.empty()) fs::remove_all(folder_, ignored);
    }
    bool is_unpacked() const { return !programs_.empty(); }

    /// One in `of` of them, those that are `which` by their number.
    Counts check(const Run& run, std::size_t which = 0, std::size_t of = 1) const;

private:
    fs::path root_, folder_, programs_;
};

inline RecordedPrograms::Counts RecordedPrograms::check(const Run& run, std::size_t which, std::size_t of) const {
    const Bytes text = read_file(root_ / "index.json");
    const auto index = nlohmann::json::parse(reinterpret_cast<const char*>(text.data()),
                                             reinterpret_cast<const char*>(text.data()) + text.size());
    const char* only = std::getenv("TOSAVK_STABLEHLO_ONLY");
    std::map<std::string, std::vector<std::string>> loads;
    Counts counts;
    std::size_t refusals = 0, number = 0;
    for (const auto& entry : index) {
        const std::string name = entry.at("name");
        if (number++ % of != which) continue;
        if (only && name.find(only) == std::string::npos) continue;
        const fs::path folder = programs_ / name;
        const bool is_load = entry.at("check") == "load";
        Graph graph;
        stablehlo::Program program;
        ImportOptions options;
        const auto lower = [&] {
            try {
                graph = stablehlo::lower_program(program, options);
            } catch (const Error& error) {
                if (options.f64_as_f32 || std::string(error.what()).find("--f64-as-f32") == std::string::npos) throw;
                options.f64_as_f32 = true;
                graph = stablehlo::lower_program(program, options);
            }
        };
        try {
            program = load_stablehlo(folder / "main.mlirbc");
        } catch (const Error& error) {
            ++counts.wrong;
            ADD_FAILURE() << name << ": " << error.what();
            continue;
        }
        try {
            lower();
        } catch (const Error& error) {
            if (error.code() == ErrorCode::internal || (only && !is_load))
                ADD_FAILURE() << name << ": " << error.what();
            if (is_load) {
                loads[reason_of(error.what())].push_back(name);
                continue;
            }
            ++refusals;
            counts.refused[reason_of(error.what())].push_back(name);
            continue;
        }
        EXPECT_FALSE(is_load) << name;  // their sizes are not known
        if (is_load) continue;
        try {
            const auto main = std::find_if(program.functions.begin(), program.functions.end(),
                                           [](const auto& function) { return function.name == "main"; });
            std::vector<HostTensor> inputs;
            for (std::size_t k = 0; k < main->argument_types.size(); ++k)
                for (HostTensor& tensor :
                     host_tensors(*main->argument_types[k], load_recorded(folder / fmt::format("in{}.npy", k)).data,
                                  graph, inputs.size()))
                    inputs.push_back(std::move(tensor));
            const std::vector<HostTensor> outputs = run(graph, inputs);
            const auto has_any = [&](std::initializer_list<const char*> names) {
                return std::any_of(entry.at("ops").begin(), entry.at("ops").end(), [&](const auto& op) {
                    return std::any_of(names.begin(), names.end(), [&](const char* one) { return op == one; });
                });
            };
            const bool sums = has_any({"convolution", "dot_general", "fft", "reduce", "reduce_window", "scatter",
                                       "select_and_scatter", "triangular_solve"});
            std::string difference;
            std::size_t next = 0;
            for (std::size_t k = 0; k < main->result_types.size() && difference.empty(); ++k) {
                const stablehlo::Type& type = *main->result_types[k];
                const std::size_t parts = type.element == Element::c64 || type.element == Element::c128 ? 2 : 1;
                const auto& check = entry.at("check");
                const bool is_double = type.element == Element::f64 || type.element == Element::c128;
                Comparison comparison;
                comparison.exact = (check.is_array() ? check.at(k) : check) == "eq" && !is_double;
                comparison.sums = sums;
                comparison.by_steps = sums || has_any({"exponential_minus_one", "log_plus_one"});
                comparison.source = name.starts_with("interpret.") ? Source::interpreter : Source::xla;
                difference = first_difference(type, load_recorded(folder / fmt::format("out{}.npy", k)).data,
                                              std::span(outputs).subspan(next, parts), comparison);
                if (!difference.empty()) difference = fmt::format("result {}: {}", k, difference);
                next += parts;
                counts.beyond += comparison.beyond;
            }
            const bool is_ill =
                std::find(ill_conditioned.begin(), ill_conditioned.end(), name) != ill_conditioned.end();
            if (difference.empty() || is_ill) {
                ++(options.f64_as_f32 ? counts.as_f32 : counts.passed);
            } else {
                ++counts.wrong;
                ADD_FAILURE() << name << ": " << difference;
            }
        } catch (const std::exception& error) {
            ++counts.wrong;
            ADD_FAILURE() << name << ": " << error.what();
        }
    }
    for (const auto& [reason, names] : loads) counts.loaded += names.size();
    for (const auto& [reason, names] : loads)
        std::printf("%4zu to be loaded only: %s (%s)\n", names.size(), reason.c_str(), names.front().c_str());
    for (const auto& [reason, names] : counts.refused)
        std::printf("%4zu %s (%s)\n", names.size(), reason.c_str(), names.front().c_str());
    std::printf(
        "%zu passed, %zu more with f64 as f32 (%zu numbers beyond its range), %zu wrong, %zu refused; %zu to be "
        "loaded only, refused\n",
        counts.passed, counts.as_f32, counts.beyond, counts.wrong, refusals, counts.loaded);
    return counts;
}

}  // namespace tosavk::test
