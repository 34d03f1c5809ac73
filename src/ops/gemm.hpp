// What CONV2D and MATMUL share when they run as one matrix product (shaders/gemm.comp).
#pragma once

#include "plan/kernel_choice.hpp"

namespace tosavk {

/// For devices whose subgroups share rows. Sets kernel, defines, workgroups and what follows from the sizes; constants and operands are the caller's.
/// `tile`: rows that an invocation makes, 4, 8 or 16; 0: by the sizes.
void set_gemm(KernelChoice& choice, const DevicePlan& device, bool is_matrix, bool is_float, std::int64_t batch,
              std::int64_t rows, std::int64_t columns, std::int64_t inner, int tile = 0);

}  // namespace tosavk
