// Assembly as data: blocks of instructions, where they go on, and the loop in which a kernel spends its time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tosavk {

struct Instruction {
    std::string opcode;
    std::size_t times = 1;          ///< it does this to so many registers in turn
    std::size_t multiply_adds = 0;  ///< of each time; a pair of them issued together counts as two
};

struct Block {
    std::string name;
    std::vector<Instruction> instructions;
    std::vector<std::string> targets;  ///< blocks that it may jump to
};

/// In the order of the addresses.
using Listing = std::vector<Block>;

struct Hotspot {
    std::size_t multiply_adds = 0, instructions = 0;

    double share() const {
        return instructions > 0 ? static_cast<double>(multiply_adds) / static_cast<double>(instructions) : 0;
    }
};

std::size_t instruction_count(const Listing& listing);

/// The innermost loop around the block with the most multiply-adds, all of its blocks; that block alone where no jump
/// leads back over it. Nothing in a program without multiply-adds.
Hotspot hottest(const Listing& listing);

}  // namespace tosavk
