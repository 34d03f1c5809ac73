// The GPU kernel of MATMUL. Both operands are taken for run-time tensors, so that what suits them better is made by
// passes.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"
#include "kernels/product/product_choice.hpp"
#include "kernels/product/widen.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

std::optional<Product> product_of(const NodeView& view, const DevicePlan& device, std::string& why) {
    const DType type = view.in(0).type;
    if (type != DType::i8 && type != DType::i16 && !is_float(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const Shape& a = view.in(0).shape;
    const Product product{.is_matrix = true,
                          .is_float = is_float(type),
                          .is_fp32 = type == DType::fp32,
                          .is_half = device.fast_fp16 && device.half_products && type == DType::fp16,
                          .loads_halves = device.fast_fp16 && type == DType::fp16,
                          .unpacks = unpacks(type, device),
                          .is_wide = type == DType::i16,
                          .dot4 = dot4_of(type, device),
                          .quad_bytes = 4 * static_cast<std::int64_t>(size_of(type)),
                          .batch = a[0],
                          .rows = a[1],
                          .columns = view.in(1).shape[2],
                          .inner = a[2]};
    if (loop_steps(device, 1, product.passes(), why) != 1) return std::nullopt;
    return product;
}

/// What a pass makes of the second operand (turn_columns.comp), a word each: the columns' elements and their sums.
std::int64_t turned_words(const Product& p) {
    return p.batch * p.quads() * 16 * quotient_up(p.blocks() + quotient_up(p.blocks(), summed_blocks), 4);
}

/// Whether a pass may turn the columns' words for packed dot products, each once.
bool may_turn(const NodeView& view, const Product& p, const DevicePlan& device) {
    // The sums of two quads of columns are loops too.
    const std::int64_t passes = p.passes() + 2 * quotient_up(p.blocks(), summed_blocks);
    std::string why;
    return p.dot4 != Dot4::none && view.in(3).is_constant() && turned_words(p) <= max_elements &&
           static_cast<std::uint64_t>(turned_words(p)) * 4 <= device.max_binding_bytes &&
           loop_steps(device, 1, passes, why) == 1;
}

/// Whether that costs less than turning them at every read. Guesses, as widen.cpp's. A tile in shared memory turns a
/// word once for all its rows: what is saved, up to a tenth of the work (docs/gpu-compilers.md), is more than another
/// dispatch costs where there is much, and where several tiles read each word.
bool should_turn(const Product& p, const ProductChoice& planned) {
    if (p.batch != 1 || p.rows < 64) return false;
    return planned.choice.kernel == "gemm_tiles" ? planned.column_reads >= 4 && p.work() >= 256 * least_work
                                                 : p.work() >= least_work;
}

/// Adds that pass to `choice`. Returns what the kernel reads.
KernelOperand turn(KernelChoice& choice, const NodeView& view, const Product& p, const DevicePlan& device) {
    const std::int64_t parts = quotient_up(p.blocks(), summed_blocks);
    const int scratch = add_scratch(choice, turned_words(p));
    KernelPass pass;
    pass.kernel = "turn_columns";
    pass.defines = {{"SUMMED", std::to_string(summed_blocks)}};
    set_constants(
        pass,
        {{"BATCH", p.batch}, {"K", p.inner}, {"COLUMNS", p.columns}, {"ZERO_POINT", view.constant_ints(3).at(0)}});
    add_operand(pass, view, 1, 1);
    pass.groups = linear_groups(p.batch * parts * p.quads(), device);
    pass.writes = scratch;
    pass.writes_type = DType::i32;
    pass.stores_quads = true;
    pass.work = static_cast<double>(p.batch * p.inner * p.columns);
    choice.earlier.push_back(std::move(pass));
    return scratch_operand(scratch, DType::i32);
}

KernelChoice with_operands(ProductChoice&& planned, const NodeView& view, const Product& product,
                           const DevicePlan& device) {
    KernelChoice& choice = planned.choice;
    set_constants(
        choice, {{"BATCH", product.batch}, {"ROWS", product.rows}, {"COLUMNS", product.columns}, {"K", product.inner}});
    if (product.widens) {
        for (const std::size_t k : {0u, 1u})
            choice.operands.push_back(
                widen(choice, view, k, product.integers ? view.constant_ints(k + 2).at(0) : 0, product, device));
    } else {
        add_operand(choice, view, 0, planned.row_reads * quad_waste(product.inner), planned.moves_bits);
        if (product.turns) choice.operands.push_back(turn(choice, view, product, device));
        else add_operand(choice, view, 1, planned.column_reads * quad_waste(product.columns), planned.moves_bits);
    }
    if (product.widens && product.integers) {
        set_constants(choice, {{"ROW_ZP_CONSTANT", 0}, {"COLUMN_ZP_CONSTANT", 0}});
        choice.defines.insert(choice.defines.end(), {{"ROW_ZP", "0"}, {"COLUMN_ZP", "0"}});
        return std::move(choice);
    }
    define_scalar(choice, view, 2, "ROW_ZP");
    define_scalar(choice, view, 3, "COLUMN_ZP");
    return std::move(choice);
}

/// Of i8, where both zero points are known: the largest product of two numbers less these, as often as there are any.
std::optional<std::int64_t> largest_sum(const NodeView& view, const Product& product, std::int64_t parts) {
    std::int64_t largest = parts == 1 ? product.inner : 4 * quotient_up(product.blocks(), parts);
    for (const std::size_t zero_point : {2u, 3u}) {
        if (!view.in(zero_point).is_constant()) return std::nullopt;
        const std::int64_t less = view.constant_ints(zero_point).front();
        largest *= std::max(max_of(DType::i8) - less, less - min_of(DType::i8));
    }
    return largest;
}

/// As one of the kernels of kernels/product/product.hpp.
std::optional<KernelChoice> plan_product(const NodeView& view, const DevicePlan& device, std::string& why,
                                         ProductPlan plan, int setting) {
    auto product = product_of(view, device, why);
    if (!product) return std::nullopt;
    const auto largest = [&](std::int64_t parts, Converts) { return largest_sum(view, *product, parts); };
    auto planned = plan_widened(*product, view, 1, largest, device, why, plan, setting);
    if (!planned) return std::nullopt;
    const std::string& kernel = planned->choice.kernel;
    const bool in_tiles = kernel == "gemm_tiles";
    if ((in_tiles || kernel == "gemm_direct") && may_turn(view, *product, device) &&
        device.chooses(should_turn(*product, *planned), "turns", in_tiles)) {
        Product turned = *product;
        turned.turns = true;
        const SizeChoices::Scope scope(device.sizes, device.sizes ? device.sizes->scope() + ", turned" : "");
        if (auto again = plan(turned, device, why, setting); again && again->choice.kernel == kernel) {
            planned = std::move(again);
            product = turned;
        }
    }
    const std::int64_t parts = planned->parts;
    KernelChoice choice = with_operands(std::move(*planned), view, *product, device);
    if (parts > 1) return in_parts(std::move(choice), *product, parts, device);
    return choice;
}

std::optional<KernelChoice> plan_matrices(const NodeView& view, const DevicePlan& device, std::string& why,
                                          int fixed_rows) {
    const auto product = product_of(view, device, why);
    if (!product) return std::nullopt;
    const auto may_add = [&](std::size_t zero_point) {
        return !product->is_float &&
               (!view.in(zero_point).is_constant() || view.constant_ints(zero_point).front() != 0);
    };
    auto planned =
        plan_cooperative(*product, view.in(0).type, view.out().type, may_add(3), may_add(2), device, why, fixed_rows);
    if (!planned) return std::nullopt;
    return with_operands(std::move(*planned), view, *product, device);
}

std::optional<KernelChoice> plan_matmul(const NodeView& view, const DevicePlan& device, std::string& why,
                                        int fixed_tile) {
    const DType type = view.in(0).type;
    if (type != DType::i8 && type != DType::i16 && !is_float(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const Shape& a = view.in(0).shape;
    const std::int64_t batch = a[0], height = a[1], inner = a[2], width = view.in(1).shape[2], quads = (width + 3) / 4;
    // Four rows share every quad of B that an invocation loads; small outputs need the invocations more (below 4096, a
    // guess).
    const std::int64_t tile = fixed_tile != 0 ? fixed_tile : height >= 4 && batch * height * quads >= 4096 ? 4 : 1;

    const auto steps = loop_steps(device, 1, (inner + 3) / 4 + (type == DType::i16 ? chunk_steps(inner) : 0), why);
    if (!steps) return std::nullopt;

    KernelChoice choice;
    choice.kernel = "matmul";
    choice.defines = {{"X_FLOAT", is_float(type) ? "1" : "0"},
                      {"WIDE", type == DType::i16 ? "1" : "0"},
                      {"TM", std::to_string(tile)},
                      {"STEPS", std::to_string(*steps)}};
    set_constants(choice, {{"N", batch}, {"H", height}, {"C", inner}, {"W", width}});
    add_operand(choice, view, 0, static_cast<double>(quads) * quad_waste(inner));
    add_operand(choice, view, 1, static_cast<double>((height + tile - 1) / tile) * quad_waste(width));
    define_scalar(choice, view, 2, "A_ZP");
    define_scalar(choice, view, 3, "B_ZP");
    choice.groups = linear_groups(batch * ((height + tile - 1) / tile) * quads, device);
    choice.aligned = width % 4 == 0;
    choice.in_rows = true;
    choice.work = 2.0 * static_cast<double>(batch * height * width * inner);
    choice.note = fmt::format("{}x4 tile", tile);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> matmul_kernels() {
    return product_kernels({plan_matrices, plan_product, "register tile", plan_matmul});
}

}  // namespace tosavk
