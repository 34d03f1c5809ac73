// Packages without a device: what was written comes back, and damaged or invented files are refused.
#include "store/package.hpp"

#include "frontends/frontend.hpp"
#include "ops/builder.hpp"
#include "ops/compare.hpp"
#include "ops/op.hpp"
#include "spirv/glslang.hpp"
#include "support/control_graphs.hpp"
#include "support/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>

namespace tosavk {
namespace {

/// Two dispatches: MATMUL with a constant, then REDUCE_SUM, and a CLAMP behind each.
Graph small_graph() {
    GraphBuilder builder("small");
    const ValueId x = builder.input("x", DType::fp32, {1, 3, 5});
    std::vector<float> weights(20);
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = static_cast<float>(k) - 9;
    const ValueId w = builder.constant_floats("w", DType::fp32, {1, 5, 4}, weights);
    Attributes clamp;
    clamp.min_val = -2;
    clamp.max_val = 3;
    const ValueId zero = builder.scalar(DType::fp32, 0);
    const ValueId product = builder.add1(Op::matmul, {x, w, zero, zero}, DType::fp32);
    const ValueId low = builder.add1(Op::clamp, {product}, DType::fp32, clamp);
    Attributes axis;
    axis.axis = 1;
    const ValueId sum = builder.add1(Op::reduce_sum, {low}, DType::fp32, axis);
    builder.output(builder.add1(Op::clamp, {sum}, DType::fp32, clamp));
    return builder.finish();
}

DevicePlan some_device() {
    DevicePlan device;
    device.max_binding_bytes = 1 << 27;
    return device;
}

Package small_package(const Graph& source = small_graph()) {
    Package package;
    package.tosa = write_tosa(source);
    const Graph graph = import_tosa(package.tosa, {});
    package.inputs.resize(graph.inputs.size());
    package.outputs.resize(graph.outputs.size());
    package.inputs.at(0) = {0.5, 3};
    package.outputs.at(0) = {0.25, -7};
    package.target = package_target(some_device(), {});
    package.numbering = graph_numbering(graph);
    package.plan = make_plan(graph, some_device(), {});
    std::set<std::string> seen;
    for_each_dispatch(package.plan, [&](const Dispatch& dispatch) {
        if (dispatch.glsl.empty() || !seen.insert(dispatch.glsl).second) return;
        package.shaders.push_back({dispatch.glsl, compile_glsl(dispatch.glsl, dispatch.kernel)});
    });
    return package;
}

/// The same with one instruction for each shader, so that tests of damage read few bytes; no device could run it.
Package tiny_package() {
    Package package = small_package();
    std::map<std::string, std::string> names;
    for (PackagedShader& shader : package.shaders) {
        const std::string name = "source " + std::to_string(names.size());
        names[shader.glsl] = name;
        shader.glsl = name;
        // A header, and OpDecorate %1 Binding 0.
        shader.spirv = {0x07230203, 0x00010300, 0, 2, 0, 4u << 16 | 71, 1, 33, 0};
    }
    for (Dispatch& dispatch : package.plan.dispatches) dispatch.glsl = names.at(dispatch.glsl);
    return package;
}

Graph graph_of(const Package& package) { return import_tosa(package.tosa, {}); }

/// True when it was refused as a bad model, with a sentence; anything but acceptance or that fails the test.
bool refused(std::span<const std::byte> file) {
    try {
        const Package package = read_package(file);
        check_package(package, graph_of(package));
        return false;
    } catch (const Error& e) {
        EXPECT_TRUE(e.code() == ErrorCode::bad_model || e.code() == ErrorCode::unsupported) << e.what();
        EXPECT_STRNE(e.what(), "");
        return true;
    }
}

/// Makes the checksum right again.
void seal(Bytes& file) {
    const std::uint64_t size = file.size(), sum = checksum(std::span(file).subspan(32));
    std::memcpy(file.data() + 16, &size, sizeof size);
    std::memcpy(file.data() + 24, &sum, sizeof sum);
}

TEST(Package, ComesBackWhole) {
    Package made = small_package();
    ASSERT_EQ(made.plan.dispatches.size(), 2u);
    made.plan.dispatches[0].invocations = 256;
    made.plan.dispatches[0].subgroup_size = 32;
    const Bytes file = write_package(made);
    ASSERT_TRUE(is_package(file));
    const Package read = read_package(file);
    const Graph graph = graph_of(read);
    check_package(read, graph);
    EXPECT_EQ(graph_difference(graph, small_graph()), "");
    EXPECT_EQ(print_plan(graph, read.plan), print_plan(graph, made.plan));
    EXPECT_EQ(read.plan.constants.all(), made.plan.constants.all());
    EXPECT_EQ(read.target, made.target);
    EXPECT_EQ(read.numbering, graph_numbering(graph));
    EXPECT_EQ(read.inputs.at(0).scale, 0.5);
    EXPECT_EQ(read.outputs.at(0).zero_point, -7);
    ASSERT_EQ(read.shaders.size(), made.shaders.size());
    for (std::size_t k = 0; k < made.shaders.size(); ++k) {
        EXPECT_EQ(read.shaders[k].glsl, made.shaders[k].glsl);
        EXPECT_EQ(read.shaders[k].spirv, made.shaders[k].spirv);
        EXPECT_EQ(read.plan.dispatches[k].glsl, made.plan.dispatches[k].glsl);
        EXPECT_EQ(read.plan.dispatches[k].constants, made.plan.dispatches[k].constants);
        EXPECT_EQ(read.plan.dispatches[k].invocations, made.plan.dispatches[k].invocations);
        EXPECT_EQ(read.plan.dispatches[k].subgroup_size, made.plan.dispatches[k].subgroup_size);
        EXPECT_EQ(read.plan.dispatches[k].nodes, made.plan.dispatches[k].nodes);
        EXPECT_EQ(read.plan.dispatches[k].barrier_before, made.plan.dispatches[k].barrier_before);
    }
    EXPECT_EQ(write_package(read), file);
}

TEST(Package, HoldsControlFlowAndVariables) {
    for (const Graph& source : {testing::nested_graph(), testing::state_in_loop_graph()}) {
        const Package made = small_package(source);
        ASSERT_FALSE(made.plan.controls.empty());
        const Bytes file = write_package(made);
        const Package read = read_package(file);
        const Graph graph = graph_of(read);
        check_package(read, graph);
        EXPECT_EQ(graph_difference(graph, source), "");
        EXPECT_EQ(print_plan(graph, read.plan), print_plan(graph, made.plan));
        EXPECT_EQ(write_package(read), file);
        Package wrong = read;
        wrong.plan.controls[0].regions.pop_back();
        EXPECT_TRUE(refused(write_package(wrong)));
        wrong = read;
        wrong.plan.controls[0].before = 99;
        EXPECT_TRUE(refused(write_package(wrong)));
        wrong = read;
        wrong.plan.controls[0].regions[1].plan.placements.clear();
        EXPECT_TRUE(refused(write_package(wrong)));
        for (std::size_t size = 32; size < file.size(); size += 1 + file.size() / 1000) {
            Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
            seal(cut);
            EXPECT_TRUE(refused(cut)) << size << " bytes";
        }
    }
    // Where the loop's end is a constant once it is folded.
    const Package counted = small_package(testing::counted_graph());
    ASSERT_EQ(counted.plan.controls.at(0).turns, 5);
    EXPECT_FALSE(refused(write_package(counted)));
    Package branch = small_package(testing::branch_graph());
    branch.plan.controls.at(0).turns = 2;
    EXPECT_TRUE(refused(write_package(branch)));
    // A branch that compares is no loop that counts.
    const auto compares = [](bool turned) {
        GraphBuilder region("compares");
        const ValueId x = region.input("x", DType::i32, {1}), y = region.input("y", DType::i32, {1});
        region.output(region.add1(Op::greater, turned ? std::vector{y, x} : std::vector{x, y}, DType::boolean));
        return region.finish_region();
    };
    GraphBuilder b("branch");
    const ValueId x = b.input("x", DType::i32, {1}), which = b.input("which", DType::boolean, {1});
    b.output(b.cond_if(which, {x, b.scalar(DType::i32, 3)}, compares(false), compares(true), "if").at(0));
    const Package compared = small_package(b.finish());
    ASSERT_EQ(compared.plan.controls.size(), 1u);
    EXPECT_FALSE(refused(write_package(compared)));
    // A step for a node that has no regions.
    Package none = counted;
    const Graph graph = graph_of(none);
    const auto plain =
        std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return n.regions.empty(); });
    if (plain != graph.nodes.end()) {
        none.plan.controls[0].node = static_cast<NodeId>(plain - graph.nodes.begin());
        none.plan.controls[0].regions.clear();
        none.plan.controls[0].is_loop = false;
        EXPECT_TRUE(refused(write_package(none)));
    }
    // Plans within plans without end.
    Package deep = tiny_package();
    for (int level = 0; level < 400; ++level) {
        ControlStep step;
        step.regions.resize(1);
        step.regions[0].plan = std::move(deep.plan);
        deep.plan = {};
        deep.plan.controls.push_back(std::move(step));
    }
    EXPECT_TRUE(refused(write_package(std::move(deep))));
}

