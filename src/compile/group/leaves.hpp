// What a group reads, as data: whether it fits a device is computed from this, and the generator takes its buffers and
// their numbers from it.
#pragma once

#include "compile/group/group.hpp"

#include <map>
#include <set>

namespace tosavk {

struct GroupLeaves {
    /// A tensor that the shader binds as in<number>. `operand.reads` of what the kernel does not read itself says how
    /// often members do.
    struct Read {
        KernelOperand operand;
        std::size_t number = 0;
    };
    std::vector<Read> reads;                 ///< in the order of their bindings
    std::map<ValueId, std::size_t> numbers;  ///< of what members read or make where they read it, by value
    std::set<std::size_t> made;              ///< those that are no buffer, but made where they are read
    std::size_t members = 0;                 ///< nodes, those of prologues included
    /// Of these nodes but the largest one, OpDef::operations; of rows, of what is made of each of their elements.
    std::int64_t operations = 0;
    std::size_t bindings = 0;   ///< of the reads; large tensors take several
    std::size_t places = 0;     ///< where members read, those of rows not counted
    std::size_t registers = 0;  ///< of 32 bits, that one quad of members keeps at once, about
};

/// Of the dispatch that makes the group's results. Walks operands, prologues, members and stores in the order in which
/// the generator makes statements of them.
GroupLeaves leaves_of(const Graph& graph, const Group& group, const DevicePlan& device, Outputs outputs);
/// Of an earlier pass of the group's kernel.
GroupLeaves leaves_of_pass(const Graph& graph, const Group& group, const KernelPass& pass, const DevicePlan& device);

/// What the generator declares for an earlier pass: what it reads, and the scratch buffer that it writes.
std::size_t pass_bindings(const Graph& graph, const Group& group, const KernelPass& pass, const DevicePlan& device);

/// The element of an integer constant that has only one, where it fits a specialization constant: it is none of the
/// leaves.
std::optional<std::int32_t> known_number(const Value& value);
/// The same of any width.
std::optional<std::int64_t> known_integer(const Value& value);

}  // namespace tosavk
