// What a file says of itself beside its operators: for people who want to know what they have.
#pragma once

#include <cstdint>
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

    std::string format, description;
    std::vector<std::string> subgraphs;  ///< their names
    std::vector<EntryPoint> signatures;
    std::vector<Metadata> metadata;
    std::vector<std::string> external_files;  ///< that hold constants
};

}  // namespace tosavk
