// What CONV2D, CONV3D, TRANSPOSE_CONV2D and MATMUL share when they run as one matrix product: kernels
// (shaders/gemm*.comp and, of the convolutions, conv.comp) that read their operands alike
// (shaders/lib/gemm_operands.glsl).
#pragma once

#include "kernels/common/kernel_choice.hpp"
#include "kernels/product/pack_weights.hpp"

#include <optional>

namespace tosavk {

/// Whether four products of 8-bit numbers are one instruction: of signed numbers, or of those by unsigned ones, which
/// rows then are, each number and the zero point 128 more. What DOT4 is to kernels.
enum class Dot4 { none = 0, is_signed = 1, is_mixed = 2 };
Dot4 dot4_of(DType type, const DevicePlan& device);

/// What becomes fp32 where a kernel reads it: rows of a convolution with a constant bias, which has what their zero
/// point adds; or rows and columns, less their zero points. What CONVERTS is to kernels.
enum class Converts { none = 0, rows = 1, both = 2 };

/// Rows by columns, each result a sum of `taps` (of TRANSPOSE_CONV2D at most so many) times `inner` products.
struct Product {
    bool is_matrix = false;      ///< of MATMUL, else an implicit one
    bool is_volume = false;      ///< of CONV3D
    bool is_transposed = false;  ///< of TRANSPOSE_CONV2D
    bool is_float = false;
    bool is_fp32 = false;       ///< factors are computed with in fp32, as they lie in memory but for `converts`
    bool is_half = false;       ///< of fp16, and in the device's fp16 (DevicePlan::fast_fp16) where the kernel can
    bool loads_halves = false;  ///< of fp16 of precision fast, which is read as it lies in memory
    bool unpacks = false;       ///< of fp16 or fp8, which become fp32 by integer work
    /// Of numbers that become fp32 in passes before (widen.hpp), or in constants: is_float and is_fp32 then.
    bool widens = false;
    bool fills = false;  ///< of a convolution: that pass makes four inner elements of three or two, of any type
    /// Of 8-bit integers that become fp32, before or where they are read: each sum is a whole number that fp32 holds.
    bool integers = false;
    Converts converts = Converts::none;  ///< integers: what becomes fp32 where it is read
    bool is_wide = false;                ///< of i16, by i8 or (of MATMUL) i16: sums of 48 bits
    /// Of i8, and the device multiplies four pairs at once; of a convolution its bias is constant.
    Dot4 dot4 = Dot4::none;
    bool sums_rows = false;  ///< of a convolution, and dot4: its weights have a zero point
    bool turns = false;      ///< of MATMUL, and dot4: a pass before makes words of four inner elements (TURNED)
    /// Of CONV2D: one tap, strides of one. What is cut off its input, or padded, may be folded into it.
    bool is_pointwise = false;
    bool is_flat = false;         ///< of such a one: every pixel is made of the input pixel of its number
    bool is_vector = false;       ///< of a convolution: one row of one tap, of floats
    std::int64_t quad_bytes = 0;  ///< of MATMUL: of four columns that are neighbours in memory
    std::int64_t batch = 1;       ///< such products; phases of TRANSPOSE_CONV2D
    std::int64_t line = 0;        ///< of a convolution: rows that are pixels of one line of the output
    std::int64_t rows = 1, columns = 1, taps = 1, inner = 1;

    std::int64_t quads() const { return (columns + 3) / 4; }
    std::int64_t blocks() const { return taps * ((inner + 3) / 4); }
    /// Passes of a kernel's loops over them; those of fp16 have a loop around, of which each turn is eight or fewer.
    std::int64_t passes() const { return blocks() + (is_half ? taps * ((inner + 31) / 32) : 0); }
    double work() const { return 2.0 * static_cast<double>(batch * rows * columns * taps * inner); }
};

/// Whether operands of a type become fp32 by integer work on a device (Product::unpacks).
bool unpacks(DType type, const DevicePlan& device);

struct ProductChoice {
    KernelChoice choice;
    double row_reads, column_reads;  ///< how often each element of a row and of a column is read
    bool moves_bits = false;         ///< fp16 operands are read as i16: the kernel only moves them
    /// Of a convolution: its words of weights hold one column each, and its bias what zero points add.
    Dot4 dot4 = Dot4::none;
    std::optional<InnerUnits> units = {};  ///< of a convolution: its weights are packed so
    std::int64_t parts = 1;                ///< of gemm_tiles and gemm_direct: see in_parts()
    std::int64_t lane_blocks = 0;          ///< of gemm_split: how many blocks an invocation sums at most
};

/// Each decides whether its kernel suits the product and the device, or declines with a sentence in `why`. Sets kernel,
/// defines, workgroups and what follows from the sizes; constants and operands are the caller's.
/// For devices whose subgroups share rows. `fixed_rows`: rows that an invocation makes, 4, 8 or 16; 0: by the sizes.
std::optional<ProductChoice> plan_shared_rows(const Product& product, const DevicePlan& device, std::string& why,
                                              int fixed_rows);
/// For devices that like tiles in shared memory, and products that keep them busy, or any with `however_few` not 0.
std::optional<ProductChoice> plan_shared_tiles(const Product& product, const DevicePlan& device, std::string& why,
                                               int however_few);
/// The same where there are few, each made by several workgroups with a part of the inner dimension, or where they are
/// in registers alone by several invocations: `fixed_parts` of them; 0: by the sizes.
std::optional<ProductChoice> plan_tiles_in_parts(const Product& product, const DevicePlan& device, std::string& why,
                                                 int fixed_parts);
/// A choice of ProductChoice::parts parts with its operands, of a convolution the bias as the last one: as the pass
/// that makes them, before that which adds them up.
KernelChoice in_parts(KernelChoice&& tiles, const Product& product, std::int64_t parts, const DevicePlan& device);
/// For devices with cooperative matrices, and products of i8 or fp16 (`type`) that keep them busy, whose sums become
/// `result`. The kernel makes sums of rows (`row_sums`) where the columns may have a zero point, and sums of columns
/// (`column_sums`) where the rows may; else the bias has what they add. `fixed_rows`: of a tile, 32, 64 or 128; 0: by
/// the sizes.
std::optional<ProductChoice> plan_cooperative(const Product& product, DType type, DType result, bool row_sums,
                                              bool column_sums, const DevicePlan& device, std::string& why,
                                              int fixed_rows);
/// For devices that like shared memory, and products so small that several invocations share a sum: `fixed_lanes` of
/// them, a power of two from 4 on; 0: by the sizes.
std::optional<ProductChoice> plan_split_sums(const Product& product, const DevicePlan& device, std::string& why,
                                             int fixed_lanes);
/// One of those that take a setting and any operands.
using ProductPlan = std::optional<ProductChoice> (*)(const Product&, const DevicePlan&, std::string&, int);

/// How an operator runs as a product; each with a setting, 0: by the sizes.
struct ProductKernels {
    using Plan = std::optional<KernelChoice>(const NodeView&, const DevicePlan&, std::string&, int);
    using Of = std::optional<KernelChoice>(const NodeView&, const DevicePlan&, std::string&, ProductPlan, int);

    Plan* matrices;  ///< by cooperative matrices
    Of* product;     ///< by one of the others above
    const char* own_name;
    Plan* own;  ///< by the operator's own kernel, which every device runs
};
/// The candidates in the order in which they are asked, and their variants.
std::vector<KernelCandidate> product_kernels(const ProductKernels& plans);

}  // namespace tosavk
