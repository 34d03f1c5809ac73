// The table of architectures. Device ids of PCI are those of the PCI ID Repository (pci-ids.ucw.cz) and of Linux
// (include/drm/intel/pciids.h). Arm's begin with the number of the architecture, and Qualcomm's with that of the
// series, by their own drivers and by Mesa's.
#include "device/architectures.hpp"

#include "device/quirks.hpp"

#include <algorithm>

namespace tosavk {

namespace {

// VkDriverId; this room knows no Vulkan.
constexpr std::uint32_t driver_id_swiftshader = 10, driver_id_llvmpipe = 13, driver_id_nvk = 24;

constexpr std::uint32_t amd = 0x1002, nvidia = 0x10de, intel = 0x8086, qualcomm = 0x5143, arm = 0x13b5;

constexpr Pattern llvmpipe[] = {{.type = "cpu", .driver_id = driver_id_llvmpipe},
                                {.type = "cpu", .driver = "llvmpipe"}};
constexpr Pattern swiftshader[] = {{.type = "cpu", .driver_id = driver_id_swiftshader},
                                   {.type = "cpu", .driver = "SwiftShader"}};
constexpr Pattern any_cpu[] = {{.type = "cpu"}};

// Polaris, Vega, and processors with Vega: Raven Ridge, Picasso, Renoir, Cezanne, Lucienne, Barcelo.
constexpr IdRange gcn_ids[] = {{0x67c0, 0x67ff}, {0x6980, 0x699f}, {0x6860, 0x687f}, {0x69a0, 0x69af},
                               {0x66a0, 0x66af}, {0x15d8, 0x15d8}, {0x15dd, 0x15dd}, {0x1636, 0x1636},
                               {0x1638, 0x1638}, {0x164c, 0x164c}, {0x15e7, 0x15e7}};
// Navi 10 to 24, Van Gogh, Rembrandt, Raphael, Mendocino.
constexpr IdRange rdna2_ids[] = {{0x7310, 0x7362}, {0x73a0, 0x73ff}, {0x7420, 0x743f},
                                 {0x163f, 0x163f}, {0x1435, 0x1435}, {0x164d, 0x164d},
                                 {0x164e, 0x164e}, {0x1681, 0x1681}, {0x1506, 0x1506}};
// Navi 31 to 48, Phoenix, Hawk Point, Strix, Strix Halo, Krackan.
constexpr IdRange rdna3_ids[] = {{0x7440, 0x749f}, {0x7550, 0x759f}, {0x15bf, 0x15bf}, {0x15c8, 0x15c8},
                                 {0x1900, 0x1901}, {0x150e, 0x150e}, {0x1586, 0x1586}, {0x1114, 0x1114}};
constexpr Pattern gcn[] = {{.vendor_id = amd, .device_ids = gcn_ids}};
constexpr Pattern rdna2[] = {{.vendor_id = amd, .device_ids = rdna2_ids}};
// Ids that are not listed are newer ones, if the device multiplies matrices.
constexpr Pattern rdna3[] = {
    {.vendor_id = amd, .device_ids = rdna3_ids},
    {.vendor_id = amd, .features = [](const DeviceCaps& caps) { return static_cast<bool>(caps.cooperative_fp16); }}};

// Ids grow with the years: Volta ends at 0x1dff, Turing begins at 0x1e02.
constexpr IdRange turing_ids[] = {{0x1e00, 0xffff}};
// Mesa's driver is for Turing and later.
constexpr Pattern turing[] = {{.vendor_id = nvidia, .device_ids = turing_ids},
                              {.driver_id = driver_id_nvk, .vendor_id = nvidia}};

// DG2: Arc A, Data Center Flex.
constexpr IdRange xe_hpg_ids[] = {{0x5690, 0x5697}, {0x56a0, 0x56c2}};
// Lunar Lake, Battlemage.
constexpr IdRange xe2_ids[] = {{0x6420, 0x6420}, {0x64a0, 0x64b0}, {0xe202, 0xe223}};
constexpr Pattern xe_hpg[] = {{.vendor_id = intel, .device_ids = xe_hpg_ids}};
constexpr Pattern xe2[] = {{.vendor_id = intel, .device_ids = xe2_ids}};
constexpr Pattern any_intel[] = {{.vendor_id = intel}};

constexpr IdRange adreno_7xx_ids[] = {{0x07000000, 0x07ffffff}, {0x43000000, 0x43ffffff}};
constexpr Pattern adreno_7xx[] = {{.vendor_id = qualcomm, .device_ids = adreno_7xx_ids}};
constexpr IdRange adreno_6xx_ids[] = {{0x06000000, 0x06ffffff}};
constexpr Pattern adreno_6xx[] = {{.vendor_id = qualcomm, .device_ids = adreno_6xx_ids}};

constexpr IdRange bifrost_ids[] = {{0x60000000, 0x7fffffff}};
constexpr IdRange valhall_ids[] = {{0x90000000, 0xffffffff}};
constexpr Pattern bifrost[] = {{.vendor_id = arm, .device_ids = bifrost_ids}};
constexpr Pattern valhall[] = {{.vendor_id = arm, .device_ids = valhall_ids}};

constexpr Pattern any_discrete[] = {{.type = "discrete"}};
constexpr Pattern any_device[] = {{}};

constexpr const char* many_registers = "they have the registers, and other elements work while one waits";

// A source "docs/FILE: words" stands at these words of the file.
constexpr Facts llvmpipe_facts = {
    .workgroup_size = {128, "a CPU spends a third of a microsecond on each workgroup",
                       "docs/performance.md: workgroups of 128 instead of 64 invocations on CPUs"},
    .busy_invocations = {512, "the few cores of a CPU like long loops", guess},
    .far_rows = {16, "a CPU's caches and prefetchers follow no more",
                 "docs/performance.md: down columns in parts of 16 rows"},
    .row_quads = {2, "a CPU's prefetchers follow whole cache lines",
                  "docs/performance.md: Down columns an invocation then read two neighbouring quads"},
    .walk_bytes = {4096, "a CPU's prefetchers follow each page by itself",
                   "docs/performance.md: An invocation walks through a page of memory"},
    .gathered_rows = {8, "a CPU waits for each that is not in its caches",
                      "docs/performance.md: a CPU waits for eight rows at once"},
    .coalesces = {false, "a CPU's loads are each for themselves", guess},
    .registers = {1024, "what does not fit lies in a CPU's nearest cache", guess},
    .function_elements = {4, many_registers, guess},
    .own_rows = {16, "each serves 4 to 16 columns",
                 "docs/performance.md: An invocation that shares no rows loads up to 16 itself"},
    .shuffles = {true, "a shuffle costs less than a load", "docs/performance.md: On lavapipe without its subgroup"},
    .shared_tiles = {false, "a CPU's caches are as near",
                     "Mesa, src/gallium/drivers/llvmpipe: shared memory is memory of the host"},
    .product_tiles = {false, "a CPU's caches are as near",
                      "Mesa, src/gallium/drivers/llvmpipe: shared memory is memory of the host"},
    .tile_quads = {1, "it has no such tiles", guess},
    .least_tiles = {1, "it has no such tiles", guess},
    .tile_parts = {1, "it has no such tiles", guess},
    .shared_rows = {true, "a shuffle costs less than a load", "docs/performance.md: On lavapipe without its subgroup"},
    .fma_chains = {false, "chains are waited for, link by link", guess},
    .cooperative_matrices = {false, "a CPU has none that are faster",
                             "Mesa, src/gallium/frontends/lavapipe: lvp_nir_lower_cooperative_matrix"},
    .matrix_subgroup = {0, "a CPU's lanes are what they are", guess},
    .matrix_sums = {64, "nothing is known of their registers", guess},
    .paired_products = {false, "a CPU's lanes are what they are", guess},
    .work_per_s = {20e9, "a sixth of the rate of two cores",
                   "docs/performance.md: Against the limits that the same run measured"},
    .bytes_per_s = {5e9, "less than half of what two cores do",
                    "docs/performance.md: Against the limits that the same run measured"},
};

/// The same facts for devices that they were not measured on.
constexpr Facts assumed(Facts facts, std::string_view source) {
    each_fact([&](const char*, auto member) {
        if (facts.*member && (facts.*member).source != guess) (facts.*member).source = source;
    });
    return facts;
}

/// 64 invocations are whole subgroups of the architecture, as of most: what kernels for GPUs are written for.
constexpr Facts subgroups(std::string_view why, std::string_view source, std::uint32_t tile_quads = 2,
                          std::uint32_t registers = 256) {
    return {.workgroup_size = {64, why, source},
            .registers = {registers, "that many are an invocation's, or nearly",
                          "AMD, RDNA Instruction Set Architecture: VGPRs; NVIDIA, CUDA C++ Programming Guide: 255 "
                          "registers per thread; Mesa, src/intel/compiler: 128 registers of 32 bytes"},
            .function_elements = {4, many_registers, "docs/gpu-compilers.md: What the figures are"},
            .product_tiles = {true, "tiles are read more often than they are written, and registers hold large ones",
                              "docs/gpu-compilers.md: The hottest loops of products"},
            .tile_quads = {tile_quads, "so many sums fit into registers",
                           "docs/gpu-compilers.md: The hottest loops of products"}};
}
constexpr Facts without_matrix_units(Facts facts, std::string_view source) {
    facts.cooperative_matrices = {false, "it has no units for them", source};
    return facts;
}
/// `unit`: subgroups of the matrix units; 0: there are none.
constexpr Facts xe(std::string_view why, std::uint32_t unit = 0, std::uint32_t fold = 16) {
    Facts facts = subgroups(why, "Mesa, src/intel/vulkan: minSubgroupSize, maxSubgroupSize", 1, 128);
    facts.half_products = {false, "products of fp16 are as many instructions, and each factor is moved out of its word",
                           "docs/gpu-compilers.md: Precision fast"};
    facts.fold_subgroup = {fold, "registers of 32 bytes leave one of 32 invocations few",
                           "docs/gpu-compilers.md: What the figures are"};
    constexpr std::string_view source =
        "Mesa, src/intel/vulkan: anv_physical_device, cooperative matrix configurations";
    if (unit != 0) {
        facts.cooperative_matrices = {true, "it has units for them", source};
        facts.matrix_subgroup = {unit, "the units' results are as many columns wide", source};
        facts.matrix_sums = {32, "an invocation has 128 registers, and operands take most of the others",
                             "docs/gpu-compilers.md: The hottest loops of products"};
    } else {
        facts.cooperative_matrices = {
            false, "none of those known to have units for them; without, Mesa's driver makes ordinary code", source};
    }
    return facts;
}
/// Few registers, and shared memory that is no nearer than what is cached.
constexpr Facts direct(std::string_view why, std::string_view source, std::uint32_t registers) {
    return {.workgroup_size = {64, why, source},
            .registers = {registers, "so many are an invocation's where half of what the GPU can hold is at work",
                          "Mesa, src/panfrost/compiler: 64 registers, 32 at full occupancy; src/freedreno/ir3: 48 of "
                          "four components, 96 components at half occupancy"},
            .function_elements = {1, "four at once take more than half of the registers",
                                  "docs/gpu-compilers.md: What the figures are"},
            .own_rows = {8, "32 sums and what they are made of fit into 64 registers",
                         "docs/gpu-compilers.md: The hottest loops of products"},
            .product_tiles = {false, "shared memory is no nearer than what is cached",
                              "docs/gpu-compilers.md: The hottest loops of products"},
            .tile_parts = {16, "a tile's loop then stays what it is",
                           "docs/gpu-compilers.md: The hottest loops of products"}};
}

constexpr Facts adreno_facts() {
    Facts facts = direct("64 are a subgroup, or half of one of 128", "Mesa, src/freedreno/common: threadsize_base", 96);
    facts.half_loads = {true, "halves are registers of their own", "docs/gpu-compilers.md: Precision fast"};
    facts.function_elements = {2, "four at once leave room for fewer subgroups, and one alone waits for itself",
                               "docs/gpu-compilers.md: What the figures are"};
    return facts;
}

constexpr Facts adreno_6xx_facts() {
    Facts facts = adreno_facts();
    facts.function_elements = {4, many_registers, "docs/gpu-compilers.md: What the figures are"};
    facts.texel_reads = {true, "the texture path reads single words of a storage buffer",
                         "docs/gpu-compilers.md: The hottest loops of products"};
    return facts;
}

constexpr Facts rdna3_facts() {
    Facts facts =
        subgroups("64 are a subgroup, or two of 32", "AMD, RDNA Instruction Set Architecture: waves of 32 and 64");
    facts.cooperative_matrices = {true, "it has units for them", "AMD, RDNA3 Instruction Set Architecture: V_WMMA"};
    facts.matrix_subgroup = {32, "the unit takes matrices of waves of 32, and of 64 in halves",
                             "AMD, RDNA3 Instruction Set Architecture: V_WMMA"};
    facts.matrix_sums = {128, "half of its 256 registers",
                         "AMD, RDNA3 Instruction Set Architecture: VGPRs of waves of 32"};
    facts.paired_products = {true, "waves of 32 issue two products at once",
                             "AMD, RDNA3 Instruction Set Architecture: VOPD"};
    return facts;
}

constexpr Facts nvidia_facts() {
    Facts facts = subgroups("64 are two subgroups of 32", "NVIDIA, CUDA C++ Programming Guide: a warp has 32 threads");
    facts.cooperative_matrices = {true, "it has units for them",
                                  "NVIDIA, CUDA C++ Programming Guide: Warp Matrix Functions"};
    facts.tile_quads = {1, "its many small multiprocessors want many tiles",
                        "docs/performance-nvidia-h200.md: Tiles of 8x4 sums"};
    facts.least_tiles = {96, "few workgroups leave most of its multiprocessors idle",
                         "docs/performance-nvidia-h200.md: Few tiles"};
    facts.tile_parts = {1, "sums that are shared were measured, parts were not",
                        "docs/performance-nvidia-h200.md: Few tiles"};
    return facts;
}

constexpr Architecture table[] = {
    {"llvmpipe", llvmpipe, llvmpipe_facts},
    {"SwiftShader", swiftshader},
    {"an unknown CPU driver", any_cpu, assumed(llvmpipe_facts, "measured on llvmpipe alone")},

    // What a row of these leaves out is taken as of an unknown GPU until it is measured.
    {"AMD Polaris or Vega", gcn,
     without_matrix_units(subgroups("64 are a subgroup", "AMD, Vega Instruction Set Architecture: wavefronts of 64"),
                          "AMD, Vega Instruction Set Architecture: no matrix instructions")},
    {"AMD RDNA 1 or 2", rdna2,
     without_matrix_units(
         subgroups("64 are a subgroup, or two of 32", "AMD, RDNA Instruction Set Architecture: waves of 32 and 64"),
         "AMD, RDNA 2 Instruction Set Architecture: no matrix instructions")},
    {"AMD RDNA 3 or later", rdna3, rdna3_facts()},
    {"NVIDIA Turing or later", turing, nvidia_facts()},
    {"Intel Xe-HPG", xe_hpg, xe("64 are whole subgroups of 8, 16 and 32", 8)},
    {"Intel Xe2", xe2, xe("64 are whole subgroups of 16 and 32", 16, 0)},
    {"another Intel GPU", any_intel, xe("64 are whole subgroups of 8, 16 and 32")},
    {"Qualcomm Adreno 6xx", adreno_6xx, adreno_6xx_facts()},
    {"Qualcomm Adreno 7xx", adreno_7xx, adreno_facts()},
    {"Arm Mali Bifrost", bifrost,
     direct("64 are whole subgroups of 4 and 8", "Mesa, src/panfrost: pan_subgroup_size", 64)},
    {"Arm Mali Valhall or later", valhall,
     direct("64 are four subgroups of 16", "Mesa, src/panfrost: pan_subgroup_size", 64)},

    {"an unknown discrete GPU",
     any_discrete,
     {.busy_invocations = {65536, "a discrete GPU has thousands of lanes, and each waits for memory", guess},
      .registers = {128, "no discrete GPU of these years has fewer", guess},
      .function_elements = {4, many_registers, guess},
      .product_tiles = {true, "tiles are read more often than they are written", guess},
      .least_tiles = {40, "few workgroups leave most of a discrete GPU idle", guess},
      .tile_parts = {16, "a tile's loop then stays what it is", "docs/gpu-compilers.md: The hottest loops of products"},
      .cooperative_matrices = {true, "a discrete GPU that offers them has units for them", guess},
      .maps_memory = {false, "reading a discrete device's memory over the bus is slow",
                      "Vulkan, VkMemoryPropertyFlagBits: the host is slower on memory that is not HOST_CACHED"},
      .work_per_s = {1e12, "a careful guess of the device's rate", guess},
      .bytes_per_s = {50e9, "the slow ones of the kind, at kernels that suit them badly", guess}}},
    {"an unknown GPU",
     any_device,
     {.workgroup_size = {64, "64 are whole subgroups of nearly every GPU",
                         "Vulkan drivers' subgroupSize: 4 to 64, Adreno's up to 128"},
      .busy_invocations = {8192, "a GPU that is not discrete has hundreds of lanes", guess},
      .far_rows = {0, "neighbouring invocations read a row together", guess},
      .row_quads = {1, "the next invocation reads the next one", guess},
      .walk_bytes = {0, "neighbouring ones read neighbouring memory", guess},
      .gathered_rows = {1, "neighbouring invocations read neighbouring memory", guess},
      .coalesces = {true, "a GPU fetches whole segments of memory for a subgroup", guess},
      .max_loop_passes = {0, "Vulkan has no such limit", "Vulkan: no limit of loops in its tables of limits"},
      .registers = {64, "no GPU is known that has fewer", guess},
      .function_elements = {1, "four at once may be more than half of the registers", guess},
      .own_rows = {4, "16 sums and what they are made of fit into 32 registers", guess},
      .shuffles = {true, "a shuffle costs less than a load", guess},
      .fold_subgroup = {0, "nothing is known of another size", guess},
      .shared_tiles = {true, "tiles are read more often than they are written", guess},
      .product_tiles = {false, "on some GPUs it is ordinary memory, and large tiles spill from few registers", guess},
      .tile_quads = {1, "32 sums fit into 64 registers", guess},
      .least_tiles = {1, "parts of the inner dimension are shared out where tiles are few", guess},
      .tile_parts = {1, "fewer invocations keep it busy than a discrete GPU", guess},
      .shared_rows = {false, "neighbouring invocations load the same through their caches", guess},
      .fma_chains = {true, "each link is one instruction, and not every compiler makes one of two",
                     "docs/gpu-compilers.md: The hottest loops of products"},
      .bottom_tests = {true, "a turn then has one branch", "docs/gpu-compilers.md: The hottest loops of products"},
      .cooperative_matrices = {false, "some drivers offer them where they make ordinary code of them",
                               "Mesa, anv on Tiger Lake and Skylake"},
      .matrix_subgroup = {0, "nothing is known of another size", guess},
      .matrix_sums = {64, "a quarter of the registers that large GPUs have", guess},
      .paired_products = {false, "nothing is known for another size", guess},
      .texel_reads = {false, "nothing is known against storage buffers", guess},
      .wide_storage = {false, "nothing is known for wider ones", guess},
      .half_loads = {false, "numbers of fp16 are computed with in pairs, as they lie in words", guess},
      .half_products = {true, "an instruction multiplies two numbers of fp16, or takes half the time", guess},
      .exact_reciprocals = {false, "Vulkan allows quotients an error of 2.5 ulp",
                            "Vulkan, Precision and Operation of SPIR-V Instructions: OpFDiv"},
      .half_roundings = {true, "nothing is known of compilers that leave one out", guess},
      .maps_memory = {true, "the host and the device share it", guess},
      .work_per_s = {30e9, "a careful guess of the device's rate", guess},
      .bytes_per_s = {5e9, "the slow ones of the kind, at kernels that suit them badly", guess}}},
};

}  // namespace

bool Pattern::takes(const DeviceCaps& caps) const {
    const auto holds = [&](const IdRange& ids) { return caps.device_id >= ids.first && caps.device_id <= ids.last; };
    return (type.empty() || caps.type == type) && (driver_id == 0 || caps.driver_id == driver_id) &&
           (driver.empty() || is_driver(caps, driver)) && (vendor_id == 0 || caps.vendor_id == vendor_id) &&
           (device_ids.empty() || std::any_of(device_ids.begin(), device_ids.end(), holds)) &&
           (features == nullptr || features(caps));
}

bool Architecture::takes(const DeviceCaps& caps) const {
    return std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& pattern) { return pattern.takes(caps); });
}

std::span<const Architecture> architectures() { return table; }

const Architecture& architecture_of(const DeviceCaps& caps) {
    return *std::find_if(std::begin(table), std::end(table), [&](const Architecture& row) { return row.takes(caps); });
}

Facts facts_of(const DeviceCaps& caps) {
    Facts facts;
    const auto add = [&facts](const Facts& more) {
        each_fact([&](const char*, auto member) {
            if (!(facts.*member)) facts.*member = more.*member;
        });
    };
    for (const Quirk* quirk : quirks_of(caps)) {
        Facts more = quirk->facts;
        each_fact([&](const char*, auto member) {
            (more.*member).why = quirk->symptom;
            (more.*member).source = quirk->where;
        });
        add(more);
    }
    for (const Architecture& row : table) {
        if (row.takes(caps)) add(row.facts);
    }
    return facts;
}

}  // namespace tosavk
