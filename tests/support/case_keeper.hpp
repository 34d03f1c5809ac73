// The case in hand of a test that makes up its input, kept where it survives a process that does not come back.
#pragma once

#include "base/bytes.hpp"

#include <algorithm>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tosavk::test {

/// In the file that $TOSAVK_FUZZ_CASE names, if it does: the bytes of the case, then zeros.
class CaseKeeper {
public:
    CaseKeeper() {
        const char* path = std::getenv("TOSAVK_FUZZ_CASE");
        const int file = path ? ::open(path, O_RDWR | O_CREAT, 0644) : -1;
        if (file < 0) return;
        if (::ftruncate(file, bytes) == 0) {
            void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            if (memory != MAP_FAILED) memory_ = static_cast<std::byte*>(memory);
        }
        ::close(file);
    }
    ~CaseKeeper() {
        if (memory_) ::munmap(memory_, bytes);
    }
    CaseKeeper(const CaseKeeper&) = delete;
    CaseKeeper& operator=(const CaseKeeper&) = delete;

    void keep(const Bytes& file) {
        if (!memory_) return;
        const std::size_t size = std::min(file.size(), bytes);
        std::copy_n(file.begin(), size, memory_);
        std::fill_n(memory_ + size, std::max(size, kept_) - size, std::byte{0});
        kept_ = size;
    }

private:
    static constexpr std::size_t bytes = 1 << 18;
    std::byte* memory_ = nullptr;
    std::size_t kept_ = bytes;  ///< from the begin on, that may not be zero
};

}  // namespace tosavk::test
