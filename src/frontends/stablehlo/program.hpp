// A StableHLO program as plain data, the same whether it was read from a portable artifact (MLIR bytecode, VHLO) or
// from text: every attribute that an operation defines is there, in the newest form, with its default where the file
// says nothing. What later rooms rely on: operands are values defined before, in the operation's block or one around
// it; every region has one block at most.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tosavk::stablehlo {

enum class Element : std::uint8_t {
    pred,
    i2,
    i4,
    i8,
    i16,
    i32,
    i64,
    u2,
    u4,
    u8,
    u16,
    u32,
    u64,
    index,
    f4e2m1fn,
    f6e2m3fn,
    f6e3m2fn,
    f8e3m4,
    f8e4m3,
    f8e4m3b11fnuz,
    f8e4m3fn,
    f8e4m3fnuz,
    f8e5m2,
    f8e5m2fnuz,
    f8e8m0fnu,
    bf16,
    f16,
    f32,
    f64,
    tf32,
    c64,
    c128,
};

/// As MLIR writes it: i1, ui8, f8E4M3FN, complex<f32>.
std::string_view name_of(Element element);
std::optional<Element> element_named(std::string_view name);
/// In a constant: a byte for pred and what is narrower than a byte; tf32 has no constants (0).
std::size_t bytes_of(Element element);
int bits_of(Element element);  ///< of one element; complex: both parts
bool is_signed_integer(Element element);
bool is_unsigned_integer(Element element);  ///< neither pred nor index
bool is_real(Element element);              ///< a float of any width

constexpr std::int64_t unknown = -1;   ///< a dimension or a bound
constexpr std::size_t max_rank = 64;   ///< numpy's
constexpr std::size_t max_depth = 64;  ///< of regions, types and attributes within each other

struct Type;
using TypePointer = std::shared_ptr<const Type>;  ///< never null

struct Quantization {
    Element storage = Element::i8;  ///< an integer
    Element expressed = Element::f32;
    std::int64_t minimum = 0, maximum = 0;  ///< of the storage
    std::optional<std::int64_t> axis;       ///< scales are one each of this dimension's elements; else there is one
    std::vector<double> scales;
    std::vector<std::int64_t> zero_points;  ///< as many as scales
    bool operator==(const Quantization&) const = default;
};

struct Type {
    enum class Kind : std::uint8_t {
        element,
        tensor,
        unranked_tensor,
        buffer,
        tuple,
        future,
        function,
        token,
        none,
        witness
    };
    Kind kind = Kind::none;
    Element element = Element::f32;    ///< of element, tensor, unranked_tensor, buffer; the storage where quantized
    std::vector<std::int64_t> dims;    ///< of tensor and buffer
    std::vector<std::int64_t> bounds;  ///< of unknown dimensions; empty or one a dimension
    std::optional<Quantization> quantization;
    std::vector<TypePointer> parts;    ///< of tuple and future; a function's inputs
    std::vector<TypePointer> results;  ///< a function's
    std::size_t weight = 1;            ///< types in it, each time that it is named: a file may name one often
};
constexpr std::size_t max_type_weight = 65536;
bool same(const Type& a, const Type& b);
std::string to_string(const Type& type);  ///< as MLIR writes it
/// Product of the dimensions; nothing where one is unknown or the product is beyond 2^62.
std::optional<std::uint64_t> element_count(const std::vector<std::int64_t>& dims);

struct Attribute;
using AttributePointer = std::shared_ptr<const Attribute>;  ///< never null
/// Sorted by name, each once.
using Dictionary = std::vector<std::pair<std::string, AttributePointer>>;

struct Unit {};
struct Integer {
    Element type = Element::i64;
    std::int64_t value = 0;  ///< of u64 the bits
};
struct Real {
    Element type = Element::f64;
    double value = 0;
};
struct Keyword {
    std::string name;  ///< of an enumeration: "EQ", "HIGHEST"
};
/// A dense constant, elements row-major and little-endian.
struct Elements {
    TypePointer type;    ///< a tensor without unknown dimensions
    SharedBytes data;    ///< the file's own where it has this form; not aligned
    bool splat = false;  ///< the bytes of one element stand for all of them (always so where all are alike)
};
/// What an operation defines as a list or table of integers or flags.
struct Numbers {
    std::vector<std::int64_t> values;
    std::optional<std::size_t> columns;  ///< of a table, such as padding's 2
};
using Array = std::vector<AttributePointer>;
struct ResultAccuracy {
    double atol = 0, rtol = 0;
    std::int64_t ulps = 0;
    std::string mode = "DEFAULT";
};
struct OutputOperandAlias {
    std::vector<std::int64_t> output_tuple_indices;
    std::int64_t operand_index = 0;
    std::vector<std::int64_t> operand_tuple_indices;
};
/// Of a dialect that is not read, such as Shardy's.
struct Opaque {
    std::string dialect;
};

