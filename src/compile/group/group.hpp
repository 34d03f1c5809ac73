// A group: the nodes that share a dispatch. It is a maximal set of elementwise nodes over one index space, on its own
// or behind a kernel that makes their first operand (its epilogue); others may lie before the kernel and make what it
// reads (its prologues).
#pragma once

#include "kernels/common/kernel_choice.hpp"
#include "ops/op.hpp"

#include <optional>

namespace tosavk {

/// Rows of a row group: LANES invocations of a workgroup share one, or, where the rows are columns of matrices, four
/// that lie side by side.
struct Rows {
    std::int64_t count = 0;    ///< rows
    std::int64_t axis = 0;     ///< elements of a row; at least 2
    std::int64_t lanes = 1;    ///< a power of two; along consecutive elements more than 1 only where each lane has four
                               ///< whole quads or more, or four elements
    bool by_elements = false;  ///< lanes take elements that lie side by side, not quads; more than one lane then
    std::int64_t in_turn = 1;  ///< rows that an invocation takes one after the other; 1 where lanes share one
    std::int64_t inner = 1;    ///< from one element of a row to the next; above 1, the rows are columns
    std::int64_t length = 0;   ///< of columns: elements that a lane goes down; the last lanes may have fewer, or none

    bool are_columns() const { return inner > 1; }
    /// Quads of columns: none reaches from one matrix into the next.
    std::int64_t column_quads() const { return count / inner * ((inner + 3) / 4); }
};

struct Group {
    /// What its dispatch is; it says which of the fields below are in use.
    enum class Kind : std::uint8_t {
        none,         ///< no dispatch: others make what it waits for, or it was taken into another group
        elementwise,  ///< members, with stores and prologues
        kernel,       ///< an anchor that `choice` runs, with members behind it, stores and prologues
        rows,         ///< members over `rows`, with stores
        copy,         ///< stores alone
        structural,   ///< an anchor that no kernel runs: control flow, a variable, CUSTOM
    };
    Kind kind = Kind::none;
    NodeId anchor = no_id;  ///< of a kernel and a structural group
    std::optional<KernelChoice> choice;
    std::vector<NodeId> members;   ///< elementwise and reading view nodes, in execution order
    std::vector<NodeId> absorbed;  ///< nodes that the kernel computes besides the anchor, before it (attention.hpp)
    Shape space;                   ///< index space of members and of the anchor's output
    std::vector<ValueId> outputs;  ///< values to write to memory
    /// An input of a node that only moves elements: the group writes it to its places in the node's output. Made by the
    /// group or not: a group of stores alone copies.
    struct Store {
        NodeId node;
        std::size_t input;
        IndexMap map;  ///< over the input's elements, into the output
    };
    std::vector<Store> stores;
    /// A value that a kernel reads and nobody else, or an elementwise group by moves alone: it is computed there, by
    /// elementwise and reading view nodes over its elements, in execution order.
    struct Prologue {
        ValueId value;  ///< made by a member
        std::vector<NodeId> members;
    };
    std::vector<Prologue> prologues;
    /// Of a row group: members are elementwise over the rows' elements (rows.count * rows.axis) or over the
    /// rows (rows.count, which is `space`), or reduce the first to the second.
    std::optional<Rows> rows;
};

/// Whether Group::outputs has been filled in. Before, every member may be one.
enum class Outputs : std::uint8_t { open, known };

/// The prologue that makes this operand in the group; null: it is read.
const Group::Prologue* prologue_of(const Graph& graph, const Group& group, const KernelOperand& operand);

}  // namespace tosavk
