// Geometry of RESIZE, for its checks, reference and kernel.
#pragma once

#include "ops/op.hpp"

#include <algorithm>

namespace tosavk {

/// One axis: output o lies at position o*d + offset in units of 1/n input elements.
struct ResizeAxis {
    std::int64_t in = 1, out = 1, n = 1, d = 1, offset = 0, border = 0;

    struct Sample {
        std::int64_t i0, i1;  ///< the two neighbours, clamped to the input
        std::int64_t r;       ///< distance to the first in 1/n
    };
    Sample sample(std::int64_t o) const {
        const std::int64_t p = o * d + offset;
        const std::int64_t i = p >= 0 ? p / n : -1;  // offset >= -n, so p is never below -n
        return {std::max<std::int64_t>(i, 0), std::min(i + 1, in - 1), p - i * n};
    }
};

struct ResizeGeometry {
    std::int64_t batch = 1, channels = 1;
    ResizeAxis y, x;
};

/// The geometry of a node. Throws view.fail() where the specification calls its sizes an error.
ResizeGeometry resize_geometry(const NodeView& view);

}  // namespace tosavk
