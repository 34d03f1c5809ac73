// Constants of executables that were made of one model for different sizes, on one device: what several of them need is
// packed and uploaded once.
#pragma once

#include "graph/constant_bytes.hpp"
#include "kernels/common/constants.hpp"
#include "vk/core/memory.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tosavk {

/// Where a part of a plan's constants lies.
struct ConstantPiece {
    std::uint64_t offset = 0;  ///< in the plan
    std::shared_ptr<const Buffer> buffer;
    std::uint64_t at = 0;  ///< in the buffer
};

/// Writes the pool's constants into a buffer of its size, and zeros between them.
void upload_constants(DeviceState& device, Buffer& buffer, const ConstantPool& constants);

/// Thread-safe. A buffer lives as long as a piece of it is in use.
class SharedConstants {
public:
    explicit SharedConstants(std::shared_ptr<ConstantBytes> bytes) : bytes_(std::move(bytes)) {}

    struct Placed {
        std::vector<ConstantPiece> pieces;  ///< by offset
        std::uint64_t bytes_copied = 0;     ///< what no other executable had
        std::uint64_t allocations = 0;
    };
    Placed place(DeviceState& device, const ConstantPool& constants);

private:
    struct Known {
        std::weak_ptr<const Buffer> buffer;
        std::uint64_t at = 0;
    };
    std::string key_of(const LazyBytes& bytes, std::uint64_t room);

    std::shared_ptr<ConstantBytes> bytes_;
    std::mutex mutex_;
    std::map<std::string, Known> known_;
};

}  // namespace tosavk
