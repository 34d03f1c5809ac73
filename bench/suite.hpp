// Lists of problem lines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tosavk::bench {

struct SuiteLine {
    std::string text;
    std::size_t number;  ///< in the file, from 1
};
/// The lines of a file that say something: without comments (#) and blanks around. Throws cli::Failure(exit_file) when
/// it cannot be read or says nothing.
std::vector<SuiteLine> read_suite(const std::string& path);

}  // namespace tosavk::bench
