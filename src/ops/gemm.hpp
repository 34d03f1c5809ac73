// What CONV2D and MATMUL share when they run as one matrix product (shaders/gemm.comp).
#pragma once

#include "plan/kernel_choice.hpp"

namespace tosavk {

/// For devices whose subgroups share rows. Sets kernel, defines, workgroups and what follows from the sizes; constants and
/// operands are the caller's.
void set_gemm(KernelChoice& choice, const DevicePlan& device, bool is_matrix, bool is_float, std::int64_t batch,
              std::int64_t rows, std::int64_t columns, std::int64_t inner);

/// How often each element of a row and of a column of such a product is read.
struct GemmReads {
    double of_rows, of_columns;
};
GemmReads gemm_reads(const DevicePlan& device, std::int64_t batch, std::int64_t rows, std::int64_t columns);

}  // namespace tosavk