struct Attribute {
    std::variant<Unit, bool, Integer, Real, std::string, Keyword, TypePointer, Elements, Numbers, Array, Dictionary,
                 ResultAccuracy, OutputOperandAlias, Opaque>
        value;
    std::size_t weight = 1;  ///< attributes in it, each time that it is named: a file may name one often

    template <class T> const T* as() const { return std::get_if<T>(&value); }
};
constexpr std::size_t max_weight = std::size_t{1} << 20;

/// Null where the name is not there.
const Attribute* find(const Dictionary& dictionary, std::string_view name);

using ValueId = std::uint32_t;     ///< of a function
using LocationId = std::uint32_t;  ///< in Program::locations; 0 is nowhere

/// Where in its author's source an operation comes from.
struct Location {
    enum class Kind : std::uint8_t { nowhere, file, name, call_site, fused };
    Kind kind = Kind::nowhere;
    std::string text;                    ///< a file's name, or a name
    std::uint64_t line = 0, column = 0;  ///< of a file
    std::vector<LocationId> parts = {};  ///< name: of what; call_site: callee, caller; fused: all
    std::size_t weight = 1;              ///< locations in it, each time that it is named
};

struct Operation;

/// One block, or none where a function is declared only.
struct Region {
    std::vector<ValueId> arguments;
    std::vector<LocationId> argument_locations;  ///< as many as arguments
    std::vector<Operation> operations;           ///< the last one is "return"
};

enum class Dialect : std::uint8_t { stablehlo, chlo };

struct Operation {
    Dialect dialect = Dialect::stablehlo;
    std::string name;       ///< without dialect and version; func's call and return are StableHLO's
    Dictionary attributes;  ///< all that the operation defines; of chlo those that the file has
    Dictionary extra;       ///< what others hang on it, such as mhlo.attributes
    std::vector<ValueId> operands, results;
    std::vector<Region> regions;
    LocationId location = 0;
};

struct Function {
    std::string name;
    std::string visibility;  ///< "", "public", "private", "nested"
    std::vector<TypePointer> argument_types, result_types;
    std::vector<Dictionary> argument_attributes, result_attributes;  ///< as many as types
    Dictionary extra;
    Region body;
    bool is_external = false;         ///< declared only
    std::vector<TypePointer> values;  ///< types, in order of definition
    LocationId location = 0;
};

struct Program {
    std::string name;      ///< the module's; may be empty
    std::string producer;  ///< "StableHLO_v1.0.0"; empty for text
    Dictionary extra;
    std::vector<Function> functions;
    std::vector<Location> locations = {Location()};
};

/// Null where what it names makes it heavier than max_type_weight.
TypePointer weighed(Type type);
TypePointer plain_type(Type::Kind kind, Element element = Element::f32);  ///< without parts
TypePointer tensor_type(Element element, std::vector<std::int64_t> dims);
template <class T> AttributePointer attribute(T value) {
    return std::make_shared<const Attribute>(Attribute{std::move(value)});
}
/// Null where what it names makes it heavier than max_weight.
AttributePointer array_attribute(Array parts);
AttributePointer dictionary_attribute(Dictionary entries);
/// Sorts; false where a name stands twice.
bool sort_by_name(Dictionary& entries);
/// Empty, or what is wrong with a function that has a body: what it takes and returns must be of its type.
std::string problem_of(const Function& function);
/// Empty, or what is wrong with the program as a whole.
std::string problem_of(const Program& program);
/// "model.py:12:3 in 'jit(f)/add'", cut where it is long.
std::string to_string(const Program& program, LocationId location);

}  // namespace tosavk::stablehlo
