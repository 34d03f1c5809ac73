// The disk cache and packages at work: what one device or process has compiled, the next one does not.
#include "compile/plan/plan.hpp"
#include "frontends/frontend.hpp"
#include "spirv/glslang.hpp"
#include "store/seed.hpp"
#include "support/control_graphs.hpp"
#include "support/driver.hpp"
#include "support/small_models.hpp"
#include "support/spawn.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"
#include "vk/core/device.hpp"
#include "vk/measure/open_device.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <thread>

namespace {

using namespace tosavk;
namespace fs = std::filesystem;
using nlohmann::json;

class CacheGpu : public ::testing::Test {
protected:
    void SetUp() override {
        TOSAVK_NEEDS_DRIVER();
        folder_ = fs::temp_directory_path() / ("tosavk-cache-gpu-" + std::to_string(::getpid()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        if (const char* old = std::getenv("TOSAVK_CACHE_DIR")) old_directory_ = old;
        ::setenv("TOSAVK_CACHE_DIR", cache().c_str(), 1);
        if (const char* old = std::getenv("TOSAVK_SEED")) old_seed_ = old;
        ::setenv("TOSAVK_SEED", "", 1);
    }
    void TearDown() override {
        if (folder_.empty()) return;
        if (old_directory_.empty()) ::unsetenv("TOSAVK_CACHE_DIR");
        else ::setenv("TOSAVK_CACHE_DIR", old_directory_.c_str(), 1);
        ::unsetenv("TOSAVK_NO_CACHE");
        if (old_seed_) ::setenv("TOSAVK_SEED", old_seed_->c_str(), 1);
        else ::unsetenv("TOSAVK_SEED");
        fs::remove_all(folder_);
    }

    fs::path cache() const { return folder_ / "cache"; }
    fs::path cache_file() const {
        for (const auto& entry : fs::directory_iterator(cache())) {
            if (entry.path().extension() == ".cache") return entry.path();
        }
        return {};
    }

    struct Ran {
        tosavk_counters counters;
        std::vector<std::byte> output;
    };
    /// Opens a device of its own, compiles and runs.
    static Ran run(const cpp::Graph& graph, bool fuse = true) {
        const cpp::Device device;
        const cpp::Executable executable(device, graph, fuse);
        cpp::Context context(executable);
        for (std::uint32_t k = 0; k < graph.input_count(); ++k) context.set_input(k, graph.random_input(k, 3));
        context.run();
        Ran result{context.counters(), std::vector<std::byte>(graph.output(0).size_bytes)};
        context.get_output(0, result.output);
        return result;
    }
    static Ran run() { return run(cpp::Graph::load(test::small_int8_model())); }

    /// A package of the small model.
    std::string package(bool fuse = true) const {
        const std::string path = (folder_ / (fuse ? "fused.tvk" : "unfused.tvk")).string();
        cpp::save_package(cpp::Device(), cpp::Graph::load(test::small_int8_model()), path, fuse);
        return path;
    }
    std::string model() const {
        const Bytes bytes = test::small_int8_model();
        const std::string path = (folder_ / "model.tflite").string();
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path;
    }
    /// A seed with the shaders of the small model on this device.
    std::string seed() const {
        const Graph graph = import_model(test::small_int8_model(), "small.tflite", {});
        const auto device = open_device("");
        std::map<std::string, std::vector<std::uint32_t>> shaders;
        for_each_dispatch(make_plan(graph, device->plan(), with_environment({})), [&](const Dispatch& dispatch) {
            shaders[dispatch.glsl] = without_names(compile_glsl(dispatch.glsl, dispatch.kernel));
        });
        std::vector<EntryToWrite> entries;
        for (const auto& [glsl, words] : shaders) {
            EntryToWrite& entry = entries.emplace_back();
            entry.key = {EntryKind::spirv, sha256(glsl)};
            entry.bytes = std::as_bytes(std::span(words));
        }
        const fs::path path = folder_ / "shaders.seed";
        EXPECT_TRUE(write_entries(path, seed_identity(), entries, 0644));
        return path.string();
    }

    static std::string device_type() { return json::parse(cpp::Device::describe(0)).at("caps").at("type"); }

    /// Opened without a cache such a device compiles what it checks its cooperative matrices with.
    static bool checks_matrices() {
        return device_type() != "cpu" &&
               json::parse(cpp::Device::describe(0)).at("caps").at("cooperative_fp16") != json{0, 0, 0};
    }

    fs::path folder_;
    std::string old_directory_;
    std::optional<std::string> old_seed_;
};

TEST_F(CacheGpu, ASecondDeviceCompilesNothing) {
    const Ran cold = run();
    EXPECT_GT(cold.counters.shaders_compiled, 0u);
    EXPECT_EQ(cold.counters.shaders_loaded, 0u);
    EXPECT_EQ(cold.counters.compiler_started, 1u);
    const Ran warm = run();
    EXPECT_EQ(warm.counters.shaders_compiled, 0u);
    EXPECT_EQ(warm.counters.shaders_loaded, cold.counters.shaders_compiled);
    EXPECT_EQ(warm.counters.pipelines_created, cold.counters.pipelines_created);
    EXPECT_EQ(warm.output, cold.output);
}

TEST_F(CacheGpu, ItIsSavedBeforeTheDeviceIsClosed) {
    const cpp::Graph graph = cpp::Graph::load(test::small_int8_model());
    const cpp::Device device;
    const cpp::Executable executable(device, graph);
    ASSERT_TRUE(fs::exists(cache_file())) << "programs that end without closing devices profit too";
    // Where matrices were checked that was saved, and what came after may wait for more.
    EXPECT_LE(run().counters.shaders_compiled, checks_matrices() ? 1u : 0u);
}

TEST_F(CacheGpu, DamageIsAMiss) {
    const Ran cold = run();
    const fs::path file = cache_file();
    const std::string whole = test::read_text(file);
    for (const std::size_t at : {std::size_t{0}, std::size_t{50}, whole.size() - 1, whole.size() / 2}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 16);
        std::ofstream(file, std::ios::binary | std::ios::trunc) << damaged;
        const Ran again = run();
        if (at <= 50 || device_type() == "cpu") {  // a GPU's driver has most of the file for its own data
            EXPECT_GT(again.counters.shaders_compiled, 0u) << "byte " << at;
        }
        EXPECT_EQ(again.output, cold.output);
        EXPECT_EQ(run().counters.shaders_compiled, 0u) << "the damage was repaired";
    }
    std::ofstream(file, std::ios::binary | std::ios::trunc) << whole.substr(0, whole.size() - 100);
    EXPECT_EQ(run().output, cold.output);
}

TEST_F(CacheGpu, OffMeansNoFile) {
    ::setenv("TOSAVK_NO_CACHE", "1", 1);
    for (int turn = 0; turn < 2; ++turn) EXPECT_GT(run().counters.shaders_compiled, 0u);
    EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(CacheGpu, DevicesOfManyThreadsShareIt) {
    const Ran cold = run();
    std::vector<std::thread> threads;
    std::vector<Ran> results(4);
    for (Ran& result : results) threads.emplace_back([&result] { result = run(); });
    for (std::thread& thread : threads) thread.join();
    for (const Ran& result : results) {
        EXPECT_EQ(result.counters.shaders_compiled, 0u);
        EXPECT_EQ(result.output, cold.output);
    }
}

TEST_F(CacheGpu, ASecondProcessNeverStartsTheCompiler) {
    TOSAVK_NEEDS_PROGRAM("tosa-vk");
    const std::string path = model(), profile = (folder_ / "profile.json").string();
    const auto run_program = [&](bool no_cache) {
        const auto run =
            test::spawn(folder_, "tosa-vk", {"run", path, "--profile", profile},
                        {{"TOSAVK_CACHE_DIR", cache().string()}, {"TOSAVK_NO_CACHE", no_cache ? "1" : "0"}});
        EXPECT_EQ(run.exit_code, 0) << run.err;
        return json::parse(test::read_text(profile));
    };
    const json off = run_program(true);
    EXPECT_TRUE(off.at("compiler_started").get<bool>());
    EXPECT_FALSE(fs::exists(cache()));
    const json cold = run_program(false);
    EXPECT_TRUE(cold.at("compiler_started").get<bool>());
    EXPECT_GT(cold.at("shaders_compiled").get<int>(), 0);
    const json warm = run_program(false);
    EXPECT_FALSE(warm.at("compiler_started").get<bool>());
    EXPECT_EQ(warm.at("shaders_compiled").get<int>(), 0);
    EXPECT_EQ(warm.at("shaders_loaded"), cold.at("shaders_compiled"));
}

TEST_F(CacheGpu, ASeedStandsInForAnEmptyCache) {
    const Ran cold = run();
    fs::remove_all(cache());
    const std::string path = seed();
    ::setenv("TOSAVK_SEED", path.c_str(), 1);
    for (int turn = 0; turn < 2; ++turn) {
        const Ran seeded = run();
        EXPECT_EQ(seeded.counters.shaders_compiled, 0u);
        EXPECT_EQ(seeded.counters.shaders_loaded, cold.counters.shaders_compiled);
        EXPECT_EQ(seeded.output, cold.output);
    }
    // Off by its own switch and by that of all caches; other shaders than its own are compiled.
    ::setenv("TOSAVK_SEED", "", 1);
    EXPECT_GT(run().counters.shaders_compiled, 0u);
    fs::remove_all(cache());
    ::setenv("TOSAVK_SEED", path.c_str(), 1);
    ::setenv("TOSAVK_NO_CACHE", "1", 1);
    EXPECT_GT(run().counters.shaders_compiled, 0u);
    ::unsetenv("TOSAVK_NO_CACHE");
    EXPECT_GT(run(cpp::Graph::problem("chain f32 100 add exp")).counters.shaders_compiled, 0u);
    // A broken one is ignored.
    fs::remove_all(cache());
    std::string whole = test::read_text(path);
    whole[whole.size() / 2] = static_cast<char>(whole[whole.size() / 2] ^ 1);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole;
    const Ran broken = run();
    EXPECT_GT(broken.counters.shaders_compiled, 0u);
    EXPECT_EQ(broken.output, cold.output);
}

TEST_F(CacheGpu, ASeededProcessNeverStartsTheCompiler) {
    TOSAVK_NEEDS_PROGRAM("tosa-vk");
    const std::string path = model(), profile = (folder_ / "profile.json").string(), made = seed();
    const auto compiler_started = [&](const std::vector<std::string>& what, const std::string& which) {
        fs::remove_all(cache());
        std::vector<std::string> arguments = {"run", "--profile", profile};
        arguments.insert(arguments.end(), what.begin(), what.end());
        const auto run = test::spawn(folder_, "tosa-vk", arguments,
                                     {{"TOSAVK_CACHE_DIR", cache().string()}, {"TOSAVK_SEED", which}});
        EXPECT_EQ(run.exit_code, 0) << run.err;
        return json::parse(test::read_text(profile)).at("compiler_started").get<bool>();
    };
    EXPECT_EQ(compiler_started({path}, made), checks_matrices());
    EXPECT_TRUE(compiler_started({path}, ""));
    EXPECT_TRUE(compiler_started({path}, (folder_ / "none.seed").string()));
    // The seed of the build, on the one device of its profiles that tests run on.
    const fs::path built = test::programs().parent_path() / "share" / "tosa-vk" / "shaders.seed";
    const json caps = json::parse(cpp::Device::describe(0)).at("caps");
    if (!fs::exists(built) || caps.at("driver_name") != "llvmpipe" || caps.at("subgroup_size") != 8 ||
        std::getenv("TOSAVK_CAPS"))
        GTEST_SKIP() << "the build made no seed, or not for this device";
    EXPECT_FALSE(compiler_started({"--op", "network squeezenet f32"}, built.string()));
    EXPECT_FALSE(compiler_started({"--op", "conv2d i8 1x9x9x32 16x3x3 s1 p1 rescale clamp"}, built.string()));
    EXPECT_TRUE(compiler_started({"--op", "conv2d i8 1x9x9x32 16x3x3 s1 p1 rescale clamp"}, ""));
}

TEST_F(CacheGpu, APackageRunsWithoutTheCompiler) {
    ::setenv("TOSAVK_NO_CACHE", "1", 1);
    const Ran wanted = run();
    EXPECT_EQ(wanted.counters.package, 0u);
    const cpp::Graph graph = cpp::Graph::load(package());
    const cpp::Graph source = cpp::Graph::load(test::small_int8_model());
    EXPECT_STREQ(graph.input(1).name, source.input(1).name);
    EXPECT_EQ(graph.input(1).scale, source.input(1).scale) << "which no .tosa file says";
    EXPECT_EQ(graph.output(0).zero_point, source.output(0).zero_point);
    for (int turn = 0; turn < 2; ++turn) {
        const Ran ran = run(graph);
        EXPECT_EQ(ran.counters.package, 1u);
        EXPECT_EQ(ran.counters.shaders_compiled, 0u);
        EXPECT_EQ(ran.counters.shaders_loaded, wanted.counters.shaders_compiled);
        EXPECT_EQ(ran.output, wanted.output);
    }
    EXPECT_TRUE(cpp::Checker(cpp::Device(), graph).run(1).passed);
}

TEST_F(CacheGpu, PackagesHoldControlFlow) {
    ::setenv("TOSAVK_NO_CACHE", "1", 1);
    const cpp::Graph graph = cpp::Graph::load(write_tosa(tosavk::testing::nested_graph()));
    const std::string path = (folder_ / "control.tvk").string();
    cpp::save_package(cpp::Device(), graph, path);
    const cpp::Device device;
    const cpp::Executable executable(device, cpp::Graph::load(path));
    cpp::Context context(executable);
    const std::vector<std::int32_t> rows{6};
    std::vector<std::int32_t> result{0};
    context.set_input(0, std::as_bytes(std::span(rows)));
    context.run();
    context.get_output(0, std::as_writable_bytes(std::span(result)));
    EXPECT_EQ(result[0], tosavk::testing::nested_result(6));
    EXPECT_EQ(context.counters().package, 1u);
    EXPECT_EQ(context.counters().shaders_compiled, 0u);
}

TEST_F(CacheGpu, APackageForSomethingElseIsCompiled) {
    ::setenv("TOSAVK_NO_CACHE", "1", 1);
    const Ran wanted = run();
    const cpp::Graph fused = cpp::Graph::load(package()), unfused = cpp::Graph::load(package(false));
    for (const cpp::Graph* graph : {&fused, &unfused}) {
        for (const bool fuse : {true, false}) {
            const Ran ran = run(*graph, fuse);
            const bool fits = fuse == (graph == &fused);
            EXPECT_EQ(ran.counters.package, fits ? 1u : 2u);
            EXPECT_EQ(ran.counters.shaders_compiled == 0, fits);
            EXPECT_EQ(ran.output, wanted.output);
        }
    }
    const char* caps = std::getenv("TOSAVK_TEST_CAPS");
    TOSAVK_NEEDS_VARIABLE("TOSAVK_TEST_CAPS");
    const char* before = std::getenv("TOSAVK_CAPS");
    const std::string old = before ? before : "";
    ::setenv("TOSAVK_CAPS", (std::string(caps) + "/adreno_like.json").c_str(), 1);
    const Ran ran = run(fused);
    if (old.empty()) ::unsetenv("TOSAVK_CAPS");
    else ::setenv("TOSAVK_CAPS", old.c_str(), 1);
    EXPECT_EQ(ran.counters.package, 2u);
    EXPECT_EQ(ran.output, wanted.output);
}

TEST_F(CacheGpu, TheProgramMakesAndRunsPackages) {
    TOSAVK_NEEDS_PROGRAM("tosa-vk");
    const std::string source = model(), made = (folder_ / "made.tvk").string(),
                      profile = (folder_ / "profile.json").string();
    auto ran = test::spawn(folder_, "tosa-vk", {"compile", source, "-o", made});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.out + ran.err, "");
    const std::pair<std::string, std::string> no_cache("TOSAVK_NO_CACHE", "1");
    ran = test::spawn(folder_, "tosa-vk", {"run", made, "--profile", profile}, {no_cache});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    const json told = json::parse(test::read_text(profile));
    EXPECT_EQ(told.at("compiler_started").get<bool>(), checks_matrices());
    EXPECT_TRUE(told.at("package").get<bool>());
    EXPECT_EQ(told.at("weight_bytes_copied"), told.at("constant_bytes"));
    ran = test::spawn(folder_, "tosa-vk", {"verify", made, "--seeds", "2"}, {no_cache});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    ran = test::spawn(folder_, "tosa-vk", {"run", made, "--reference"}, {no_cache});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;

    const std::string other = package(false);
    ran = test::spawn(folder_, "tosa-vk", {"run", other}, {no_cache});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_NE(ran.err.find("note: " + other), std::string::npos) << ran.err;

    std::string whole = test::read_text(made);
    whole.resize(whole.size() / 2);
    std::ofstream(made, std::ios::binary | std::ios::trunc) << whole;
    ran = test::spawn(folder_, "tosa-vk", {"run", made}, {no_cache});
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_NE(ran.err.find("the package is damaged"), std::string::npos) << ran.err;
    ran = test::spawn(folder_, "tosa-vk", {"compile", source, "-o", (folder_ / "none" / "x.tvk").string()});
    EXPECT_EQ(ran.exit_code, 3) << ran.err;
    ran = test::spawn(folder_, "tosa-vk", {"compile", source});
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
}

}  // namespace