TEST(Package, ItsTargetIsTheDevicePlanAndTheOptions) {
    const Digest target = package_target(some_device(), {});
    EXPECT_EQ(package_target(some_device(), {}), target);
    DevicePlan device = some_device();
    device.reasons = {"a sentence changes nothing"};
    EXPECT_EQ(package_target(device, {}), target);
    device.max_buffers = 7;
    EXPECT_NE(package_target(device, {}), target);
    device = some_device();
    device.int64 = !device.int64;
    EXPECT_NE(package_target(device, {}), target);
    device = some_device();
    device.exact_reciprocals = !device.exact_reciprocals;
    EXPECT_NE(package_target(device, {}), target);
    PlanOptions options;
    options.fuse = false;
    EXPECT_NE(package_target(some_device(), options), target);
}

TEST(Package, IsRefusedAtEveryLength) {
    const Bytes file = write_package(tiny_package());
    ASSERT_FALSE(refused(file));
    for (std::size_t size = 0; size < file.size(); ++size) {
        EXPECT_TRUE(refused(std::span(file).first(size))) << size << " bytes";
        Bytes sealed(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
        if (size < 32) continue;
        seal(sealed);
        EXPECT_TRUE(refused(sealed)) << size << " bytes with a checksum";
    }
    Bytes longer = file;
    longer.push_back(std::byte{0});
    EXPECT_TRUE(refused(longer));
    seal(longer);
    EXPECT_TRUE(refused(longer)) << "with a checksum";
}

TEST(Package, IsRefusedWithAnyBitFlipped) {
    Bytes file = write_package(tiny_package());
    for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
        file[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        EXPECT_TRUE(refused(file)) << "bit " << bit;
        file[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    }
}

// Files that somebody made on purpose: any byte changed and the checksum right. Whatever comes of them is a refusal or
// a plan whose numbers stay within its graph.
TEST(Package, InventedBytesAreRefusedOrHarmless) {
    const Bytes file = write_package(tiny_package());
    const auto seed = static_cast<unsigned>(test::number_from_environment("TOSAVK_TEST_SEED", 1));
    std::mt19937 random(seed);
    int accepted = 0;
    for (std::size_t at = 32; at < file.size(); ++at) {
        for (const unsigned value : {0u, 1u, 0x7fu, 0x80u, 0xffu, static_cast<unsigned>(random() & 255)}) {
            Bytes changed = file;
            changed[at] = static_cast<std::byte>(value);
            seal(changed);
            accepted += refused(changed) ? 0 : 1;
        }
    }
    for (int turn = 0; turn < 3000; ++turn) {
        Bytes changed = file;
        for (std::size_t n = 1 + random() % 8; n > 0; --n) {
            changed[32 + random() % (file.size() - 32)] = static_cast<std::byte>(random());
        }
        seal(changed);
        accepted += refused(changed) ? 0 : 1;
    }
    EXPECT_GT(accepted, 0) << "seed " << seed << ": names and sizes may be changed";
}

TEST(Package, APlanThatDoesNotFitItsGraphIsRefused) {
    const auto is_refused = [](auto change) {
        Package package = tiny_package();
        change(package);
        return refused(write_package(package));
    };
    EXPECT_FALSE(is_refused([](Package&) {}));
    EXPECT_TRUE(is_refused([](Package& p) { p.plan.placements.pop_back(); }));
    EXPECT_TRUE(is_refused([](Package& p) { p.plan.dispatches[0].nodes = {99}; }));
    EXPECT_TRUE(is_refused([](Package& p) { p.plan.dispatches[1].written = {no_id}; }));
    EXPECT_TRUE(is_refused([](Package& p) { p.inputs.clear(); }));
    const auto refuses_workgroup = [&](std::uint32_t invocations, std::uint32_t subgroup_size) {
        return is_refused([=](Package& p) {
            p.plan.dispatches[0].invocations = invocations;
            p.plan.dispatches[0].subgroup_size = subgroup_size;
        });
    };
    EXPECT_FALSE(refuses_workgroup(256, 32));
    EXPECT_TRUE(refuses_workgroup(512, 32));
    EXPECT_TRUE(refuses_workgroup(0, 32));
    EXPECT_FALSE(refuses_workgroup(256, 0));  // tiles of products that share their sums
    EXPECT_TRUE(refuses_workgroup(512, 0));
    EXPECT_TRUE(is_refused([](Package& p) { p.plan.placements[graph_of(p).outputs[0]] = {}; }));
    EXPECT_TRUE(is_refused([](Package& p) { p.shaders[0].spirv[0] = 1; }));
    EXPECT_TRUE(is_refused([](Package& p) { p.shaders[0].spirv[5] += 1u << 16; }));
    EXPECT_TRUE(is_refused([](Package& p) { p.shaders[0].spirv[5] = 71; })) << "an instruction of no length";
    EXPECT_TRUE(is_refused([](Package& p) { p.shaders[0].spirv[8] = 40; })) << "a buffer that is not bound";
    EXPECT_TRUE(is_refused([](Package& p) { p.shaders[0].spirv.clear(); }));
    EXPECT_TRUE(is_refused([](Package& p) { p.tosa.clear(); }));
}

TEST(Package, ForeignKernelsCannotBePackaged) {
    Package package = tiny_package();
    package.shaders.pop_back();
    try {
        write_package(package);
        FAIL() << "a source without its shader was written";
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::unsupported);
    }
}

}  // namespace
}  // namespace tosavk
