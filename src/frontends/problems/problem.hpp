// Problem lines: a graph of one operator (and what follows it), or a whole network, said in one line of text, such as
// "conv2d i8 1x56x56x64 64x3x3 s1 p1 rescale clamp". Weights are random numbers, drawn so that results use the range of
// their type; everything follows from the line alone.
#pragma once

#include "graph/graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tosavk {

/// The checked graph of a line. Throws Error(usage) with a sentence that names the line and what is wrong in it.
Graph load_problem(std::string_view line, const Level& level = level_8k);

/// What can be written, by operator.
struct ProblemHelp {
    std::string op;     ///< first word of the line
    std::string form;   ///< its grammar, e.g. "matmul TYPE NxHxCxW [rescale] [FOLLOWER...]"
    std::string line;   ///< of a size that is worth measuring
    std::string small;  ///< of a size that a test can afford
};
/// One entry per operator of the registry, then chains, fully connected layers and networks.
std::vector<ProblemHelp> problem_help();

}  // namespace tosavk
