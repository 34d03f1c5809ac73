#include "kernels/product/pack_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

namespace tosavk {
namespace {

/// An element of so many bytes, which nobody computes with.
template <std::size_t bytes> using Raw = std::array<std::byte, bytes>;

template <class T>
void pack_blocks(std::span<const std::byte> weights, const Shape& shape, T pad, bool turned,
                 std::span<std::byte> packed) {
    const auto channels = static_cast<std::size_t>(shape.front()), depth = static_cast<std::size_t>(shape.back());
    const std::size_t taps = static_cast<std::size_t>(element_count(shape)) / channels / depth;
    const auto at = [&](std::size_t oc, std::size_t tap, std::size_t ic) {
        return weights.data() + ((oc * taps + tap) * depth + ic) * sizeof(T);
    };
    std::byte* to = packed.data();
    for (std::size_t oc = 0; oc < channels; oc += 4) {
        for (std::size_t tap = 0; tap < taps; ++tap) {
            for (std::size_t ic = 0; ic < depth; ic += 4) {
                std::array<T, 16> block;
                const bool whole = oc + 4 <= channels && ic + 4 <= depth;
                if (!whole) block.fill(pad);
                const std::size_t rows = std::min<std::size_t>(4, channels - oc),
                                  count = std::min<std::size_t>(4, depth - ic);
                for (std::size_t o = 0; o < rows; ++o) {
                    std::array<T, 4> row;
                    if (whole) std::memcpy(row.data(), at(oc + o, tap, ic), sizeof row);
                    else std::memcpy(row.data(), at(oc + o, tap, ic), count * sizeof(T));
                    for (std::size_t i = 0; i < (whole ? 4 : count); ++i)
                        block[turned ? o * 4 + i : i * 4 + o] = row[i];
                }
                std::memcpy(to, block.data(), sizeof block);
                to += sizeof block;
            }
        }
    }
}

/// The weights of one of several phases as [OC,taps,IC] in bytes: its own taps, then the zero point up to as many as
/// the phase has that has most.
Bytes phase_weights(const Value& weight, const Window& window, std::int64_t phase, std::int64_t zero_point) {
    const WindowAxis& y = window.y;
    const WindowAxis& x = window.x;
    const auto row = static_cast<std::size_t>(weight.shape.back()) * size_of(weight.type);
    const auto channels = static_cast<std::size_t>(weight.shape.front());
    Bytes taken(channels * static_cast<std::size_t>(window.phase_taps()) * row, static_cast<std::byte>(zero_point));
    for (std::size_t oc = 0; oc < channels; ++oc) {
        std::byte* to = taken.data() + oc * static_cast<std::size_t>(window.phase_taps()) * row;
        for (std::int64_t ky = 0; ky < y.phase_taps(); ++ky) {
            for (std::int64_t kx = 0; kx < x.phase_taps(); ++kx) {
                const std::int64_t from_y = y.phase_tap(phase / x.phases(), ky),
                                   from_x = x.phase_tap(phase % x.phases(), kx);
                if (from_y < 0 || from_x < 0) continue;
                const std::size_t tap =
                    oc * static_cast<std::size_t>(window.taps()) + static_cast<std::size_t>(from_y * x.kernel + from_x);
                std::memcpy(to, weight.data->data() + tap * row, row);
                to += row;
            }
        }
    }
    return taken;
}

/// Packs one phase: its weights as [OC,taps,IC], from bytes to bytes.
using PackPhase = std::function<void(std::span<const std::byte> weights, std::span<std::byte> packed)>;

/// All phases, each packed into `size` bytes, under the name `kind`.
LazyBytes each_phase(const Value& weight, const Window& window, std::int64_t zero_point, std::size_t size,
                     std::string kind, PackPhase pack) {
    const auto phases = static_cast<std::size_t>(window.phases());
    if (phases == 1) {
        return {size, [=, data = weight.data](std::span<std::byte> to) { pack(*data, to); }, weight.data,
                std::move(kind)};
    }
    return {phases * size, [=](std::span<std::byte> to) {
                for (std::size_t phase = 0; phase < phases; ++phase) {
                    pack(phase_weights(weight, window, static_cast<std::int64_t>(phase), zero_point),
                         to.subspan(phase * size, size));
                }
            }};
}

Shape phase_shape(const Value& weight, const Window& window) {
    return {weight.shape.front(), window.phase_taps(), weight.shape.back()};
}

/// Blocks of 16 bytes to blocks of 8.
void pack_nibbles(std::span<const std::byte> blocks, std::span<std::byte> to) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t first = i / 8 * 16 + i % 8 / 4 * 8 + i % 4;
        to[i] = (blocks[first] & std::byte{15}) | (blocks[first + 4] << 4);
    }
}

/// As fp32; integers less the zero point.
void widen(DType type, std::int64_t zero_point, std::span<const std::byte> from, std::span<std::byte> to) {
    std::vector<double> numbers;
    if (is_float(type)) {
        numbers = decode_reals(type, from);
    } else {
        for (const std::int64_t number : decode_ints(type, from))
            numbers.push_back(static_cast<double>(number - zero_point));
    }
    std::ranges::copy(encode_reals(DType::fp32, numbers), to.begin());
}

