// Packages that somebody altered on purpose, their checksums mended: what lies behind the checksum must refuse them
// with a sentence, or come to no harm. Real packages of many kinds, altered as bytes and as the plans that they hold.
//
// A package is to be trusted like a program: its SPIR-V goes to the driver as it is. So what is altered there is read,
// not compiled, and only plans whose dispatches do what they did are run.
#include "base/digest.hpp"
#include "store/package.hpp"
#include "support/driver.hpp"
#include "support/environment.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using Random = std::mt19937_64;

constexpr std::size_t header_bytes = 32;

void seal(Bytes& file) {
    const std::uint64_t size = file.size(), sum = checksum(std::span(file).subspan(header_bytes));
    std::memcpy(file.data() + 16, &size, sizeof size);
    std::memcpy(file.data() + 24, &sum, sizeof sum);
}

/// A number that sizes, offsets and counts go wrong at.
std::uint64_t edge(Random& random) {
    constexpr std::uint64_t edges[] = {0,
                                       1,
                                       2,
                                       15,
                                       16,
                                       17,
                                       255,
                                       256,
                                       4096,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       std::uint64_t{1} << 32,
                                       std::uint64_t{1} << 40,
                                       std::uint64_t{1} << 62,
                                       std::uint64_t{1} << 63,
                                       ~std::uint64_t{0} - 15,
                                       ~std::uint64_t{0}};
    const std::uint64_t number = edges[random() % std::size(edges)];
    return random() % 4 == 0 ? number + random() % 9 - 4 : number;
}

class PackageFuzz : public ::testing::Test {
protected:
    struct Made {
        std::string line;
        Bytes file;
    };

    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        device_.emplace();
        for (const char* line :
             {"conv2d i8 1x9x9x3 5x3x3 s1 p1 rescale clamp", "softmax f32 3x16", "matmul f32 2x5x7x9", "sort i32 4x64",
              "chain f32 64 add mul sigmoid", "cond_if f32 64", "while_loop f32 64 3", "variable_write f32 64",
              "segment_reduce f32 16x4 5", "concat f32 2x3x4 2x3x4 axis1", "cumulate f32 300"}) {
            try {
                made_.push_back({line, cpp::save_package(*device_, cpp::Graph::problem(line))});
            } catch (const cpp::Error& e) {
                ADD_FAILURE() << line << ": " << e.what();
            }
        }
        cpp::Builder builder("state and nothing");
        const cpp::TensorType type{TOSAVK_FP32, {4}}, none{TOSAVK_FP32, {0, 3}};
        builder.variable("kept", type);
        const auto read = builder.node("VARIABLE_READ", {}, {{"name", "kept"}}, {type}).at(0);
        const auto sum = builder.node1("ADD", {builder.input("x", type), read});
        builder.node("VARIABLE_WRITE", std::span(&sum, 1), {{"name", "kept"}});
        builder.output(sum);
        builder.output(sum);
        builder.output(builder.node1("ABS", {builder.input("nothing", none)}));
        made_.push_back({"state and nothing", cpp::save_package(*device_, builder.finish())});
    }

    /// Whether it was accepted; anything but that or a refusal with a sentence fails the test.
    bool try_out(const Bytes& file, bool compile, bool run) {
        try {
            const cpp::Graph graph = cpp::Graph::load(file);
            EXPECT_NE(graph.print(), "");
            if (!compile) return true;
            const cpp::Executable executable(*device_, graph);
            EXPECT_NE(executable.print(TOSAVK_EXECUTABLE_PLAN), "");
            cpp::Context context(executable);
            if (!run) return true;
            for (std::uint32_t k = 0; k < graph.input_count(); ++k) context.set_input(k, graph.random_input(k, 1));
            context.run();
            for (std::uint32_t k = 0; k < graph.output_count(); ++k) {
                Bytes output(graph.output(k).size_bytes);
                context.get_output(k, output);
            }
            return true;
        } catch (const cpp::Error& e) {
            const auto status = e.status();
            EXPECT_TRUE(status == TOSAVK_ERROR_BAD_MODEL || status == TOSAVK_ERROR_UNSUPPORTED ||
                        status == TOSAVK_ERROR_OUT_OF_MEMORY)
                << status << ": " << e.what();
            EXPECT_STRNE(e.what(), "");
            return false;
        }
    }

    static std::uint64_t seed() { return test::number_from_environment("TOSAVK_TEST_SEED", 1); }
    static std::uint64_t cases() { return test::number_from_environment("TOSAVK_TEST_CASES", 40); }

    std::optional<cpp::Device> device_;
    std::vector<Made> made_;
};

