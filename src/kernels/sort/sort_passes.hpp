// The passes that put lists of keys in order. They leave, for each place of a list, the number of the key that belongs
// there; who moves what, is a pass of its own.
#pragma once

#include "kernels/common/kernel_choice.hpp"

namespace tosavk {

/// Keys are unsigned numbers that the first pass makes (shaders/lib/sort_keys.glsl); equal ones stay in their order.
struct SortJob {
    std::int64_t lists = 1, length = 1;  ///< lists of keys, each sorted on its own
    int key_bits = 32;                   ///< keys are below 2^key_bits
    /// Leaves pairs (key, number in the list) instead of the numbers alone.
    bool pairs = false;
    KernelPass keys;  ///< defines, operands and the eight constants with which a pass makes keys
};

/// Appends the passes to choice.earlier, with their scratch buffers. Returns the buffer that holds the result, of
/// lists * length numbers or pairs, 32 bits each.
int add_sort(KernelChoice& choice, const SortJob& job, const DevicePlan& device);

}  // namespace tosavk
