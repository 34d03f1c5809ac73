// Executables as bytes: what a process keeps for another one, in the cache folder or for its caller.
#pragma once

#include "hosts/pjrt/options.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tosavk::pjrt {

/// SHA-256, in hexadecimal.
std::string digest_of(std::string_view bytes);

/// A compiled program with what its package does not say: what the program's arguments and results are.
struct Image {
    enum class Form : std::uint8_t {
        nothing,  ///< no result has elements: there is nothing to run
        package,  ///< of tosavk_package_save
        program,  ///< StableHLO, where no package can be made; it is compiled again
    };
    std::string facts;        ///< JSON, as tosavk_describe_memory says them of the program
    std::string fingerprint;  ///< of the program, the options and the device that it was compiled for
    std::int64_t device = 0;  ///< the id of that
    tosavk_precision precision = TOSAVK_PRECISION_DECLARED;
    Form form = Form::nothing;
    std::string content;
};

/// A mark, a digest of what follows, a head in JSON, the content.
std::string write_image(const Image& image);
/// Throws Failure(invalid_argument) with a sentence for bytes that are no image, damaged, or of another version of the
/// library. A digest is no defence against intent: an image is to be trusted like a program.
Image read_image(std::string_view bytes);

}  // namespace tosavk::pjrt
