// Facts: what is known of devices of a kind beyond what they say of themselves (DeviceCaps), each with its source.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace tosavk {

/// The source of what nobody has measured or written down.
inline constexpr std::string_view guess = "a guess until measured";

template <class T> struct Fact {
    std::optional<T> value = {};  ///< nothing: not stated
    std::string_view why = {};    ///< the reason, for the sentences of DevicePlan::reasons
    std::string_view source =
        {};  ///< a measurement and where it stands, a specification, a driver's source, or `guess`

    constexpr explicit operator bool() const { return value.has_value(); }
    constexpr const T& operator*() const { return *value; }
};

struct Facts {
    Fact<std::uint32_t> workgroup_size = {};     ///< invocations, wanted
    Fact<std::int64_t> busy_invocations = {};    ///< as DevicePlan's
    Fact<std::int64_t> far_rows = {};            ///< as DevicePlan's
    Fact<std::int64_t> row_quads = {};           ///< as DevicePlan's
    Fact<std::int64_t> walk_bytes = {};          ///< as DevicePlan's
    Fact<std::int64_t> gathered_rows = {};       ///< as DevicePlan's
    Fact<bool> coalesces = {};                   ///< a subgroup's loads of neighbouring memory are one
    Fact<std::int64_t> max_loop_passes = {};     ///< as DevicePlan's
    Fact<std::uint32_t> registers = {};          ///< as DevicePlan's
    Fact<std::uint32_t> function_elements = {};  ///< as DevicePlan's
    Fact<std::uint32_t> own_rows = {};           ///< as DevicePlan's
    Fact<bool> shuffles = {};                    ///< exchange of values within subgroups pays, where the device has it
    Fact<std::uint32_t> fold_subgroup = {};      ///< invocations that fold by shuffles; 0: the device's size
    Fact<bool> shared_tiles = {};                ///< sums, scans and transforms in shared memory pay
    Fact<bool> product_tiles = {};               ///< tiles of matrix products in shared memory pay
    Fact<std::uint32_t> tile_quads = {};         ///< as DevicePlan's
    Fact<std::int64_t> least_tiles = {};         ///< as DevicePlan's
    Fact<std::int64_t> tile_parts = {};          ///< as DevicePlan's
    Fact<bool> shared_rows = {};                 ///< exchange of a product's rows within subgroups pays
    Fact<bool> fma_chains = {};                  ///< as DevicePlan's
    Fact<bool> bottom_tests = {};                ///< as DevicePlan's
    Fact<bool> cooperative_matrices = {};        ///< they pay, where the device has them
    Fact<std::uint32_t> matrix_subgroup =
        {};                                ///< invocations that work at a matrix unit together; 0: the device's size
    Fact<std::uint32_t> matrix_sums = {};  ///< as DevicePlan's
    Fact<bool> paired_products = {};       ///< subgroups of matrix_subgroup issue products of floats in pairs
    Fact<bool> texel_reads = {};           ///< reading through uniform texel buffers pays
    Fact<bool> wide_storage = {};          ///< storage buffers in components of 64 bits pay
    Fact<bool> half_loads = {};            ///< registers hold single numbers of fp16, loaded as such
    Fact<bool> half_products = {};         ///< as DevicePlan's
    Fact<bool> exact_reciprocals = {};     ///< as DevicePlan's
    Fact<bool> half_roundings = {};        ///< a rounding to fp16 is kept where fp32 follows
    Fact<bool> maps_memory = {};           ///< device memory that the host sees is read fast by it
    Fact<double> work_per_s = {};          ///< operations that the slow devices of the kind manage
    Fact<double> bytes_per_s = {};         ///< bytes that their memory moves
};

/// The one list of the facts: name and member of each.
inline constexpr std::tuple fact_members{
    std::pair{"workgroup_size", &Facts::workgroup_size},
    std::pair{"busy_invocations", &Facts::busy_invocations},
    std::pair{"far_rows", &Facts::far_rows},
    std::pair{"row_quads", &Facts::row_quads},
    std::pair{"walk_bytes", &Facts::walk_bytes},
    std::pair{"gathered_rows", &Facts::gathered_rows},
    std::pair{"coalesces", &Facts::coalesces},
    std::pair{"max_loop_passes", &Facts::max_loop_passes},
    std::pair{"registers", &Facts::registers},
    std::pair{"function_elements", &Facts::function_elements},
    std::pair{"own_rows", &Facts::own_rows},
    std::pair{"shuffles", &Facts::shuffles},
    std::pair{"fold_subgroup", &Facts::fold_subgroup},
    std::pair{"shared_tiles", &Facts::shared_tiles},
    std::pair{"product_tiles", &Facts::product_tiles},
    std::pair{"tile_quads", &Facts::tile_quads},
    std::pair{"least_tiles", &Facts::least_tiles},
    std::pair{"tile_parts", &Facts::tile_parts},
    std::pair{"shared_rows", &Facts::shared_rows},
    std::pair{"fma_chains", &Facts::fma_chains},
    std::pair{"bottom_tests", &Facts::bottom_tests},
    std::pair{"cooperative_matrices", &Facts::cooperative_matrices},
    std::pair{"matrix_subgroup", &Facts::matrix_subgroup},
    std::pair{"matrix_sums", &Facts::matrix_sums},
    std::pair{"paired_products", &Facts::paired_products},
    std::pair{"texel_reads", &Facts::texel_reads},
    std::pair{"wide_storage", &Facts::wide_storage},
    std::pair{"half_loads", &Facts::half_loads},
    std::pair{"half_products", &Facts::half_products},
    std::pair{"exact_reciprocals", &Facts::exact_reciprocals},
    std::pair{"half_roundings", &Facts::half_roundings},
    std::pair{"maps_memory", &Facts::maps_memory},
    std::pair{"work_per_s", &Facts::work_per_s},
    std::pair{"bytes_per_s", &Facts::bytes_per_s},
};

/// Calls visit(name, member) for each fact; facts.*member is a Fact.
template <class Visit> constexpr void each_fact(Visit&& visit) {
    std::apply([&](const auto&... named) { (visit(named.first, named.second), ...); }, fact_members);
}

}  // namespace tosavk
