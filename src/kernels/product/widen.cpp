#include "kernels/product/widen.hpp"

#include "device/size_choices.hpp"
#include "kernels/common/operands.hpp"
#include "kernels/common/tensors.hpp"
#include "kernels/product/product_choice.hpp"

namespace tosavk {

namespace {

// Of sums in parts, guesses: what is summed in a part is more than a hundred products, and what is written and read for
// it memory that a phone has.
constexpr std::int64_t max_parts = 8, max_part_sums = 1 << 24;

/// Whether taps of two or three elements should become quads: tiles in registers load and place each by itself.
bool is_filled(const Product& p, const ProductChoice& planned) {
    return !p.is_matrix && !p.is_wide && (p.inner == 2 || p.inner == 3) && p.taps > 1 &&
           planned.choice.kernel == "gemm_direct";
}

constexpr double least_unpacked = 8;  ///< least_reads() of what becomes fp32 by integer work

/// How often an element of rows must be read for a pass that reads and writes memory; nothing: no reading is worth one.
/// Guesses, of what is saved at each: a number of fp16 or fp8 takes fourteen instructions; a product of integers takes
/// two to four where one of fp32 takes one; a number of bf16 is shifted, which only tiles in registers do at every
/// read; of a filled tap three loads become one.
std::optional<double> least_reads(const Product& product, DType type, const ProductChoice& planned,
                                  const DevicePlan& device) {
    if (product.unpacks) return least_unpacked;
    if (type == DType::i8 && !device.dot4 && device.fma_chains) return 16;
    if (type == DType::bf16 && planned.choice.kernel == "gemm_direct") return 64;
    if ((product.is_float || product.dot4 != Dot4::none) && is_filled(product, planned)) return 32;
    return std::nullopt;
}

/// Whether passes before save more than they cost. Guesses. Products of several matrices are attention's, which is to
/// stay in two or three dispatches.
bool pays(const Product& p, const NodeView& view, const ProductChoice& planned, double reads, double least) {
    return p.work() >= least_work && reads * planned.row_reads >= least &&
           (p.is_matrix ? p.batch == 1 && planned.column_reads >= least / 2 : has_many_rows(p, view.in(1).type));
}

/// What of i8 should become fp32 where it is read, which takes fewer instructions than products of integers.
Converts converts_of(const Product& p, const NodeView& view, const ProductChoice& planned) {
    const std::string& kernel = planned.choice.kernel;
    if (view.in(0).type != DType::i8 || (kernel != "gemm_direct" && kernel != "gemm_split")) return Converts::none;
    const bool rows =
        !p.is_matrix && view.in(2).is_constant() && has_many_rows(p, view.in(1).type) && kernel == "gemm_direct";
    return rows ? Converts::rows : Converts::both;
}

/// Whether both operands do in fp32.
bool fit(const Product& p, const NodeView& view, const DevicePlan& device) {
    const auto fits = [&](std::int64_t elements) {
        return elements <= max_elements && static_cast<std::uint64_t>(elements) * 4 <= device.max_binding_bytes;
    };
    const auto in_quads = [&](std::size_t k) { return quotient_up(element_count(view.in(k).shape), 4) * 4; };
    const std::int64_t rows =
        p.inner == 2 || p.inner == 3 ? element_count(view.in(0).shape) / p.inner * 4 : in_quads(0);
    return fits(rows) && fits(p.is_matrix ? in_quads(1) : p.batch * p.quads() * p.blocks() * 16);
}

/// `planned`, or in more parts, so that fp32 holds their sums.
std::optional<ProductChoice> of_whole_sums(ProductChoice&& planned, const Product& p, const LargestSum& largest,
                                           const DevicePlan& device, std::string& why) {
    const auto fp32_holds = [&](std::int64_t parts) {
        const std::optional<std::int64_t> sum = largest(parts, p.converts);
        return sum && *sum <= whole_in_fp32;
    };
    // Parts of gemm_tiles end where its steps do.
    const bool in_registers = planned.choice.kernel == "gemm_direct" && !device.product_tiles;
    if (planned.lane_blocks > 0) {
        // Invocations of gemm_split add theirs up as integers.
        const std::optional<std::int64_t> of_block = largest(p.blocks(), p.converts);
        if (of_block && *of_block * planned.lane_blocks <= whole_in_fp32) return std::move(planned);
        return std::nullopt;
    }
    if (fp32_holds(in_registers ? planned.parts : 1)) return std::move(planned);
    if (!in_registers || p.is_transposed) return std::nullopt;
    if (!device.chooses(p.work() >= least_work && (!p.is_matrix || p.batch == 1), "worth parts")) return std::nullopt;
    for (std::int64_t parts = 2 * planned.parts; parts <= max_parts; parts *= 2) {
        if (parts * p.batch * p.rows * p.quads() * 4 > max_part_sums) break;
        if (fp32_holds(parts)) return plan_tiles_in_parts(p, device, why, static_cast<int>(parts));
    }
    return std::nullopt;
}

/// What passes make of its operands is read instead.
void read_widened(Product& p) {
    p.widens = true;
    if (p.quad_bytes != 0) p.quad_bytes = 4 * static_cast<std::int64_t>(size_of(DType::fp32));
}

/// A kernel for few tiles, which declines the small ones of floats that it would unpack, may take the larger ones of
/// what passes unpack before.
std::optional<ProductChoice> plan_unpacked(Product& product, const NodeView& view, double reads,
                                           const DevicePlan& device, ProductPlan plan, int setting) {
    Product wide = product;
    wide.unpacks = wide.loads_halves = false;
    wide.is_fp32 = true;
    read_widened(wide);
    const SizeChoices::Scope scope(device.sizes, device.sizes ? device.sizes->scope() + ", unpacked" : "");
    std::string why_not;
    std::optional<ProductChoice> planned = plan(wide, device, why_not, setting);
    if (!planned || is_filled(wide, *planned) || !fit(wide, view, device) ||
        !device.chooses(pays(wide, view, *planned, reads, least_unpacked), "widens"))
        return std::nullopt;
    product = wide;
    return planned;
}

}  // namespace

std::optional<ProductChoice> plan_widened(Product& product, const NodeView& view, double reads,
                                          const LargestSum& largest, const DevicePlan& device, std::string& why,
                                          ProductPlan plan, int setting) {
    std::optional<ProductChoice> planned = plan(product, device, why, setting);
    if (!planned && product.unpacks) return plan_unpacked(product, view, reads, device, plan, setting);
    if (!planned) return planned;
    const std::optional<double> least = least_reads(product, view.in(0).type, *planned, device);
    if (!least || !fit(product, view, device)) return planned;
    const bool by_pass = device.chooses(pays(product, view, *planned, reads, *least), "widens");
    Product wide = product;
    wide.fills = by_pass && is_filled(product, *planned);
    if (wide.fills) wide.inner = 4;
    if (product.dot4 != Dot4::none || product.is_half) {
        if (!wide.fills) return planned;
        const SizeChoices::Scope scope(device.sizes, device.sizes ? device.sizes->scope() + ", filled" : "");
        std::optional<ProductChoice> again = plan(wide, device, why, setting);
        if (!again) return planned;
        product = wide;
        return again;
    }
    wide.unpacks = wide.loads_halves = wide.sums_rows = false;
    wide.is_float = wide.is_fp32 = true;
    wide.integers = !product.is_float;
    if (!by_pass) {
        const Converts now = converts_of(product, view, *planned);
        for (const Converts converts : {Converts::rows, Converts::both})
            if (device.chooses(now == converts, "converts", static_cast<int>(converts))) wide.converts = converts;
        const bool fits = wide.converts == Converts::both || planned->choice.kernel == "gemm_direct";
        if (wide.converts == Converts::none || !fits) return planned;
    }
    wide.dot4 = Dot4::none;
    if (wide.converts != Converts::both) read_widened(wide);
    // Its choices are other ones.
    const SizeChoices::Scope scope(device.sizes, device.sizes ? device.sizes->scope() + ", widened" : "");
    std::optional<ProductChoice> again = plan(wide, device, why, setting);
    if (again && !by_pass && again->choice.kernel != planned->choice.kernel) return planned;
    if (again && wide.integers) again = of_whole_sums(std::move(*again), wide, largest, device, why);
    if (!again) return planned;
    product = wide;
    return again;
}

KernelOperand widen(KernelChoice& choice, const NodeView& view, std::size_t k, std::int64_t zero_point,
                    const Product& product, const DevicePlan& device) {
    const bool fills = product.fills;
    const DType type = product.widens ? DType::fp32 : view.in(k).type;
    const Shape& shape = view.in(k).shape;
    const std::int64_t quads = fills ? element_count(shape) / shape.back() : quotient_up(element_count(shape), 4);
    const int scratch = add_scratch(choice, quads * static_cast<std::int64_t>(size_of(type)));
    KernelPass pass;
    pass.kernel = "widen";
    pass.defines = {{"INTEGERS", is_float(view.in(k).type) ? "0" : "1"}, {"TO_INTEGERS", is_float(type) ? "0" : "1"}};
    set_constants(pass, {{"QUADS", quads}, {"ZERO_POINT", zero_point}, {"ELEMENTS", fills ? shape.back() : 4}});
    // Loads of one element make a quad of what is folded into them.
    add_operand(pass, view, k, fills ? 12.0 / static_cast<double>(shape.back()) : 1);
    pass.groups = linear_groups(quads, device);
    pass.writes = scratch;
    pass.writes_type = type;
    pass.stores_quads = true;
    pass.work = static_cast<double>(quads * 4);
    choice.earlier.push_back(std::move(pass));
    return scratch_operand(scratch, type);
}

}  // namespace tosavk
