// The table of architectures: which row a device gets, what follows for its plan, and that every fact has a source.
#include "device/architectures.hpp"

#include "device/device_plan.hpp"
#include "device/quirks.hpp"
#include "support/environment.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>

using namespace tosavk;

namespace {

std::string text_of(const std::string& path) {
    const char* source = std::getenv("TOSAVK_SOURCE");
    std::ifstream file((source != nullptr ? std::string(source) : ".") + "/" + path);
    EXPECT_TRUE(file) << path << " was not found: ctest sets TOSAVK_SOURCE";
    return {std::istreambuf_iterator<char>(file), {}};
}

/// With every run of blanks as one space.
std::string one_line(const std::string& text) {
    std::istringstream words(text);
    std::string line;
    for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
    return line;
}

struct Sample {
    std::string type;
    std::uint32_t vendor_id, device_id;
    std::string row;
    std::string driver = {};
    std::uint32_t driver_id = 0;
    MatrixShape cooperative = {};

    DeviceCaps caps() const {
        DeviceCaps made;
        made.type = type;
        made.vendor_id = vendor_id;
        made.device_id = device_id;
        made.driver_name = driver;
        made.driver_id = driver_id;
        made.cooperative_fp16 = cooperative;
        return made;
    }
};

const std::vector<Sample>& samples() {
    static const std::vector<Sample> all = {
        {"cpu", 0x10005, 0, "llvmpipe", "llvmpipe"},
        {"cpu", 0x10005, 0, "llvmpipe", "", 13},
        {"cpu", 0x1ae0, 0xc0de, "SwiftShader", "SwiftShader driver"},
        {"cpu", 0x1ae0, 0xc0de, "SwiftShader", "", 10},
        {"cpu", 0x10006, 0x6c636f70, "an unknown CPU driver", "Portable Computing Language"},
        {"cpu", 0x1002, 0x744c, "an unknown CPU driver"},
        {"discrete", 0x1002, 0x67df, "AMD Polaris or Vega"},
        {"integrated", 0x1002, 0x1638, "AMD Polaris or Vega"},
        {"discrete", 0x1002, 0x731f, "AMD RDNA 1 or 2"},
        {"discrete", 0x1002, 0x73bf, "AMD RDNA 1 or 2"},
        {"integrated", 0x1002, 0x163f, "AMD RDNA 1 or 2"},
        {"discrete", 0x1002, 0x744c, "AMD RDNA 3 or later"},
        {"integrated", 0x1002, 0x15bf, "AMD RDNA 3 or later"},
        {"discrete", 0x1002, 0x7550, "AMD RDNA 3 or later"},
        {"discrete", 0x1002, 0x8123, "AMD RDNA 3 or later", "", 0, {16, 16, 16}},
        {"discrete", 0x1002, 0x740c, "an unknown discrete GPU"},  // CDNA 2
        {"discrete", 0x10de, 0x1e04, "NVIDIA Turing or later"},
        {"discrete", 0x10de, 0x2335, "NVIDIA Turing or later"},
        {"discrete", 0x10de, 0x1b80, "an unknown discrete GPU"},  // Pascal
        {"discrete", 0x8086, 0x56a0, "Intel Xe-HPG"},
        {"discrete", 0x8086, 0xe20b, "Intel Xe2"},
        {"integrated", 0x8086, 0x64a0, "Intel Xe2"},
        {"integrated", 0x8086, 0x9a49, "another Intel GPU"},
        {"integrated", 0x5143, 0x06030001, "Qualcomm Adreno 6xx"},
        {"integrated", 0x5143, 0x43051401, "Qualcomm Adreno 7xx"},
        {"integrated", 0x5143, 0x05030004, "an unknown GPU"},
        {"integrated", 0x13b5, 0x72120000, "Arm Mali Bifrost"},
        {"integrated", 0x13b5, 0x92020010, "Arm Mali Valhall or later"},
        {"integrated", 0x13b5, 0xa8670000, "Arm Mali Valhall or later"},
        {"integrated", 0x13b5, 0x07500000, "an unknown GPU"},                 // Midgard
        {"discrete", 0x10005, 0, "an unknown discrete GPU", "llvmpipe", 13},  // pretended by TOSAVK_CAPS
        {"virtual", 0x1af4, 0x1050, "an unknown GPU"},
        {"", 0, 0, "an unknown GPU"},
    };
    return all;
}

std::string shape_text(const MatrixShape& s) { return fmt::format("{}x{}x{}", s.m, s.n, s.k); }

/// Field by field, in the order of the struct; a member that is added must be named here to compile.
std::map<std::string, std::string> fields_of(const DevicePlan& plan) {
    const auto& [workgroup_size, buffer_alignment, max_binding_bytes, max_buffers, max_groups_x, busy_invocations,
                 far_rows, row_quads, walk_bytes, gathered_rows, lanes_together, max_loop_passes, texel_elements,
                 subgroup_lanes, shared_rows, registers, function_elements, own_rows, slow_storage, shared_tiles,
                 product_tiles, tile_quads, least_tiles, tile_parts, product_tile_bytes, fma_chains, bottom_tests, dot4,
                 dot4_mixed, cooperative_i8, cooperative_fp16, cooperative_fp32_sums, matrix_sums, paired_products,
                 subgroup_size, fold_lanes, int64, nan_preserve, rte, exact_reciprocals, native_fp16, half_roundings,
                 has_fp16, storage16, half_texels, half_products, fast_fp16, map_in_place, staging_bytes,
                 timeline_semaphores, submit_work, submit_bytes, reasons, sizes] = plan;
    static_cast<void>(reasons), static_cast<void>(sizes);
    const auto text = [](const auto& value) { return fmt::format("{}", value); };
    return {{"workgroup_size", text(workgroup_size)},
            {"buffer_alignment", text(buffer_alignment)},
            {"max_binding_bytes", text(max_binding_bytes)},
            {"max_buffers", text(max_buffers)},
            {"max_groups_x", text(max_groups_x)},
            {"busy_invocations", text(busy_invocations)},
            {"far_rows", text(far_rows)},
            {"row_quads", text(row_quads)},
            {"walk_bytes", text(walk_bytes)},
            {"gathered_rows", text(gathered_rows)},
            {"lanes_together", text(lanes_together)},
            {"max_loop_passes", text(max_loop_passes)},
            {"texel_elements", text(texel_elements)},
            {"subgroup_lanes", text(subgroup_lanes)},
            {"shared_rows", text(shared_rows)},
            {"registers", text(registers)},
            {"function_elements", text(function_elements)},
            {"own_rows", text(own_rows)},
            {"slow_storage", text(slow_storage)},
            {"shared_tiles", text(shared_tiles)},
            {"product_tiles", text(product_tiles)},
            {"tile_quads", text(tile_quads)},
            {"least_tiles", text(least_tiles)},
            {"tile_parts", text(tile_parts)},
            {"product_tile_bytes", text(product_tile_bytes)},
            {"fma_chains", text(fma_chains)},
            {"bottom_tests", text(bottom_tests)},
            {"dot4", text(dot4)},
            {"dot4_mixed", text(dot4_mixed)},
            {"cooperative_i8", shape_text(cooperative_i8)},
            {"cooperative_fp16", shape_text(cooperative_fp16)},
            {"cooperative_fp32_sums", text(cooperative_fp32_sums)},
            {"matrix_sums", text(matrix_sums)},
            {"paired_products", text(paired_products)},
            {"subgroup_size", text(subgroup_size)},
            {"fold_lanes", text(fold_lanes)},
            {"int64", text(int64)},
            {"nan_preserve", text(nan_preserve)},
            {"rte", text(rte)},
            {"exact_reciprocals", text(exact_reciprocals)},
            {"native_fp16", text(native_fp16)},
            {"half_roundings", text(half_roundings)},
            {"has_fp16", text(has_fp16)},
            {"storage16", text(storage16)},
            {"half_texels", text(half_texels)},
            {"half_products", text(half_products)},
            {"fast_fp16", text(fast_fp16)},
            {"map_in_place", text(map_in_place)},
            {"staging_bytes", text(staging_bytes)},
            {"timeline_semaphores", text(timeline_semaphores)},
            {"submit_work", text(submit_work)},
            {"submit_bytes", text(submit_bytes)}};
}

/// The devices of tests/device/plans.txt, by the names of its columns: two that were recorded, those of tests/caps as
/// lavapipe pretends to be them, and those that the seed is made for.
std::map<std::string, DeviceCaps> known_devices() {
    std::map<std::string, DeviceCaps> all;
    for (const char* name : {"lavapipe", "swiftshader"})
        all[name] = caps_from_json(text_of(fmt::format("tests/device/caps/{}.json", name)), DeviceCaps{});
    const DeviceCaps lavapipe = all["lavapipe"];
    for (const char* name : {"adreno_like", "desktop", "mali_like", "storage_only"})
        all[name] = restrict_caps(lavapipe, caps_from_json(text_of(fmt::format("tests/caps/{}.json", name)), lavapipe));
    for (const char* name : {"desktop_32", "desktop_64", "llvmpipe", "phone_16", "phone_64"})
        all[name] = caps_from_json(text_of(fmt::format("src/tools/seed/profiles/{}.json", name)), DeviceCaps{});
    return all;
}

}  // namespace

