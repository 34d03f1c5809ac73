// The problem lines of single operators: one entry per operator, or per family of operators that are written alike.
#pragma once

#include "frontends/problems/layers.hpp"
#include "frontends/problems/line.hpp"
#include "frontends/problems/problem.hpp"

namespace tosavk {

struct ProblemForm {
    const char* op;     ///< first word of the line
    const char* form;   ///< what follows it
    const char* line;   ///< an example worth measuring, without the first word
    const char* small;  ///< an example for tests, without the first word
    /// Takes its words from the line and returns the results; the first one may be followed by others.
    std::vector<ValueId> (*build)(Line& line, Layers& layers);
};

std::span<const ProblemForm> window_forms();    ///< convolutions, MATMUL, pools, FFT
std::span<const ProblemForm> movement_forms();  ///< data layout, gather, reductions, resize, conversions
std::span<const ProblemForm> control_forms();   ///< COND_IF, WHILE_LOOP, variables
std::span<const ProblemForm> own_forms();       ///< operators of our own domain
/// Operators that are an expression over their operands, by name ("add", "sigmoid"); null when it is not one.
std::vector<ValueId> build_pointwise(Op op, Line& line, Layers& layers);
bool is_pointwise(Op op);
ProblemHelp pointwise_help(Op op);
/// Appends what the remaining words name: "rescale", "clamp", "relu", "relu6" or an elementwise operator. Operators of
/// two operands share one further graph input per shape; "add*50" repeats.
ValueId follow(Line& line, Layers& layers, ValueId value);

}  // namespace tosavk
