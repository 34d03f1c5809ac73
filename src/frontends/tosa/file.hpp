// A .tosa file after verification, whatever its generation: tensors, operators in execution order, and the tables that
// hold their attributes. Read are 1.0 and its drafts up to 1.1 (regions; shape constants as TosaShape or as tensors of
// type SHAPE), 0.60 to 0.80 (regions), and 0.30 to 0.50 (blocks; also the earliest files, which keep zero points in a
// table of their own). The views live as long as the TosaFile and the bytes it was read from.
#pragma once

#include "frontends/tosa/tosa.hpp"
#include "graph/graph.hpp"
#include "graph/host_tensor.hpp"

#include "tosa_0_80_generated.h"
#include "tosa_1_0_generated.h"

#include <deque>
#include <span>
#include <string>
#include <vector>

namespace tosavk {

enum class TosaGeneration : std::uint8_t { blocks_0_30, regions_0_80, v1_0 };

struct TosaFileTensor {
    std::string name;  ///< printable
    DType type = DType::fp32;
    bool is_unsigned = false;  ///< UINT8 and UINT16 of old files, held as i8 and i16
    Shape shape;               ///< a shape value's is its length
    std::span<const std::byte> data;
    std::string unusable;       ///< why no operator may touch it; empty when it may
    bool is_constant = false;   ///< made by CONST or CONST_SHAPE
    bool is_variable = false;   ///< of the whole file, whatever blocks list it; `data` is its initial value
    std::string variable_name;  ///< printable; may be empty
    std::size_t block = SIZE_MAX, producer = SIZE_MAX;  ///< the operator that makes it, and its block

    std::string title() const { return "tensor '" + name + "'"; }
};

struct TosaFileOperator {
    std::uint32_t code = 0;  ///< as in the file: the numbers of 1.0 and of older files differ
    Op op = Op::unknown;     ///< v0_30::fully_connected for the one that 1.0 does not have
    std::string op_name;
    std::string unsupported;                   ///< why there is no such operator here; empty when there is
    bool is_damaged = false;                   ///< what `unsupported` says is wrong in the file, not missing here
    std::string location;                      ///< the text of OpLocation
    std::size_t index = 0;                     ///< place in the file
    std::vector<std::size_t> inputs, outputs;  ///< without the variable
    std::size_t variable = SIZE_MAX;           ///< the tensor that VARIABLE, VARIABLE_READ or VARIABLE_WRITE is about
    std::vector<std::size_t> blocks;           ///< then and else, or condition and body; indices of TosaFile::blocks
    std::string custom_name, custom_domain, custom_attrs;
    // One of these three, by generation.
    const tosa10::TosaOperator* v1_0 = nullptr;
    const tosa080::TosaOperator* v0_80 = nullptr;
    const tosa030::TosaOperator* v0_30 = nullptr;
};

struct TosaFileBlock {
    std::string title;                        ///< "region 'x'"; for messages
    std::vector<TosaFileOperator> operators;  ///< in execution order, without CONST and CONST_SHAPE
    std::vector<std::size_t> inputs, outputs;
    /// Tensors of enclosing blocks that it or a block within needs, except constants and variables.
    std::vector<std::size_t> captures;
    bool touches_variables = false;  ///< it or a block within
};

class TosaFile {
public:
    /// Throws Error(bad_model) or Error(unsupported).
    TosaFile(std::span<const std::byte> bytes, TosaSpec spec);
    TosaFile(const TosaFile&) = delete;
    TosaFile& operator=(const TosaFile&) = delete;

    TosaGeneration generation = TosaGeneration::v1_0;
    std::size_t size = 0;              ///< bytes of the file
    std::span<const std::byte> bytes;  ///< the file, aligned
    bool has_local_bound = false;      ///< of 0.80 and later
    bool has_quant_info = false;       ///< the earliest layout
    std::vector<TosaFileTensor> tensors;
    /// The first one is the graph. A region stands here once for each block that names it: what its operators do not
    /// find in it they take from that block.
    std::deque<TosaFileBlock> blocks;
    std::vector<std::size_t> variables;  ///< tensors, in the order of the file

private:
    template <class Operator, class Block, class Find>
    std::size_t read_block(const Block& block, const Find& find, std::size_t outer);
    template <class Operator> void read_operator(const Operator& table, TosaFileOperator& op, std::size_t block);
    template <class Block> void read_tensors(const Block& block, std::size_t number);
    void read_shapes(const tosa10::TosaBasicBlock& block, std::size_t number);
    void add_tensor(std::string_view name, TosaFileTensor tensor, std::size_t block);
    void resolve_variable(TosaFileOperator& op);
    void find_captures(std::size_t block);
    void schedule(std::size_t block);
    bool touches_variables(const TosaFileOperator& op) const;

    std::vector<std::uint64_t> aligned_copy_;
    struct Names;
    Names* names_ = nullptr;  ///< while reading
};

/// A region that many operators name counts for each of them.
inline constexpr std::size_t max_tosa_regions = 4096;

/// VARIABLE, VARIABLE_READ and VARIABLE_WRITE.
inline bool is_state(Op op) { return op == Op::variable || op == Op::variable_read || op == Op::variable_write; }

/// Throws Error(bad_model).
[[noreturn]] void bad_tosa_file(const std::string& what);

/// True when the bytes verify as a graph of some generation; early files carry no identifier.
bool looks_like_tosa(std::span<const std::byte> file);

/// Elements as a file packs them (i4 two to a byte, i48 in six bytes) and as a Value holds them. The file may have more
/// bytes than elements need, as long as they are zero; throws Error(bad_model) naming `title`.
Bytes unpack_tosa(DType type, std::int64_t count, std::span<const std::byte> data, const std::string& title);
Bytes pack_tosa(DType type, std::span<const std::byte> elements);

}  // namespace tosavk