TEST(Architectures, ADeviceGetsItsRow) {
    for (const Sample& sample : samples()) {
        EXPECT_EQ(architecture_of(sample.caps()).name, sample.row)
            << fmt::format("{} {:#x} {:#x} '{}'", sample.type, sample.vendor_id, sample.device_id, sample.driver);
    }
}

TEST(Architectures, EveryRowIsReached) {
    std::set<std::string_view> names, reached;
    for (const Architecture& row : architectures()) EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    for (const Sample& sample : samples()) reached.insert(architecture_of(sample.caps()).name);
    EXPECT_EQ(reached, names) << "a row without a sample above, or one that the rows before it leave nothing";
}

// scripts/nightly architectures
TEST(Architectures, EveryRowOfGpusIsPretended) {
    std::set<std::string> pretended;
    std::istringstream lines(text_of("tests/device/architectures.txt"));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream fields(line);
        std::string row, type, vendor, device;
        for (std::string* field : {&row, &type, &vendor, &device}) {
            std::getline(fields, *field, '|');
            *field = one_line(*field);
        }
        ASSERT_FALSE(device.empty()) << line;
        // As lavapipe is, but for these.
        const Sample sample{type,
                            static_cast<std::uint32_t>(std::stoul(vendor, nullptr, 0)),
                            static_cast<std::uint32_t>(std::stoul(device, nullptr, 0)),
                            row,
                            "llvmpipe",
                            13};
        EXPECT_EQ(architecture_of(sample.caps()).name, row) << line;
        pretended.insert(row);
    }
    for (const Architecture& row : architectures()) {
        const std::string name(row.name);
        const bool of_cpus = name == "llvmpipe" || name == "SwiftShader" || name == "an unknown CPU driver";
        EXPECT_EQ(pretended.contains(name), !of_cpus) << name;
    }
}

