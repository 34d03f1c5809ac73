// Damaged files: an Error with a place, or a Program, never a crash, and soon.
#include "frontends/stablehlo/jax_export.hpp"
#include "frontends/stablehlo/stablehlo.hpp"
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "support/case_keeper.hpp"
#include "support/environment.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <functional>
#include <random>

namespace tosavk {
namespace {

class StablehloDamaged : public ::testing::Test {
protected:
    void SetUp() override { TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE"); }

    /// What becomes of the file; a program that was read is printed, so that all of it is looked at.
    void read_or_refuse(const Bytes& file) {
        const auto begun = std::chrono::steady_clock::now();
        try {
            const stablehlo::Program program = stablehlo::read_program(SharedBytes(file));
            EXPECT_FALSE(stablehlo::print(program, {.most_elements = 1000}).empty());
            ++read_;
            lower_or_refuse(program);
        } catch (const Error& error) {
            EXPECT_TRUE(error.code() == ErrorCode::bad_model || error.code() == ErrorCode::unsupported) << error.what();
            const std::string what = error.what();
            EXPECT_TRUE(what.find("(at byte ") != std::string::npos || what.find("(at line ") != std::string::npos ||
                        what.find("this is neither") != std::string::npos)
                << what;
            ++refused_;
        }
        slowest_ = std::max(slowest_, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
    }

    /// A program that says something else than its author meant is a graph, or refused.
    void lower_or_refuse(const stablehlo::Program& program) {
        bool taken = true;
        try {
            stablehlo::lower_program(program, {});
            ++lowered_;
        } catch (const Error& error) {
            EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
            taken = false;
        }
        EXPECT_EQ(stablehlo::probe_program(program, {}).taken(), taken);
    }

    /// Each file in so many ways, drawn from the seed in steps of `step`.
    template <class Files, class Change> void damage(const Files& files, std::uint64_t step, Change change) {
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
        const std::uint64_t cases = test::number_from_environment("TOSAVK_TEST_CASES", 150);
        test::CaseKeeper keeper;
        for (const auto& path : files) {
            const Bytes whole = read_file(path);
            for (std::uint64_t k = 0; k < cases; ++k) {
                std::mt19937_64 random(seed * 1000003 + k * step + whole.size());
                Bytes file = whole;
                change(file, random);
                keeper.keep(file);
                read_or_refuse(file);
                ASSERT_FALSE(HasFailure()) << path.filename() << ", case " << k << " of seed " << seed;
            }
        }
        std::printf("seed %llu: %zu read, %zu of them graphs, %zu refused; slowest %.3f s\n",
                    static_cast<unsigned long long>(seed), read_, lowered_, refused_, slowest_);
    }

    std::size_t read_ = 0, lowered_ = 0, refused_ = 0;
    double slowest_ = 0;  ///< seconds
};

TEST_F(StablehloDamaged, EveryTruncation) {
    for (const auto& path : test::stablehlo_files()) {
        SCOPED_TRACE(path.filename().string());
        const Bytes whole = read_file(path);
        const bool is_text = path.extension() == ".mlir";
        if (is_text && whole.size() > 12000) continue;
        const std::size_t read_before = read_;
        for (std::size_t size = 0; size < whole.size(); size += is_text ? 7 : 1) {
            read_or_refuse(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
            ASSERT_FALSE(HasFailure()) << size << " bytes";
        }
        // Only what stands behind the artifact, or the last blank of a text, may be missing.
        if (path.extension() == ".mlirbc") {
            EXPECT_EQ(read_, read_before);
        }
    }
    EXPECT_GT(refused_, 20000u);
}

TEST_F(StablehloDamaged, FlippedBits) {
    damage(test::stablehlo_files(), 7919, [](Bytes& file, std::mt19937_64& random) {
        for (std::uint64_t flips = 1 + random() % 4; flips > 0; --flips)
            file[random() % file.size()] ^= static_cast<std::byte>(1u << random() % 8);
    });
    EXPECT_GT(read_, 0u);
    EXPECT_GT(refused_, 0u);
}

/// A word of a text in another one's place: mostly what can be read, and is not what its author meant.
TEST_F(StablehloDamaged, ExchangedWords) {
    auto files = test::stablehlo_files();
    std::erase_if(files, [](const auto& path) { return path.extension() != ".mlir"; });
    damage(files, 15485863, [](Bytes& file, std::mt19937_64& random) {
        const auto is_of_a_word = [](std::byte byte) { return std::isalnum(static_cast<unsigned char>(byte)) != 0; };
        const auto word = [&] {
            auto begin = file.begin() + static_cast<std::ptrdiff_t>(random() % file.size());
            begin = std::find_if(begin, file.end(), is_of_a_word);
            return std::pair(begin, std::find_if_not(begin, file.end(), is_of_a_word));
        };
        for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
            const auto [from, end] = word();
            const Bytes taken(from, end);
            const auto [begin, behind] = word();
            file.insert(file.erase(begin, behind), taken.begin(), taken.end());
        }
    });
    EXPECT_GT(read_, 0u);
    EXPECT_GT(refused_, 0u);
}

/// Bytes that stand for large numbers where the file has small ones.
TEST_F(StablehloDamaged, LargeNumbers) {
    auto files = test::stablehlo_files();
    std::erase_if(files, [](const auto& path) { return path.extension() == ".mlir"; });
    damage(files, 104729, [](Bytes& file, std::mt19937_64& random) {
        const std::size_t at = random() % file.size(),
                          length = std::min<std::size_t>(1 + random() % 9, file.size() - at);
        for (std::size_t byte = 0; byte < length; ++byte) {
            file[at + byte] = byte == 0 ? static_cast<std::byte>(length == 9 ? 0u : 1u << (length - 1) & 0xffu)
                                        : static_cast<std::byte>(0xff);
        }
    });
    EXPECT_GT(refused_, 0u);
}

// ---- operations that are not what they are called -----------------------------------------------------------------

using stablehlo::Operation;
using stablehlo::Region;

/// A region of nothing but a return of `values`.
void make_plain(Region& region, std::vector<stablehlo::ValueId> values) {
    Operation end = region.operations.empty() ? Operation{.name = "return"} : region.operations.back();
    end.operands = std::move(values);
    region.operations = {std::move(end)};
}

/// What a file may say in spite of what the operation is: false where it has nothing to change.
using Alteration = bool (*)(Operation&);
constexpr Alteration alterations[] = {
    [](Operation& op) { return !op.operands.empty() && (op.operands.pop_back(), true); },
    [](Operation& op) { return !op.operands.empty() && (op.operands.clear(), true); },
    [](Operation& op) { return !op.operands.empty() && (op.operands.push_back(op.operands.front()), true); },
    [](Operation& op) { return op.operands.size() > 1 && (std::swap(op.operands.front(), op.operands.back()), true); },
    [](Operation& op) { return !op.regions.empty() && (op.regions.clear(), true); },
    [](Operation& op) { return !op.regions.empty() && (op.regions.front() = {}, true); },
    [](Operation& op) { return !op.regions.empty() && (op.regions.back() = {}, true); },
    [](Operation& op) { return !op.regions.empty() && (op.regions.push_back(op.regions.front()), true); },
    [](Operation& op) { return op.regions.size() > 1 && (std::swap(op.regions.front(), op.regions.back()), true); },
    [](Operation& op) { return !op.regions.empty() && (make_plain(op.regions.back(), {}), true); },
    [](Operation& op) {
        return !op.regions.empty() && !op.operands.empty() &&
               (make_plain(op.regions.front(), {op.operands.front()}), true);
    },
    [](Operation& op) {
        if (op.regions.empty()) return false;
        make_plain(op.regions.back(), op.regions.back().arguments);
        return true;
    },
    [](Operation& op) {
        if (op.regions.empty() || op.operands.empty()) return false;
        op.regions.front().arguments.clear();
        make_plain(op.regions.front(), {op.operands.front()});
        return true;
    },
    [](Operation& op) {
        if (op.regions.empty() || op.regions.back().arguments.empty()) return false;
        op.regions.back().arguments.pop_back();
        make_plain(op.regions.back(), op.regions.back().arguments);
        return true;
    },
};

void collect(Region& region, std::vector<Operation*>& all) {
    for (Operation& operation : region.operations) {
        all.push_back(&operation);
        for (Region& inner : operation.regions) collect(inner, all);
    }
}

std::vector<Operation*> operations_of(stablehlo::Program& program) {
    std::vector<Operation*> all;
    for (stablehlo::Function& function : program.functions) collect(function.body, all);
    return all;
}

/// Of all ways one in five, others with each seed.
TEST_F(StablehloDamaged, AlteredOperations) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    for (const auto& path : test::stablehlo_files()) {
        if (path.extension() != ".mlir") continue;
        SCOPED_TRACE(path.filename().string());
        const stablehlo::Program program = stablehlo::read_program(SharedBytes(read_file(path)));
        stablehlo::Program counted = program;
        const std::size_t count = operations_of(counted).size();
        for (std::size_t k = 0; k < count; ++k) {
            for (const Alteration& alter : alterations) {
                if ((k + static_cast<std::size_t>(&alter - alterations) + seed) % 5 != 0) continue;
                stablehlo::Program altered = program;
                Operation& operation = *operations_of(altered).at(k);
                if (!alter(operation)) continue;
                ++read_;
                lower_or_refuse(altered);
                ASSERT_FALSE(HasFailure())
                    << operation.name << ", operation " << k << ", alteration " << &alter - alterations;
            }
        }
    }
    std::printf("seed %llu: %zu programs, %zu of them graphs\n", static_cast<unsigned long long>(seed), read_,
                lowered_);
    EXPECT_GT(read_, 200u);
}

/// Lists of numbers, of attributes or dimensions, that are longer, shorter, or have another number.
using NumbersAlteration = void (*)(std::vector<std::int64_t>&);
constexpr NumbersAlteration number_alterations[] = {
    [](std::vector<std::int64_t>& all) { all.push_back(1); },
    [](std::vector<std::int64_t>& all) { all.insert(all.begin(), 3); },
    [](std::vector<std::int64_t>& all) {
        if (!all.empty()) all.pop_back();
    },
    [](std::vector<std::int64_t>& all) {
        if (!all.empty()) all.front() = 0;
    },
    [](std::vector<std::int64_t>& all) {
        if (!all.empty()) all.back() += 1;
    },
    [](std::vector<std::int64_t>& all) {
        if (!all.empty()) all.back() -= 1;
    },
    [](std::vector<std::int64_t>& all) {
        if (!all.empty()) all.front() = -7;
    },
    [](std::vector<std::int64_t>& all) {
        if (!all.empty()) all.back() = 1 << 20;
    },
    [](std::vector<std::int64_t>& all) { std::reverse(all.begin(), all.end()); },
};

/// Attributes that are missing, or say what others say, or other numbers; values of other types. One way in five,
/// others with each seed.
TEST_F(StablehloDamaged, AlteredAttributesAndTypes) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    std::uint64_t way = seed;
    for (const auto& path : test::stablehlo_files()) {
        if (path.extension() != ".mlir") continue;
        SCOPED_TRACE(path.filename().string());
        const stablehlo::Program program = stablehlo::read_program(SharedBytes(read_file(path)));
        const auto try_it = [&](const std::string& what, const std::function<void(stablehlo::Program&)>& alter) {
            if (way++ % 5 != 0 || HasFailure()) return;
            stablehlo::Program altered = program;
            alter(altered);
            ++read_;
            lower_or_refuse(altered);
            EXPECT_FALSE(HasFailure()) << what;
        };
        stablehlo::Program counted = program;
        std::vector<stablehlo::AttributePointer> values;
        for (const Operation* operation : operations_of(counted))
            for (const auto& [name, value] : operation->attributes) values.push_back(value);
        std::size_t k = 0, next = 0;
        for (const Operation* operation : operations_of(counted)) {
            for (std::size_t a = 0; a < operation->attributes.size(); ++a, ++next) {
                const std::string what = operation->name + " " + operation->attributes[a].first;
                try_it(what + " is missing", [&](stablehlo::Program& altered) {
                    auto& attributes = operations_of(altered)[k]->attributes;
                    attributes.erase(attributes.begin() + static_cast<std::ptrdiff_t>(a));
                });
                const auto* numbers = operation->attributes[a].second->as<stablehlo::Numbers>();
                for (const NumbersAlteration alter : number_alterations) {
                    if (!numbers) break;
                    try_it(what + " has other numbers", [&](stablehlo::Program& altered) {
                        stablehlo::Numbers other = *numbers;
                        alter(other.values);
                        operations_of(altered)[k]->attributes[a].second = stablehlo::attribute(std::move(other));
                    });
                }
                for (const std::size_t step : {1, 2, 3, 7}) {
                    try_it(what + " is another one", [&](stablehlo::Program& altered) {
                        operations_of(altered)[k]->attributes[a].second = values[(next + step) % values.size()];
                    });
                }
            }
            ++k;
        }
        for (std::size_t f = 0; f < program.functions.size(); ++f) {
            const std::vector<stablehlo::TypePointer>& types = program.functions[f].values;
            for (std::size_t v = 0; v < types.size(); ++v) {
                for (const NumbersAlteration alter : number_alterations) {
                    try_it("dimensions of value " + std::to_string(v), [&](stablehlo::Program& altered) {
                        std::vector<std::int64_t> dims = types[v]->dims;
                        alter(dims);
                        for (std::int64_t& d : dims) d = std::max(d, stablehlo::unknown);
                        altered.functions[f].values[v] = stablehlo::tensor_type(types[v]->element, std::move(dims));
                    });
                }
                for (const std::size_t step : {1, 2, 5}) {
                    try_it("value " + std::to_string(v), [&](stablehlo::Program& altered) {
                        altered.functions[f].values[v] = types[(v + step) % types.size()];
                    });
                }
            }
        }
    }
    std::printf("seed %llu: %zu programs, %zu of them graphs\n", static_cast<unsigned long long>(seed), read_,
                lowered_);
    EXPECT_GT(read_, 200u);
}

}  // namespace
}  // namespace tosavk
