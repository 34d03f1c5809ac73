// The attributes and types of a bytecode file, made of their entries when something names them.
#pragma once

#include "frontends/stablehlo/bytecode_file.hpp"
#include "frontends/stablehlo/program.hpp"

namespace tosavk::stablehlo {

class BytecodeEntries {
public:
    /// Locations go to the program. Both outlive this.
    BytecodeEntries(const BytecodeFile& file, Program& program)
        : file_(file),
          program_(program),
          attributes_(file.attributes.size()),
          types_(file.types.size()),
          locations_(file.attributes.size(), no_location) {}

    // Indices are in range. They throw with the place of the entry.
    TypePointer type(std::size_t index, std::size_t depth = 0);
    AttributePointer attribute(std::size_t index, std::size_t depth = 0);
    LocationId location(std::size_t index, std::size_t depth = 0);

    // The next number of `in` as an index.
    TypePointer read_type(ByteReader& in, std::size_t depth = 0);
    AttributePointer read_attribute(ByteReader& in, std::size_t depth = 0);
    LocationId read_location(ByteReader& in, std::size_t depth = 0);

private:
    static constexpr LocationId no_location = ~LocationId{0};

    ByteReader open(const BytecodeEntry& entry, std::string_view what) const;
    Type builtin_type(ByteReader& in, std::size_t depth);
    Type vhlo_type(ByteReader& in, std::size_t depth);
    Type shaped(ByteReader& in, std::size_t depth, Type::Kind kind);
    void set_element(Type& type, const Type& element, const ByteReader& in) const;
    Quantization quantization(ByteReader& in, std::size_t depth, bool per_axis);
    std::vector<TypePointer> read_types(ByteReader& in, std::size_t depth);
    AttributePointer builtin_attribute(ByteReader& in, std::size_t depth);
    AttributePointer vhlo_attribute(ByteReader& in, std::size_t depth);
    AttributePointer read_array(ByteReader& in, std::size_t depth);
    AttributePointer read_dictionary(ByteReader& in, std::size_t depth);
    AttributePointer number(ByteReader& in, std::size_t depth, bool is_real);
    AttributePointer dense(ByteReader& in, std::size_t depth, bool from_resource);
    std::string read_name(ByteReader& in, std::size_t depth);
    std::vector<std::int64_t> read_integers(ByteReader& in);
    Location read_location_entry(ByteReader& in, std::uint64_t code, std::size_t depth);

    const BytecodeFile& file_;
    Program& program_;
    std::vector<AttributePointer> attributes_;
    std::vector<TypePointer> types_;
    std::vector<LocationId> locations_;
};

}  // namespace tosavk::stablehlo