void alter_bytes(Bytes& file, Random& random) {
    const auto anywhere = [&] { return header_bytes + random() % (file.size() - header_bytes); };
    const std::size_t at = anywhere();
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 6) {
        case 0: *begin = static_cast<std::byte>(random()); break;
        case 1: *begin ^= static_cast<std::byte>(1u << random() % 8); break;
        case 2: {
            const std::uint64_t number = edge(random);
            const std::size_t width = std::size_t{1} << random() % 4;
            std::memcpy(&*begin, &number, std::min(width, file.size() - at));
            break;
        }
        case 3: {  // another part of the file
            const std::size_t from = anywhere(), most = file.size() - std::max(at, from);
            std::memmove(&*begin, &file[from], 1 + random() % std::min<std::size_t>(most, 64));
            break;
        }
        case 4:
            file.erase(begin,
                       begin + static_cast<std::ptrdiff_t>(1 + random() % std::min<std::size_t>(32, file.size() - at)));
            break;
        default: file.insert(begin, 1 + random() % 32, static_cast<std::byte>(random()));
    }
    if (file.size() <= header_bytes) file.resize(header_bytes + 1);
}

TEST_F(PackageFuzz, AlteredBytes) {
    Random random(seed());
    std::uint64_t accepted = 0, all = 0;
    for (const Made& made : made_) {
        for (std::uint64_t k = 0; k < 25 * cases(); ++k, ++all) {
            Bytes file = made.file;
            for (std::uint64_t n = 1 + random() % 3; n > 0; --n) alter_bytes(file, random);
            seal(file);
            accepted += try_out(file, false, false) ? 1 : 0;
            ASSERT_FALSE(HasFailure()) << made.line << ", case " << k << " of seed " << seed();
        }
    }
    std::printf("seed %llu: %llu files, %llu accepted\n", static_cast<unsigned long long>(seed()),
                static_cast<unsigned long long>(all), static_cast<unsigned long long>(accepted));
    EXPECT_GT(accepted, 0u) << "constants and names may be anything";
}

// ---- plans
// -----------------------------------------------------------------------------------------------------------

/// Every plan within one, and the places within it.
void collect(Plan& plan, std::vector<Plan*>& plans) {
    plans.push_back(&plan);
    for (ControlStep& control : plan.controls)
        for (RegionPlan& region : control.regions) collect(region.plan, plans);
}

std::vector<Placement*> places_of(Plan& plan) {
    std::vector<Placement*> places;
    const auto add = [&](std::vector<Copy>& copies) {
        for (Copy& copy : copies) places.insert(places.end(), {&copy.from, &copy.to});
    };
    for (Placement& place : plan.placements) places.push_back(&place);
    for (Placement& place : plan.variables) places.push_back(&place);
    for (Placement& place : plan.externals) places.push_back(&place);
    for (Dispatch& dispatch : plan.dispatches) {
        places.push_back(&dispatch.arguments);
        for (Binding& binding : dispatch.bindings) places.push_back(&binding.place);
    }
    for (ControlStep& control : plan.controls) {
        places.push_back(&control.condition);
        add(control.prepare);
        add(control.answer);
        for (RegionPlan& region : control.regions) {
            add(region.enter);
            add(region.leave);
        }
    }
    return places;
}

