// The operators that may be claimed, and how the runtime's parameters of each become the file format's options.
#pragma once

#include "tflite_generated.h"

#include <stdexcept>

namespace tosavk::delegate {

/// A node cannot be written as a file: what() says why.
class Refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct Options {
    tflite::BuiltinOptions type = tflite::BuiltinOptions::NONE;
    flatbuffers::Offset<void> table;
};

struct OperatorRow {
    tflite::BuiltinOperator code;
    /// Null: the operator has no parameters. `version`: of the parameters.
    Options (*write)(flatbuffers::FlatBufferBuilder& file, const void* parameters, int version);
};

/// Null for what is never claimed: control flow, variables, hash tables, random numbers and what has no lowering.
const OperatorRow* find_operator(int code);

/// Of the operators whose parameters have grown, the version up to which those of runtime 2.14 have grown; else 1.
int version_in_2_14(int code);
/// Parameters of an older version have something behind them that a later one would read as an option.
bool says_more(int code, const void* parameters, int version);

/// The number of a runtime's tensor type in files; Refused for one that files do not have.
tflite::TensorType type_in_file(int type);

}  // namespace tosavk::delegate
