// What the kernels of products share while they are planned.
#pragma once

#include "kernels/product/product.hpp"

namespace tosavk {

/// How often something is read that `n` invocations need, `together` of them at a time.
inline double times(std::int64_t n, std::int64_t together) { return static_cast<double>(quotient_up(n, together)); }

/// Blocks of a quad of columns whose sums an invocation of turn_columns makes. A guess.
constexpr int summed_blocks = 8;

inline KernelChoice choice_of(const Product& p, const char* kernel) {
    KernelChoice choice;
    choice.kernel = kernel;
    choice.defines = {{"MATRIX", p.is_matrix ? "1" : "0"},
                      {"VOLUME", p.is_volume ? "1" : "0"},
                      {"TRANSPOSED", p.is_transposed ? "1" : "0"},
                      {"X_FLOAT", p.is_float ? "1" : "0"},
                      {"INTEGERS", p.integers ? "1" : "0"},
                      {"CONVERTS", std::to_string(static_cast<int>(p.converts))},
                      {"WIDE", p.is_wide ? "1" : "0"}};
    if (p.turns)
        choice.defines.insert(choice.defines.end(), {{"TURNED", "1"}, {"SUMMED", std::to_string(summed_blocks)}});
    choice.aligned = p.columns % 4 == 0;
    choice.in_rows = true;
    choice.work = p.work();
    return choice;
}

inline void define(KernelPass& choice, const char* name, std::int64_t value) {
    choice.defines.emplace_back(name, std::to_string(value));
}

/// Whether a tap's elements, less than four, are loaded one by one: of texels a load is a quad, whatever is taken of
/// it.
inline bool has_short_rows(const Product& p, const DevicePlan& device) {
    return p.is_fp32 && p.converts == Converts::none && p.inner < 4 && device.texel_elements == 0;
}

/// Whether one pipeline may have the product in all sizes (FLAT in lib/gemm_operands.glsl).
inline bool has_any_size(const Product& p) { return p.is_flat && p.inner % 4 == 0 && p.columns % 4 == 0; }

/// plan_tiles_in_parts() where tiles are in registers alone.
std::optional<ProductChoice> plan_rows_in_parts(const Product& p, const DevicePlan& device, std::string& why,
                                                int fixed_parts);

constexpr double least_work = 1 << 20;  ///< of a product that is worth a pass before; a guess

constexpr const char* at_once = ", four products at once";

}  // namespace tosavk
