// The container of MLIR bytecode: its sections, with every table read and every number in range. Entries of attributes
// and types stay bytes here (bytecode_entries.hpp).
#pragma once

#include "base/bytes.hpp"
#include "frontends/stablehlo/byte_reader.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk::stablehlo {

struct BytecodeEntry {
    std::uint32_t dialect = 0;
    std::size_t begin = 0, end = 0;  ///< in the file
    bool is_custom = false;          ///< written by its dialect, not as text
};

struct BytecodeOperationName {
    std::uint32_t dialect = 0;
    std::string_view name;  ///< without the dialect
};

struct BytecodePart {
    std::size_t begin = 0, end = 0;
};

/// Views into the file, which outlives them.
class BytecodeFile {
public:
    /// Throws Error(bad_model) or Error(unsupported) with the place in the file.
    explicit BytecodeFile(const SharedBytes& file);

    const SharedBytes& file() const { return file_; }
    std::span<const std::byte> bytes() const { return *file_; }
    std::uint64_t version = 0;
    std::string producer;  ///< fit to be shown
    std::vector<std::string_view> strings, dialects;
    std::vector<BytecodeOperationName> operations;
    std::vector<BytecodeEntry> attributes, types;
    std::vector<BytecodePart> properties;
    std::vector<std::span<const std::byte>> resources;  ///< by number; a blob, empty for what is none
    BytecodePart ir;

    ByteReader reader(const BytecodePart& part, std::string_view what) const {
        return {bytes(), part.begin, part.end, what};
    }

private:
    using Sections = std::map<int, BytecodePart>;
    void read_strings(ByteReader in);
    void read_dialects(ByteReader in);
    void read_offsets(ByteReader in, const BytecodePart& entries);
    void read_properties(ByteReader in);
    void read_resources(ByteReader in, ByteReader data);
    void read_resource_list(ByteReader& in, ByteReader& data);

    SharedBytes file_;
};

struct BytecodeSection {
    int id = 0;
    BytecodePart part;
};
/// The next one of `in`, within which alignment counts from the begin of the file.
BytecodeSection read_section(ByteReader& in);

}  // namespace tosavk::stablehlo
