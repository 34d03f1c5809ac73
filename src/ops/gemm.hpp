// What CONV2D and MATMUL share when they run as one matrix product (shaders/gemm.comp).
#pragma once

#include "plan/kernel_choice.hpp"

namespace tosavk {

/// Rows that an invocation of shaders/gemm.comp makes: 16, or fewer where the product would leave invocations idle.
int gemm_tile_rows(const DevicePlan& device, std::int64_t batch, std::int64_t rows, std::int64_t columns);

/// Sets kernel, defines, workgroups and what follows from the sizes; constants and operands are the caller's.
void set_gemm(KernelChoice& choice, const DevicePlan& device, bool is_matrix, bool is_float, std::int64_t batch,
              std::int64_t rows, std::int64_t columns, std::int64_t inner);

}  // namespace tosavk
