#include "kernels/product/widen.hpp"

#include "kernels/common/operands.hpp"
#include "kernels/common/tensors.hpp"

namespace tosavk {

namespace {

/// How often an element of rows must be read for a pass that reads and writes memory; null: no reading is worth one.
/// Guesses: a number of fp16 or fp8 takes fourteen instructions, one of bf16 is shifted, which only tiles in registers
/// do at every read.
std::optional<double> least_reads(const Product& product, DType type, const ProductChoice& planned) {
    if (product.unpacks) return 8;
    if (type == DType::bf16 && planned.choice.kernel == "gemm_direct") return 64;
    return std::nullopt;
}

}  // namespace

std::optional<ProductChoice> plan_widened(Product& product, const NodeView& view, const DevicePlan& device,
                                          std::string& why, ProductPlan plan, int setting) {
    std::optional<ProductChoice> planned = plan(product, device, why, setting);
    if (!planned) return planned;
    const std::optional<double> least = least_reads(product, view.in(0).type, *planned);
    if (!least) return planned;
    const auto fits = [&](std::size_t k) {
        const std::int64_t elements = quotient_up(element_count(view.in(k).shape), 4) * 4;
        return elements <= max_elements && static_cast<std::uint64_t>(elements) * 4 <= device.max_binding_bytes;
    };
    // Weights are packed at any rate, but by so few rows they are read as fast as their bytes come.
    const bool pays = static_cast<double>(product.taps) * planned->row_reads >= *least &&
                      (product.is_matrix ? planned->column_reads >= *least / 2 : product.rows >= 32);
    if (!fits(0) || !fits(1) || !device.chooses(pays, "widens")) return planned;
    Product wide = product;
    wide.unpacks = false;
    wide.is_fp32 = wide.widens = true;
    if (wide.quad_bytes != 0) wide.quad_bytes = 4 * static_cast<std::int64_t>(size_of(DType::fp32));
    std::optional<ProductChoice> again = plan(wide, device, why, setting);
    if (!again) return planned;
    product = wide;
    return again;
}

KernelOperand widen(KernelChoice& choice, const NodeView& view, std::size_t k, const DevicePlan& device) {
    const std::int64_t quads = quotient_up(element_count(view.in(k).shape), 4);
    const int scratch = add_scratch(choice, quads * 4);
    KernelPass pass;
    pass.kernel = "widen";
    set_constants(pass, {{"QUADS", quads}});
    add_operand(pass, view, k, 1);
    pass.groups = linear_groups(quads, device);
    pass.writes = scratch;
    pass.writes_type = DType::fp32;
    pass.stores_quads = true;
    pass.work = static_cast<double>(quads * 4);
    choice.earlier.push_back(std::move(pass));
    return scratch_operand(scratch, DType::fp32);
}

}  // namespace tosavk
