// The one exception of the library. It crosses every room and stops at the C ABI (src/api), which turns it into a
// tosavk_error. The message is one sentence that says what is wrong and where, in terms a user can act on.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace tosavk {

/// Values equal tosavk_status in include/tosavk/tosavk.h; api/ checks that at compile time.
enum class ErrorCode {
    usage = 1,          ///< a call or option is wrong
    bad_model = 2,      ///< the file or graph breaks its format or the specification
    unsupported = 3,    ///< legal, but not implemented here
    bad_input = 4,      ///< a tensor given by the caller has the wrong type, shape or size
    io = 5,             ///< a file cannot be read or written
    no_device = 6,      ///< no Vulkan driver, or no device of that name
    device = 7,         ///< the driver reported a failure
    device_lost = 8,    ///< VK_ERROR_DEVICE_LOST
    out_of_memory = 9,  ///< host or device memory
    internal = 10,      ///< a defect of tosa-vk
    cancelled = 11,     ///< the caller ended it
};

class Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message, std::string node = {}, std::string operand = {})
        : std::runtime_error(message), code_(code), node_(std::move(node)), operand_(std::move(operand)) {}

    ErrorCode code() const { return code_; }
    const std::string& node() const { return node_; }        ///< name of the node, or empty
    const std::string& operand() const { return operand_; }  ///< name of the operand, or empty

private:
    ErrorCode code_;
    std::string node_, operand_;
};

}  // namespace tosavk