TEST(Architectures, TheLastRowTakesEveryDevice) {
    const Architecture& last = architectures().back();
    each_fact([&](const char* name, auto member) { EXPECT_TRUE(last.facts.*member) << name; });
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
    std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
    const char* types[] = {"discrete", "integrated", "virtual", "cpu", "other", ""};
    for (int k = 0; k < 200; ++k) {
        DeviceCaps caps;
        caps.type = types[random() % std::size(types)];
        caps.vendor_id = static_cast<std::uint32_t>(random());
        caps.device_id = static_cast<std::uint32_t>(random());
        caps.driver_id = random() % 40;
        EXPECT_TRUE(last.takes(caps)) << "TOSAVK_TEST_SEED=" << seed << ": device " << k;
        const Facts facts = facts_of(caps);
        each_fact([&](const char* name, auto member) { EXPECT_TRUE(facts.*member) << name; });
    }
}

TEST(Architectures, RowsOfOneVendorShareNoIds) {
    for (const Architecture& row : architectures()) {
        for (const Pattern& pattern : row.patterns) {
            for (const IdRange& ids : pattern.device_ids) {
                EXPECT_LE(ids.first, ids.last) << row.name;
                for (const std::uint32_t id : {ids.first, ids.last}) {
                    DeviceCaps caps;
                    caps.type = "other";
                    caps.vendor_id = pattern.vendor_id;
                    caps.device_id = id;
                    EXPECT_EQ(architecture_of(caps).name, row.name) << fmt::format("{:#x}", id);
                }
            }
        }
    }
}