template <std::size_t bytes>
LazyBytes blocks_of(const Value& weight, const Window& window, std::int64_t zero_point, BlockForm form) {
    Raw<bytes> pad;
    pad.fill(static_cast<std::byte>(zero_point));  // other than 0 for 8-bit elements only
    const Shape shape = phase_shape(weight, window);
    const auto size = static_cast<std::size_t>((shape[0] + 3) / 4 * shape[1] * ((shape[2] + 3) / 4)) * 16 * bytes;
    const std::size_t made = form.nibbles ? size / 2 : form.widened ? size / bytes * 4 : size;
    return each_phase(weight, window, zero_point, made,
                      fmt::format("{}blocks{} {} {} {}", form.turned ? "turned " : "",
                                  form.nibbles   ? " of nibbles"
                                  : form.widened ? fmt::format(" of fp32 from {}", name_of(weight.type))
                                                 : "",
                                  bytes, zero_point, to_string(shape)),
                      [=, type = weight.type](std::span<const std::byte> weights, std::span<std::byte> to) {
                          if (!form.nibbles && !form.widened) return pack_blocks(weights, shape, pad, form.turned, to);
                          Bytes blocks(size);
                          pack_blocks(weights, shape, pad, form.turned, std::span(blocks));
                          if (form.nibbles) pack_nibbles(blocks, to);
                          else widen(type, zero_point, blocks, to);
                      });
}

}  // namespace

LazyBytes pack_conv_weights(const Value& weight, const Window& window, std::int64_t zero_point, BlockForm form) {
    switch (size_of(weight.type)) {
        case 1: return blocks_of<1>(weight, window, zero_point, form);
        case 2: return blocks_of<2>(weight, window, zero_point, form);
        default: return blocks_of<4>(weight, window, zero_point, form);
    }
}

LazyBytes pack_conv_units(const Value& weight, const Window& window, std::int64_t zero_point, InnerUnits units) {
    const Shape shape = phase_shape(weight, window);
    const auto of = [](std::int64_t n, std::int64_t together) { return (n + together - 1) / together; };
    const std::int64_t tap_blocks = of(shape[2], 4 * units.of_tap) * units.of_tap,
                       count = of(shape[1] * tap_blocks, units.blocks),
                       bytes = static_cast<std::int64_t>(size_of(weight.type)),
                       size = of(shape[0], 4) * count * 4 * units.blocks * 4 * bytes;
    return each_phase(
        weight, window, zero_point, static_cast<std::size_t>(size),
        fmt::format("units {} {} {} {} {}", units.blocks, units.of_tap, bytes, zero_point, to_string(shape)),
        [=](std::span<const std::byte> weights, std::span<std::byte> to) {
            std::ranges::fill(to, static_cast<std::byte>(zero_point));
            // The row of a tap's elements, cut where units end.
            for (std::int64_t oc = 0; oc < shape[0]; ++oc) {
                for (std::int64_t tap = 0; tap < shape[1]; ++tap) {
                    for (std::int64_t k = 0; k < shape[2];) {
                        const std::int64_t block = tap * tap_blocks + k / 4, unit = block / units.blocks,
                                           in_unit = block % units.blocks * 4,
                                           n = std::min(units.blocks * 4 - in_unit, shape[2] - k);
                        std::memcpy(
                            to.data() + (((oc / 4 * count + unit) * 4 + oc % 4) * units.blocks * 4 + in_unit) * bytes,
                            weights.data() + ((oc * shape[1] + tap) * shape[2] + k) * bytes,
                            static_cast<std::size_t>(n * bytes));
                        k += n;
                    }
                }
            }
        });
}

LazyBytes pack_depthwise_weights(const Value& weight, std::int64_t zero_point) {
    const SharedBytes data = weight.data;
    const auto taps = static_cast<std::size_t>(weight.shape[0] * weight.shape[1]);
    const std::size_t used = static_cast<std::size_t>(weight.shape[2] * weight.shape[3]) * size_of(weight.type);
    const std::size_t row =
        (static_cast<std::size_t>(weight.shape[2] * weight.shape[3]) + 3) / 4 * 4 * size_of(weight.type);
    return {taps * row,
            [=](std::span<std::byte> to) {
                for (std::size_t tap = 0; tap < taps; ++tap) {
                    const auto end = std::copy_n(data->data() + tap * used, used, to.data() + tap * row);
                    std::fill_n(end, row - used, static_cast<std::byte>(zero_point));
                }
            },
            data, fmt::format("depthwise {} {} {}", zero_point, taps, used)};
}

std::vector<std::int64_t> channel_sums(const Value& weight, const Window& window, std::int64_t zero_point) {
    const auto channels = static_cast<std::size_t>(weight.shape[0]);
    const auto each = static_cast<std::size_t>(window.phase_taps() * weight.shape.back());
    std::vector<std::int64_t> sums;
    for (std::int64_t phase = 0; phase < window.phases(); ++phase) {
        const Bytes taken = window.phases() == 1 ? Bytes() : phase_weights(weight, window, phase, zero_point);
        const std::span<const std::byte> weights = window.phases() == 1 ? *weight.data : std::span(taken);
        for (std::size_t c = 0; c < channels; ++c) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < each; ++i) sum += static_cast<std::int8_t>(weights[c * each + i]);
            sums.push_back(sum - static_cast<std::int64_t>(each) * zero_point);
        }
        sums.resize((sums.size() + 3) / 4 * 4);
    }
    return sums;
}

}  // namespace tosavk
