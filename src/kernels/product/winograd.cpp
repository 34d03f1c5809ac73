#include "kernels/product/winograd.hpp"

#include "graph/host_tensor.hpp"
#include "kernels/common/operands.hpp"
#include "kernels/product/product.hpp"
#include "ops/window.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace tosavk {
namespace {

using Filter = std::array<double, 3>;

/// The rows of G.
constexpr std::array<Filter, 4> filters_of_two{{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
constexpr std::array<Filter, 6> filters_of_four{{{1.0 / 4, 0, 0},
                                                 {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                                 {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                                 {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                                 {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                                 {0, 0, 1}}};

std::int64_t padded(std::int64_t channels) { return (channels + 3) / 4 * 4; }

/// G g G^T of all channels, of weights [OC,3,3,C]: [tile][C rounded up to 4][OC rounded up to 4] of a float type, with
/// zeros behind.
Bytes transformed(const Value& weight, std::span<const Filter> filters, DType type) {
    const auto out = static_cast<std::size_t>(weight.shape[0]), in = static_cast<std::size_t>(weight.shape[3]);
    const auto columns = static_cast<std::size_t>(padded(weight.shape[0])),
               inner = static_cast<std::size_t>(padded(weight.shape[3]));
    const std::vector<double> g = decode_reals(weight.type, *weight.data);
    Bytes all;
    for (const Filter& down : filters) {
        for (const Filter& along : filters) {
            std::vector<double> part(inner * columns, 0.0);
            for (std::size_t oc = 0; oc < out; ++oc) {
                for (std::size_t c = 0; c < in; ++c) {
                    double sum = 0;
                    for (std::size_t ky = 0; ky < 3; ++ky) {
                        for (std::size_t kx = 0; kx < 3; ++kx)
                            sum += down[ky] * along[kx] * g[((oc * 3 + ky) * 3 + kx) * in + c];
                    }
                    part[c * columns + oc] = sum;
                }
            }
            const Bytes encoded = encode_reals(type, part);
            all.insert(all.end(), encoded.begin(), encoded.end());
        }
    }
    return all;
}

LazyBytes weights_of(const Value& weight, int outputs, DType type) {
    const std::span<const Filter> filters = outputs == 2 ? std::span<const Filter>(filters_of_two) : filters_of_four;
    const auto size = static_cast<std::uint64_t>(filters.size() * filters.size()) *
                      static_cast<std::uint64_t>(padded(weight.shape[0]) * padded(weight.shape[3])) * size_of(type);
    return {size,
            [=](std::span<std::byte> to) {
                const Bytes bytes = transformed(weight, filters, type);
                std::memcpy(to.data(), bytes.data(), bytes.size());
            },
            weight.data, fmt::format("Winograd {} {} {}", outputs, name_of(type), to_string(weight.shape))};
}

/// The products of all tiles, M x M matrices, by the first kernel that takes them.
std::optional<KernelPass> plan_products(const Product& product, const DevicePlan& device, std::string& why) {
    for (const ProductPlan plan : {plan_shared_tiles, plan_split_sums, plan_shared_rows}) {
        std::optional<ProductChoice> planned = plan(product, device, why, 0);
        if (!planned) continue;
        KernelPass pass = std::move(planned->choice);
        set_constants(pass, {{"BATCH", product.batch},
                             {"ROWS", product.rows},
                             {"COLUMNS", product.columns},
                             {"K", product.inner},
                             {"ROW_ZP_CONSTANT", 0},
                             {"COLUMN_ZP_CONSTANT", 0}});
        pass.defines.insert(pass.defines.end(),
                            {{"ROW_ZP", "0"}, {"COLUMN_ZP", "0"}, {"FUSED(e, n, sums)", "out0_store4(e, sums)"}});
        return pass;
    }
    return std::nullopt;
}

}  // namespace

std::optional<KernelChoice> plan_winograd(const NodeView& view, const DevicePlan& device, std::string& why,
                                          int outputs) {
    if (!view.graph().fast_fp16 || view.node().op != Op::conv2d || view.in(0).type != DType::fp16) {
        why = "Winograd's algorithm is for CONV2D in fp16 of precision fast";
        return std::nullopt;
    }
    const ConvGeometry g = conv_geometry(view);
    const auto& [d, y, x] = g.window;
    if (y.kernel != 3 || x.kernel != 3 || y.stride != 1 || x.stride != 1 || y.dilation != 1 || x.dilation != 1 ||
        !view.in(1).is_constant()) {
        why = "Winograd's algorithm is for constant windows of 3x3 with strides and dilations of 1";
        return std::nullopt;
    }
    // A guess: with so many channels the products take longer than the copies.
    if (outputs == 0 && (std::min(g.in_channels, g.out_channels) < 128 || loads_are_loops(device))) {
        why = "what Winograd's algorithm saves is less than its copies cost";
        return std::nullopt;
    }
    const int r = outputs != 0 ? outputs : 2, m = r + 2;
    // Without fp16 arithmetic all of it is fp32. Each invocation has a tile of four channels in its registers, and of
    // fp32 some beside it.
    const DType type = device.fast_fp16 ? DType::fp16 : DType::fp32;
    const int registers = 4 * m * m + (type == DType::fp32 ? 16 : 0);
    if (registers > static_cast<int>(device.registers)) {
        why = "tiles of Winograd's algorithm take more registers than an invocation has";
        return std::nullopt;
    }
    const std::int64_t tiles_y = (y.out + r - 1) / r, tiles_x = (x.out + r - 1) / r,
                       tiles = g.batch * tiles_y * tiles_x;
    const Product product{.is_matrix = true,
                          .is_float = true,
                          .is_fp32 = type == DType::fp32,
                          .is_half = device.fast_fp16 && device.half_products,
                          .batch = m * m,
                          .rows = tiles,
                          .columns = padded(g.out_channels),
                          .inner = padded(g.in_channels)};
    const std::int64_t in_elements = product.batch * tiles * product.inner,
                       out_elements = product.batch * tiles * product.columns;
    constexpr std::int64_t most = INT32_MAX;  // shaders count in an int
    if (in_elements > most || out_elements > most ||
        static_cast<std::uint64_t>(out_elements) * size_of(DType::fp32) > device.max_binding_bytes) {
        why = "tiles of Winograd's algorithm take more memory than a binding may have";
        return std::nullopt;
    }
    if (loop_steps(device, 1, product.passes(), why) != 1) return std::nullopt;
    auto products = plan_products(product, device, why);
    if (!products) return std::nullopt;

    KernelChoice choice;
    const int in_scratch = add_scratch(choice, type == DType::fp16 ? (in_elements + 1) / 2 : in_elements),
              out_scratch = add_scratch(choice, out_elements);
    const std::string tile = std::to_string(r);

    KernelPass first;
    first.kernel = "winograd_input";
    first.defines = {{"R", tile}};
    set_constants(first, {{"TILES", tiles},
                          {"TILES_Y", tiles_y},
                          {"TILES_X", tiles_x},
                          {"IH", y.in},
                          {"IW", x.in},
                          {"C", g.in_channels},
                          {"PAD_TOP", y.pad_before},
                          {"PAD_LEFT", x.pad_before}});
    add_operand(first, view, 0, static_cast<double>(m * m) / (r * r) * quad_waste(g.in_channels));
    first.groups = linear_groups(tiles * product.inner / 4, device);
    first.writes = in_scratch;
    first.writes_type = type;
    first.stores_quads = true;
    first.work = 8.0 * static_cast<double>(in_elements);

    products->operands = {scratch_operand(in_scratch, type),
                          {no_id, type, weights_of(view.in(1), r, type), view.in(1).name + " in Winograd's form"}};
    products->writes = out_scratch;
    products->writes_type = DType::fp32;
    products->stores_quads = true;
    choice.earlier = {std::move(first), std::move(*products)};

    choice.kernel = "winograd_output";
    choice.defines = {{"R", tile}};
    set_constants(choice, {{"TILES", tiles},
                           {"TILES_Y", tiles_y},
                           {"TILES_X", tiles_x},
                           {"OH", y.out},
                           {"OW", x.out},
                           {"OC", g.out_channels},
                           {"BIAS", view.in(2).shape[0]}});
    choice.operands.push_back(scratch_operand(out_scratch, DType::fp32));
    add_operand(choice, view, 2);
    choice.groups = linear_groups(tiles * product.columns / 4, device);
    choice.aligned = g.out_channels % 4 == 0;
    choice.in_rows = true;
    choice.work = 8.0 * static_cast<double>(out_elements);
    choice.note = fmt::format("{} tiles of {}x{} outputs, products by {}", tiles, r, r, choice.earlier.back().kernel);
    return choice;
}

}  // namespace tosavk