TEST(Architectures, EveryFactHasAReasonAndASource) {
    const auto stands = [](std::string_view source) {
        const std::size_t colon = source.find(": ");
        if (!source.starts_with("docs/")) return true;
        if (colon == std::string_view::npos) return false;
        const std::string file(source.substr(0, colon)), words(source.substr(colon + 2));
        return one_line(text_of(file)).find(words) != std::string::npos;
    };
    int stated = 0;
    for (const Architecture& row : architectures()) {
        each_fact([&](const char* name, auto member) {
            const auto& fact = row.facts.*member;
            if (!fact) return;
            ++stated;
            EXPECT_GT(fact.why.size(), 10u) << row.name << ": " << name;
            EXPECT_GT(fact.source.size(), 10u) << row.name << ": " << name;
            EXPECT_TRUE(stands(fact.source)) << row.name << ": " << name << ": no such words: " << fact.source;
        });
    }
    EXPECT_GT(stated, 40);
    EXPECT_FALSE(stands("docs/performance.md: words that nobody wrote there"));
}

TEST(Architectures, AFactIsTheQuirksThenTheRowsThenThoseOfUnknownDevices) {
    DeviceCaps caps;
    caps.type = "discrete";
    caps.driver_name = "SwiftShader driver";  // what TOSAVK_CAPS=tests/caps/desktop.json makes of it
    const Facts pretended = facts_of(caps);
    EXPECT_EQ(*pretended.own_rows, 0u);
    EXPECT_EQ(pretended.own_rows.why, "shaders with large register tiles take seconds to compile");
    EXPECT_NE(pretended.own_rows.source, "");
    EXPECT_EQ(*pretended.busy_invocations, 65536);
    EXPECT_EQ(*pretended.row_quads, 1);

    for (const Sample& sample : samples()) {
        DeviceCaps unknown;
        unknown.type = sample.type;
        const Facts base = facts_of(unknown), facts = facts_of(sample.caps());
        Facts own = architecture_of(sample.caps()).facts;
        for (const Quirk* quirk : quirks_of(sample.caps())) {
            each_fact([&](const char*, auto member) {
                if (quirk->facts.*member) own.*member = quirk->facts.*member;
            });
        }
        each_fact([&](const char* name, auto member) {
            EXPECT_EQ(*(facts.*member), own.*member ? *(own.*member) : *(base.*member)) << sample.row << ": " << name;
        });
    }
}

TEST(Architectures, QuirksSayWhatAndWhere) {
    DeviceCaps caps;
    EXPECT_TRUE(quirks_of(caps).empty());
    caps.name = "llvmpipe SwiftShader";
    const std::vector<const Quirk*> all = quirks_of(caps);
    EXPECT_EQ(all.size(), 6u);
    for (const Quirk* quirk : all) {
        EXPECT_GT(quirk->symptom.size(), 20u) << quirk->name;
        EXPECT_GT(quirk->where.size(), 20u) << quirk->name;
        int facts = 0;
        each_fact([&](const char*, auto member) { facts += (quirk->facts.*member) ? 1 : 0; });
        EXPECT_GT(facts, 0) << quirk->name << " changes nothing";
    }
}

/// plans.txt: a line a field, a column a device. A plan that is meant to change changes there.
TEST(Architectures, PlansOfKnownDevices) {
    const std::map<std::string, DeviceCaps> devices = known_devices();
    std::istringstream lines(text_of("tests/device/plans.txt"));
    std::vector<std::string> names;
    std::string line, word;
    std::getline(lines, line);
    std::istringstream head(line);
    head >> word;
    while (head >> word) names.push_back(word);
    ASSERT_EQ(names.size(), devices.size());
    std::map<std::string, std::map<std::string, std::string>> expected;
    while (std::getline(lines, line)) {
        std::istringstream values(line);
        std::string field;
        values >> field;
        for (const std::string& name : names) values >> expected[name][field];
    }
    for (const auto& [name, caps] : devices) {
        const auto found = fields_of(device_plan(caps));
        ASSERT_EQ(expected[name].size(), found.size()) << name;
        for (const auto& [field, value] : found) EXPECT_EQ(value, expected[name][field]) << name << ": " << field;
    }
}
