// tosa-vk dump --access: how kernels touch memory on GPUs that lavapipe pretends to be.
#include "support/cli.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace tosavk {
namespace {

using nlohmann::json;
using test::Spawned;

struct Pretended {
    const char* name;
    const char* type;
    int vendor;
    std::uint32_t subgroup;
};
constexpr Pretended gpus[] = {{"amd", "discrete", 0x1002, 64}, {"nvidia", "discrete", 0x10de, 32}};

class CliAccess : public test::Cli {
protected:
    Spawned on(const Pretended& gpu, const std::vector<std::string>& arguments) const {
        const std::string caps = path(std::string(gpu.name) + ".json");
        std::ofstream(caps) << json{{"name", std::string("pretended ") + gpu.name},
                                    {"type", gpu.type},
                                    {"vendor_id", gpu.vendor},
                                    {"driver_id", 0},
                                    {"device_id", 0},
                                    {"subgroup_size", gpu.subgroup},
                                    {"speed_quirks", false}};
        return spawn(arguments, {{"TOSAVK_CAPS", caps}, {"TOSAVK_CACHE_DIR", path("cache")}});
    }

    /// No buffer of any dispatch is touched in more than `most` times the fewest segments.
    void check(const std::string& line, double most) const {
        for (const Pretended& gpu : gpus) {
            SCOPED_TRACE(line + " on " + gpu.name);
            const Spawned result = on(gpu, {"dump", line, "--access", "--json"});
            ASSERT_EQ(result.exit_code, 0) << result.err;
            const json parsed = json::parse(result.out);
            std::size_t judged = 0;
            for (const json& dispatch : parsed.at("dispatches")) {
                for (const json& place : dispatch.at("places")) {
                    if (place.at("memory") != "buffer" || place.at("subgroup_size") != gpu.subgroup) continue;
                    ++judged;
                    EXPECT_LE(place.at("excess").get<double>(), most)
                        << dispatch.at("label") << " [" << dispatch.at("kernel") << "] " << place.at("name") << ", "
                        << (place.at("stored").get<bool>() ? "stores" : "loads");
                }
            }
            EXPECT_GE(judged, 2u);
        }
    }
};

TEST_F(CliAccess, Elementwise) {
    check("chain f32 16384 add mul sigmoid", 1.25);
    check("chain f16 16384 add mul sigmoid", 1.25);
    check("add f32 1x16x16x64 1x1x1x64", 1.25);
    check("mul i8 16384", 1.25);
    check("rescale i32 1x16x16x64 i8 per_channel", 1.25);
    check("add f32 1x31x33x7 1x31x33x7", 1.25);
}

TEST_F(CliAccess, Movement) {
    check("concat f32 1x16x16x32 1x16x16x32 axis3", 1.25);
    check("pad f32 1x16x16x64 0,0,1,1,1,1,0,0", 1.25);
    check("slice f32 1x16x16x64 0,1,1,0 1x14x14x64", 1.25);
    check("tile f32 1x16x16x64 1x2x1x1", 1.25);
    check("reverse f32 1x16x16x64 axis2", 1.25);
    check("reverse f32 1x16x16x64 axis3", 1.25);
    check("transpose f32 256x128 1,0", 2);
    check("transpose i8 256x128 1,0", 2);
    check("gather f32 1x256x64 256", 2);
}

// Rows that are no whole quads: an invocation makes one element of them.
TEST_F(CliAccess, OddSizes) {
    check("avg_pool2d f32 1x16x16x63 3x3 s1 p1", 2);
    check("max_pool2d f32 1x16x16x62 2x2 s2 p0", 2);
    check("resize f32 1x8x8x63 16x16 bilinear", 2);
    check("concat f32 1x16x16x31 1x16x16x33 axis3", 2);
    check("slice f32 1x17x17x63 0,1,1,1 1x15x15x61", 2);
    check("tile f32 1x15x15x63 1x2x1x1", 2);
    check("reverse f32 1x15x15x63 axis3", 2);
    check("pad f32 1x15x15x63 0,0,1,1,1,1,0,0", 2);
    check("transpose f32 255x129 1,0", 2);
    check("transpose f32 1x33x31x3 0,3,1,2", 2);
    check("gather f32 1x255x63 255", 2);
    check("softmax f32 63x1001", 2);
    check("softmax f32 1024x197", 2);
    check("reduce_sum f32 63x65x63 axis1", 2);
    check("reduce_max f32 63x1001 axis1", 2);
}

// A token of a language model: matrices are read once, in whole segments.
TEST_F(CliAccess, MatricesTimesVectors) {
    for (const char* type : {"f32", "f16", "i8"}) check(std::string("matmul ") + type + " 1x1x512x256", 1.25);
    check("fully_connected f32 1x512 256", 1.25);
    check("fully_connected f16 1x512 256", 1.25);
    check("fully_connected i8 1x512 256 rescale", 1.25);
}

TEST_F(CliAccess, Reductions) {
    for (const std::string axis : {"axis1", "axis2", "axis3"}) {
        check("reduce_sum f32 1x32x32x64 " + axis, 1.25);
        check("reduce_max i8 1x32x32x64 " + axis, 1.25);
    }
    check("reduce_sum f32 1x1x64x1024 axis3", 1.25);
    check("softmax f32 64x1024", 1.25);
    check("argmax f32 1x32x32x64 axis3", 1.25);
}

TEST_F(CliAccess, TextAndWrongUses) {
    const Spawned text = on(gpus[0], {"dump", "add f32 4096", "--access"});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_NE(text.out.find("segments"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("elementwise"), std::string::npos) << text.out;
    EXPECT_EQ(on(gpus[0], {"dump", "add f32 4096", "--access", "--plan"}).exit_code, 2);
    EXPECT_EQ(on(gpus[0], {"dump", "add f32 4096", "--access", "--assembly"}).exit_code, 2);
    const Spawned only = on(gpus[0], {"dump", "add f32 4096", "--access", "--compile-only"});
    EXPECT_NE(only.exit_code, 0);
    EXPECT_NE(only.err.find("compile only"), std::string::npos) << only.err;
}

}  // namespace
}  // namespace tosavk
