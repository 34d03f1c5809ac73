// Lists of problem lines.
#pragma once

#include <string>
#include <vector>

namespace tosavk::bench {

/// The lines of a file that say something: without comments (#) and blanks around. Throws cli::Failure(exit_file) when
/// it cannot be read or says nothing.
std::vector<std::string> read_suite(const std::string& path);

}  // namespace tosavk::bench
