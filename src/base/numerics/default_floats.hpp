// What floats are computed with on the host.
#pragma once

#include <cfenv>

namespace tosavk {

/// Rounds to nearest, and keeps subnormal numbers, until it goes, whatever the caller's thread does: those of some
/// hosts (XLA's) take subnormal numbers for zero, which would be seen in folded constants and in the reference's
/// results. Threads that are started meanwhile do likewise.
class DefaultFloats {
public:
    DefaultFloats() noexcept {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloats() { std::fesetenv(&before_); }
    DefaultFloats(const DefaultFloats&) = delete;
    DefaultFloats& operator=(const DefaultFloats&) = delete;

private:
    std::fenv_t before_;
};

}  // namespace tosavk
