// What a file says of itself beside its operators: for people who want to know what they have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tosavk {

struct FileFacts {
    struct Metadata {
        std::string name;
        std::uint64_t size_bytes = 0;
        std::string text;  ///< its bytes where they are printable and short; else empty
    };
    struct End {
        std::string name, tensor;  ///< what callers say, and what the subgraph calls it
    };
    struct EntryPoint {
        std::string key;
        std::uint64_t subgraph = 0;
        std::vector<End> inputs, outputs;
    };

    /// Of a program: an argument or a result of its main function.
    struct Value {
        std::string type;  ///< of its elements as the program writes it, such as "ui8"; "token" of what has none
        std::vector<std::int64_t> shape;
        std::optional<std::uint64_t> alias = {};  ///< of an argument: the result that may take its memory
        bool donated = false;                     ///< of an argument: some result may
    };

    std::string format, description;
    std::string name;  ///< of a program
    std::vector<Value> arguments, results;
    std::vector<std::string> subgraphs;  ///< their names
    std::vector<EntryPoint> signatures;
    std::vector<Metadata> metadata;
    std::vector<std::string> external_files;  ///< that hold constants
};

}  // namespace tosavk
