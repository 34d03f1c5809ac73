// Whether a process is still the one that made a thing: what a driver's threads or ours did for it stays with the
// parent.
#pragma once

#include <cstdint>

namespace tosavk {

/// How often this process was forked off since the library was loaded.
std::uint32_t fork_count();

/// Where the owner was made.
class Birthplace {
public:
    /// This process was forked off since.
    bool is_left() const { return forks_ != fork_count(); }

private:
    std::uint32_t forks_ = fork_count();
};

}  // namespace tosavk
