// How kernels touch memory, judged for GPUs that are not there: what the invocations of a few workgroups wrote down
// (compile/plan/access.hpp) is replayed in subgroups of another size.
#pragma once

#include "compile/plan/access.hpp"
#include "vk/record/executable.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tosavk {

/// Loads or stores of one buffer or shared array, added up over subgroups. An access is what all invocations of a
/// subgroup do as their k-th one: a load or store of one instruction, where they take the same way.
struct AccessFigures {
    std::uint64_t accesses = 0;  ///< of subgroups
    std::uint64_t segments = 0;  ///< 64 bytes, aligned, that they touch (shared memory: rounds of its 32 banks)
    std::uint64_t fewest = 0;    ///< that as many different words need
    std::uint64_t lanes = 0;     ///< invocations that took part
    std::uint64_t idle = 0;      ///< and that did not

    /// How many times the fewest segments are touched; 1 where nothing is.
    double excess() const { return fewest ? static_cast<double>(segments) / static_cast<double>(fewest) : 1.0; }
    AccessFigures& operator+=(const AccessFigures& other);
};

struct TouchedPlace {
    bool shared = false;
    std::uint32_t number = 0;  ///< of the binding, or of the shared array in its file
    bool stored = false;

    auto operator<=>(const TouchedPlace&) const = default;
};

/// `words`: an AccessList's bytes after a run. Subgroups are `size` invocations in a row; a workgroup's last may have
/// fewer. `lost`, if not null, receives how many records found no room.
std::map<TouchedPlace, AccessFigures> replay_accesses(const AccessList& list, std::span<const std::uint32_t> words,
                                                      std::uint32_t size, std::uint64_t* lost = nullptr);

struct DispatchAccesses {
    AccessList list;
    std::uint64_t lost = 0;
    bool own_subgroups = false;  ///< its subgroups exchange values: only the size that it was made for says something
    std::map<std::uint32_t, std::map<TouchedPlace, AccessFigures>> sizes;  ///< by size of the subgroup
};

/// Runs the executable's plan once with random inputs, its kernels watched, on the executable's device.
std::vector<DispatchAccesses> measure_accesses(const Executable& executable, const AccessOptions& options = {});

}  // namespace tosavk