template <class T> void shuffle_some(std::vector<T>& list, Random& random) {
    if (list.empty()) return;
    const std::size_t at = random() % list.size();
    switch (random() % 4) {
        case 0: list.erase(list.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: list.push_back(list[at]); break;
        case 2: std::swap(list[at], list[random() % list.size()]); break;
        default: list.insert(list.begin(), list[at]);
    }
}

/// What is altered; `runs` becomes false where dispatches would do another thing than they did.
void alter_plan(Package& package, Random& random, bool& runs) {
    std::vector<Plan*> plans;
    collect(package.plan, plans);
    Plan& plan = *plans[random() % plans.size()];
    const std::vector<Placement*> places = places_of(plan);
    switch (random() % 12) {
        case 0:
        case 1:
        case 2: {
            if (places.empty()) break;
            Placement& place = *places[random() % places.size()];
            const Placement& other = *places[random() % places.size()];
            switch (random() % 6) {
                case 0: place.offset = edge(random); break;
                case 1: place.size = edge(random); break;
                case 2: place.space = static_cast<Space>(random() % 6); break;
                case 3: place = other; break;
                case 4: place.offset += 16 * (random() % 64); break;
                default: place.size += 16 * (random() % 64);
            }
            break;
        }
        case 3: plan.arena_bytes = edge(random); break;
        case 4: plan.state_bytes = edge(random); break;
        case 5: plan.external_bytes = edge(random); break;
        case 6: plan.decisions = static_cast<std::uint32_t>(edge(random)); break;
        case 7: shuffle_some(plan.placements, random); break;
        case 8: random() % 2 ? shuffle_some(plan.externals, random) : shuffle_some(plan.variables, random); break;
        case 9:
            runs = false;
            shuffle_some(plan.controls, random);
            for (ControlStep& control : plan.controls) {
                if (random() % 2) control.before = edge(random);
                if (random() % 2) control.node = static_cast<NodeId>(edge(random));
                if (random() % 2) control.is_loop = !control.is_loop;
                if (random() % 4 == 0) control.turns = static_cast<std::int64_t>(edge(random));
                if (random() % 4 == 0) control.most = static_cast<std::int64_t>(edge(random));
                shuffle_some(control.regions, random);
                shuffle_some(control.prepare, random);
            }
            break;
        case 10:
            runs = false;
            shuffle_some(plan.dispatches, random);
            for (Dispatch& dispatch : plan.dispatches) {
                switch (random() % 8) {
                    case 0: dispatch.groups[random() % 3] = static_cast<std::uint32_t>(edge(random)); break;
                    case 1: dispatch.invocations = static_cast<std::uint32_t>(edge(random)); break;
                    case 2: dispatch.subgroup_size = static_cast<std::uint32_t>(edge(random)); break;
                    case 3: dispatch.nodes.push_back(static_cast<NodeId>(edge(random))); break;
                    case 4: dispatch.written.push_back(static_cast<ValueId>(edge(random))); break;
                    case 5: shuffle_some(dispatch.bindings, random); break;
                    case 6:
                        for (Binding& binding : dispatch.bindings) {
                            if (random() % 2) binding.written = !binding.written;
                            if (random() % 4 == 0) binding.type = static_cast<DType>(random() % 11);
                            if (random() % 4 == 0) binding.path = static_cast<ReadPath>(random() % 3);
                        }
                        break;
                    default: dispatch.label = std::string(random() % 5000, '\xff');
                }
            }
            break;
        default:
            runs = false;
            shuffle_some(package.inputs, random);
            shuffle_some(package.outputs, random);
    }
}

TEST_F(PackageFuzz, AlteredPlans) {
    Random random(seed() ^ 0x5eed);
    std::uint64_t accepted = 0, ran = 0, all = 0;
    for (const Made& made : made_) {
        const Package whole = read_package(made.file);
        for (std::uint64_t k = 0; k < 5 * cases(); ++k, ++all) {
            Package package = whole;
            bool runs = package.plan.controls.empty();  // a loop whose condition lies elsewhere need not end
            for (std::uint64_t n = 1 + random() % 2; n > 0; --n) alter_plan(package, random, runs);
            Bytes file;
            try {
                file = write_package(package);
            } catch (const Error&) {
                continue;  // a dispatch without its shader
            }
            const bool was_accepted = try_out(file, true, runs);
            accepted += was_accepted ? 1 : 0;
            ran += was_accepted && runs ? 1 : 0;
            ASSERT_FALSE(HasFailure()) << made.line << ", case " << k << " of seed " << seed();
        }
    }
    std::printf("seed %llu: %llu plans, %llu accepted, %llu ran\n", static_cast<unsigned long long>(seed()),
                static_cast<unsigned long long>(all), static_cast<unsigned long long>(accepted),
                static_cast<unsigned long long>(ran));
    EXPECT_GT(ran, 0u) << "some places are as good as others";
}

/// Each of these alone must be seen: nothing else stands between them and a device that does what they say.
TEST_F(PackageFuzz, WhatMakesAGateAnotherOne) {
    ASSERT_EQ(setenv("TOSAVK_NO_COUNTED_TURNS", "1", 1), 0);  // so that the loop has a gate
    Package whole = read_package(cpp::save_package(*device_, cpp::Graph::problem("while_loop f32 64 3")));
    ASSERT_TRUE(whole.plan.controls.at(0).is_gated());
    ASSERT_EQ(whole.plan.controls[0].most, 3);
    using Step = ControlStep&;
    const Copy copy{whole.plan.controls[0].regions[1].leave.at(0)};
    const std::pair<const char*, std::function<void(Step)>> changes[] = {
        {"turns without end", [](Step c) { c.most = std::numeric_limits<std::int64_t>::max(); }},
        {"more turns than the graph allows", [](Step c) { c.most = 4; }},
        {"an answer that nobody reads", [&](Step c) { c.answer = {copy}; }},
        {"the host decides, and nothing answers", [](Step c) { c.most = -1; }},
        {"arguments of another dispatch", [](Step c) { c.regions[1].plan.dispatches[0].arguments.offset += 12; }},
        {"no arguments", [](Step c) { c.regions[1].plan.dispatches[0].arguments = {}; }},
        {"other workgroups", [](Step c) { ++c.regions[1].plan.dispatches[0].groups[0]; }},
        {"fewer numbers", [](Step c) { c.regions[2].plan.dispatches[0].constants = {1}; }},
        {"copies behind the gate", [&](Step c) { c.regions[2].leave = {copy}; }},
        {"copies before the gate", [&](Step c) { c.regions[2].enter = {copy}; }},
        {"a table elsewhere", [](Step c) { c.regions[2].plan.dispatches[0].bindings[1].place.space = Space::arena; }},
        {"no gate", [](Step c) { c.regions.pop_back(); }}};
    for (const auto& [what, change] : changes) {
        Package package = whole;
        change(package.plan.controls[0]);
        EXPECT_FALSE(try_out(write_package(package), true, false)) << what;
    }
    EXPECT_TRUE(try_out(write_package(whole), true, true));
    unsetenv("TOSAVK_NO_COUNTED_TURNS");
}

TEST_F(PackageFuzz, AlteredPlansOfLoopsThatTheDeviceDecides) {
    ASSERT_EQ(setenv("TOSAVK_NO_COUNTED_TURNS", "1", 1), 0);  // so that the loop has a gate
    Random random(seed() ^ 0x9a7e);
    const Package whole = read_package(cpp::save_package(*device_, cpp::Graph::problem("while_loop f32 64 3")));
    ASSERT_EQ(whole.plan.controls.at(0).regions.size(), 3u);
    EXPECT_TRUE(try_out(write_package(whole), true, true));
    std::uint64_t accepted = 0;
    for (std::uint64_t k = 0; k < 20 * cases(); ++k) {
        Package package = whole;
        bool runs = false;
        alter_plan(package, random, runs);
        try {
            accepted += try_out(write_package(package), true, false) ? 1 : 0;
        } catch (const Error&) {  // a dispatch without its shader
        }
        ASSERT_FALSE(HasFailure()) << "case " << k << " of seed " << seed();
    }
    EXPECT_LT(accepted, 20 * cases()) << "a gate is for its own loop";
    unsetenv("TOSAVK_NO_COUNTED_TURNS");
}

}  // namespace
