// Every program of the corpus with recorded results is lowered and run by the reference interpreter, and gives these
// results; what is refused is told by reason. Alone with $TOSAVK_STABLEHLO_ONLY in the name.
#include "frontends/stablehlo/stablehlo.hpp"
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "graph/host_tensor.hpp"
#include "reference/reference.hpp"
#include "support/corpus.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>

namespace tosavk {
namespace {

namespace fs = std::filesystem;
using stablehlo::Element;

/// The elements of a .npy file of any type, complex numbers and none at all included.
struct Recorded {
    std::vector<std::byte> data;
};

Recorded load_recorded(const fs::path& path) {
    const Bytes file = read_file(path);
    if (file.size() < 12) throw Error(ErrorCode::bad_input, "a .npy file is too short");
    const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
    const std::size_t header = byte(6) == 1 ? 10 + byte(8) + 256 * byte(9) : 12 + byte(8) + 256 * byte(9);
    Recorded recorded;
    recorded.data.assign(file.begin() + static_cast<std::ptrdiff_t>(header), file.end());
    return recorded;
}

struct DoesNotFit {};

/// The tensors that stand for one value of the program: of complex numbers two.
std::vector<HostTensor> host_tensors(const stablehlo::Type& type, std::span<const std::byte> data, const Graph& graph,
                                     std::size_t first_input) {
    const auto& value = [&](std::size_t k) -> const Value& { return graph.value(graph.inputs.at(first_input + k)); };
    const auto count = static_cast<std::size_t>(element_count(type.dims));
    if (type.element == Element::c64) {
        std::vector<HostTensor> parts;
        for (std::size_t part = 0; part < 2; ++part) {
            HostTensor tensor(DType::fp32, value(part).shape);
            for (std::size_t i = 0; i < count; ++i)
                std::memcpy(tensor.bytes.data() + 4 * i, data.data() + 8 * i + 4 * part, 4);
            parts.push_back(std::move(tensor));
        }
        return parts;
    }
    HostTensor tensor(value(0).type, value(0).shape);
    if (type.element == Element::i64 || type.element == Element::u64) {
        std::vector<std::int64_t> numbers(count);
        std::memcpy(numbers.data(), data.data(), count * 8);
        for (const std::int64_t n : numbers)
            if (n > max_of(DType::i32) || n < (type.element == Element::u64 ? 0 : min_of(DType::i32)))
                throw DoesNotFit();
        tensor.bytes = encode_ints(DType::i32, numbers);
    } else {
        tensor.bytes.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(tensor.bytes.size()));
    }
    return {std::move(tensor)};
}

/// A float of this type that is so many units in the last place larger, less itself.
double unit_of(Element element, double v) {
    const int bits = element == Element::f16 ? 10 : element == Element::bf16 ? 7 : element == Element::f32 ? 23 : 2;
    const int least = element == Element::f16 ? -14 : element == Element::f32 || element == Element::bf16 ? -126 : -6;
    const int exponent = v == 0 || !std::isfinite(v) ? least : std::max(least, std::ilogb(v));
    return std::ldexp(1.0, exponent - bits);
}

std::string first_difference(const stablehlo::Type& type, std::span<const std::byte> data,
                             std::span<const HostTensor> got, bool exact, bool sums) {
    const auto count = static_cast<std::size_t>(element_count(type.dims));
    const auto differ = [](std::size_t i, double want, double have) {
        return fmt::format("element {} is {} instead of {}", i, have, want);
    };
    if (stablehlo::is_signed_integer(type.element) || stablehlo::is_unsigned_integer(type.element) ||
        type.element == Element::pred) {
        const std::vector<std::int64_t> have = decode_ints(got[0].type, got[0].bytes);
        const std::size_t size = stablehlo::bytes_of(type.element);
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t want = 0;
            std::memcpy(&want, data.data() + i * size, size);
            const std::uint64_t mask = size == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size)) - 1;
            if ((static_cast<std::uint64_t>(have[i]) & mask) != want)
                return fmt::format("element {} is {:x} instead of {:x}", i, static_cast<std::uint64_t>(have[i]) & mask,
                                   want);
        }
        return {};
    }
    std::vector<double> want, have;
    const bool complex = type.element == Element::c64;
    if (complex) {
        want = decode_reals(DType::fp32, data.first(count * 8));
        const auto re = decode_reals(DType::fp32, got[0].bytes), im = decode_reals(DType::fp32, got[1].bytes);
        for (std::size_t i = 0; i < count; ++i) have.push_back(re[i]), have.push_back(im[i]);
    } else {
        want = decode_reals(got[0].type, data.first(got[0].bytes.size()));
        have = decode_reals(got[0].type, got[0].bytes);
    }
    double largest = 0;
    for (const double v : want) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i]) && std::isnan(have[i])) continue;
        if (want[i] == have[i]) continue;
        if (exact) return differ(i, want[i], have[i]);
        double magnitude = std::abs(want[i]);
        if (complex) magnitude = std::hypot(want[i & ~std::size_t{1}], want[i | 1]);
        // Relative, and what sums lose where their terms are larger than they are; small floats: three units in the
        // last place, since XLA rounds in between.
        const bool wide = type.element == Element::f32 || complex;
        double bound = wide ? 2e-5 * magnitude + 1e-37 : 3.01 * unit_of(type.element, want[i]) + 1e-6;
        if (sums) bound += wide ? 1e-7 * largest : 0.25 * unit_of(type.element, largest);
        if (!(std::abs(want[i] - have[i]) <= bound))
            return differ(i, want[i], have[i]) + fmt::format(" (largest {})", largest);
    }
    return {};
}

