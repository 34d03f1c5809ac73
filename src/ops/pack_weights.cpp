#include "ops/pack_weights.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tosavk {
namespace {

/// An element of so many bytes, which nobody computes with.
template <std::size_t bytes> using Raw = std::array<std::byte, bytes>;

template <class T> void pack_blocks(std::span<const std::byte> weights, const Shape& shape, T pad, bool turned, std::span<std::byte> packed) {
    const auto channels = static_cast<std::size_t>(shape.front()), depth = static_cast<std::size_t>(shape.back());
    const std::size_t taps = static_cast<std::size_t>(element_count(shape)) / channels / depth;
    const auto at = [&](std::size_t oc, std::size_t tap, std::size_t ic) { return weights.data() + ((oc * taps + tap) * depth + ic) * sizeof(T); };
    std::byte* to = packed.data();
    for (std::size_t oc = 0; oc < channels; oc += 4) {
        for (std::size_t tap = 0; tap < taps; ++tap) {
            for (std::size_t ic = 0; ic < depth; ic += 4) {
                std::array<T, 16> block;
                const bool whole = oc + 4 <= channels && ic + 4 <= depth;
                if (!whole) block.fill(pad);
                const std::size_t rows = std::min<std::size_t>(4, channels - oc), count = std::min<std::size_t>(4, depth - ic);
                for (std::size_t o = 0; o < rows; ++o) {
                    std::array<T, 4> row;
                    if (whole) std::memcpy(row.data(), at(oc + o, tap, ic), sizeof row);
                    else std::memcpy(row.data(), at(oc + o, tap, ic), count * sizeof(T));
                    for (std::size_t i = 0; i < (whole ? 4 : count); ++i) block[turned ? o * 4 + i : i * 4 + o] = row[i];
                }
                std::memcpy(to, block.data(), sizeof block);
                to += sizeof block;
            }
        }
    }
}

template <std::size_t bytes> LazyBytes blocks_of(const Value& weight, std::int64_t zero_point, bool turned) {
    Raw<bytes> pad;
    pad.fill(static_cast<std::byte>(zero_point));  // other than 0 for 8-bit elements only
    const std::int64_t channels = weight.shape.front(), depth = weight.shape.back(), taps = element_count(weight.shape) / channels / depth;
    const std::int64_t blocks = (channels + 3) / 4 * taps * ((depth + 3) / 4);
    return {static_cast<std::uint64_t>(blocks) * 16 * bytes, [=, data = weight.data, shape = weight.shape](std::span<std::byte> to) {
                pack_blocks(*data, shape, pad, turned, to);
            }};
}

}  // namespace

LazyBytes pack_conv_weights(const Value& weight, std::int64_t zero_point, bool turned) {
    switch (size_of(weight.type)) {
    case 1: return blocks_of<1>(weight, zero_point, turned);
    case 2: return blocks_of<2>(weight, zero_point, turned);
    default: return blocks_of<4>(weight, zero_point, turned);
    }
}

LazyBytes pack_depthwise_weights(const Value& weight, std::int64_t zero_point) {
    const auto taps = static_cast<std::size_t>(weight.shape[0] * weight.shape[1]);
    const std::size_t used = static_cast<std::size_t>(weight.shape[2] * weight.shape[3]) * size_of(weight.type);
    const std::size_t row = (static_cast<std::size_t>(weight.shape[2] * weight.shape[3]) + 3) / 4 * 4 * size_of(weight.type);
    return {taps * row, [=, data = weight.data](std::span<std::byte> to) {
                for (std::size_t tap = 0; tap < taps; ++tap) {
                    const auto end = std::copy_n(data->data() + tap * used, used, to.data() + tap * row);
                    std::fill_n(end, row - used, static_cast<std::byte>(zero_point));
                }
            }};
}

std::vector<std::int64_t> channel_sums(const Value& weight, std::int64_t zero_point) {
    const auto channels = static_cast<std::size_t>(weight.shape[0]);
    const std::size_t each = weight.data->size() / channels;
    std::vector<std::int64_t> sums(channels);
    for (std::size_t c = 0; c < channels; ++c) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < each; ++i) sum += static_cast<std::int8_t>((*weight.data)[c * each + i]);
        sums[c] = sum - static_cast<std::int64_t>(each) * zero_point;
    }
    return sums;
}

}  // namespace tosavk
