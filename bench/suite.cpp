#include "suite.hpp"

#include "tools/cli/common.hpp"

#include <fstream>

namespace tosavk::bench {

std::vector<SuiteLine> read_suite(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw cli::Failure(cli::exit_file, "cannot read the suite " + path);
    std::vector<SuiteLine> lines;
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        line = line.substr(0, line.find('#'));
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos) continue;
        lines.push_back({line.substr(first, line.find_last_not_of(" \t\r") - first + 1), number});
    }
    if (file.bad()) throw cli::Failure(cli::exit_file, "cannot read the suite " + path);
    if (lines.empty()) throw cli::Failure(cli::exit_file, "the suite " + path + " holds no problem lines");
    return lines;
}

}  // namespace tosavk::bench