class StablehloResults : public ::testing::Test {
protected:
    void SetUp() override {
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
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }
    fs::path root_, folder_, programs_;
};

/// Without what differs from program to program.
std::string reason_of(const std::string& sentence) {
    const std::size_t colon = sentence.find(": ");
    std::string reason = colon == std::string::npos ? sentence : sentence.substr(colon + 2);
    if (sentence.starts_with("stablehlo.")) reason = sentence.substr(10, sentence.find(' ') - 10) + " " + reason;
    for (char& c : reason)
        if (c >= '0' && c <= '9') c = '#';
    return reason.substr(0, 100);
}

TEST_F(StablehloResults, EveryProgramGivesWhatWasRecorded) {
    const Bytes text = read_file(root_ / "index.json");
    const auto index = nlohmann::json::parse(reinterpret_cast<const char*>(text.data()),
                                             reinterpret_cast<const char*>(text.data()) + text.size());
    const char* only = std::getenv("TOSAVK_STABLEHLO_ONLY");
    std::map<std::string, std::vector<std::string>> refused;
    std::size_t passed = 0, refusals = 0, wrong = 0, loads = 0, beyond = 0;
    for (const auto& entry : index) {
        const std::string name = entry.at("name");
        if (only && name.find(only) == std::string::npos) continue;
        const fs::path folder = programs_ / name;
        const bool is_load = entry.at("check") == "load";
        Graph graph;
        stablehlo::Program program;
        try {
            program = test::load_stablehlo(folder / "main.mlirbc");
            graph = stablehlo::lower_program(program, {});
        } catch (const Error& error) {
            if (error.code() == ErrorCode::internal || (only && !is_load))
                ADD_FAILURE() << name << ": " << error.what();
            ++refusals;
            refused[reason_of(error.what())].push_back(name);
            continue;
        }
        if (is_load) {
            ++loads;
            continue;
        }
        try {
            const auto main = std::find_if(program.functions.begin(), program.functions.end(),
                                           [](const auto& function) { return function.name == "main"; });
            std::vector<HostTensor> inputs;
            for (std::size_t k = 0; k < main->argument_types.size(); ++k)
                for (HostTensor& tensor :
                     host_tensors(*main->argument_types[k], load_recorded(folder / fmt::format("in{}.npy", k)).data,
                                  graph, inputs.size()))
                    inputs.push_back(std::move(tensor));
            const std::vector<HostTensor> outputs = reference_run(graph, inputs);
            bool sums = false;
            for (const auto& op : entry.at("ops"))
                for (const char* one : {"convolution", "dot_general", "fft", "reduce", "reduce_window", "scatter",
                                        "select_and_scatter", "triangular_solve"})
                    sums = sums || op == one;
            std::string difference;
            std::size_t next = 0;
            for (std::size_t k = 0; k < main->result_types.size() && difference.empty(); ++k) {
                const stablehlo::Type& type = *main->result_types[k];
                const std::size_t parts = type.element == Element::c64 ? 2 : 1;
                const auto& check = entry.at("check");
                const bool exact = (check.is_array() ? check.at(k) : check) == "eq";
                difference = first_difference(type, load_recorded(folder / fmt::format("out{}.npy", k)).data,
                                              std::span(outputs).subspan(next, parts), exact, sums);
                if (!difference.empty()) difference = fmt::format("result {}: {}", k, difference);
                next += parts;
            }
            if (difference.empty()) {
                ++passed;
            } else {
                ++wrong;
                ADD_FAILURE() << name << ": " << difference;
            }
        } catch (const DoesNotFit&) {
            ++beyond;
        } catch (const std::exception& error) {
            ++wrong;
            ADD_FAILURE() << name << ": " << error.what();
        }
    }
    for (const auto& [reason, names] : refused)
        std::printf("%4zu %s (%s)\n", names.size(), reason.c_str(), names.front().c_str());
    std::printf("%zu passed, %zu wrong, %zu refused, %zu with inputs beyond 32 bits, %zu without results taken\n",
                passed, wrong, refusals, beyond, loads);
    EXPECT_GE(passed, only ? 0u : 1081u) << "no more may be refused than were";
}

}  // namespace
}  // namespace tosavk
