// A file descriptor on its way into the driver.
#pragma once

#include "base/error.hpp"

#include <fmt/format.h>

#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tosavk {

/// Closed with the scope, unless `number` was given away and set to -1.
struct OwnedFd {
    int number = -1;

    OwnedFd() = default;
    OwnedFd(OwnedFd&& other) noexcept : number(std::exchange(other.number, -1)) {}
    OwnedFd& operator=(OwnedFd&& other) noexcept {
        std::swap(number, other.number);
        return *this;
    }
    ~OwnedFd() {
        if (number >= 0) ::close(number);
    }

    /// Throws Error(usage) for what is no open descriptor.
    static OwnedFd duplicate(int fd) {
        OwnedFd copy;
        copy.number = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (copy.number < 0) throw Error(ErrorCode::usage, fmt::format("{} is no open file descriptor", fd));
        return copy;
    }
};

}  // namespace tosavk
