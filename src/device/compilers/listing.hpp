// Assembly as data: blocks of instructions, where they go on, and the loop in which a kernel spends its time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tosavk {

/// What an instruction does, as far as kernels are judged by it.
enum class Does {
    other,
    floats,       ///< products of floats
    integers,     ///< products of integers, those of addresses too
    dots,         ///< sums of products of small integers
    matrix,       ///< a step of a matrix unit
    shared_load,  ///< loads from a workgroup's memory
    load,         ///< loads from buffers
    conversion,   ///< between types, and of places within a register or among lanes
    scratch,      ///< loads and stores of an invocation's own memory
    wait          ///< nothing but let time pass
};

struct Instruction {
    std::string opcode;
    std::size_t times = 1;          ///< it does this to so many registers in turn
    std::size_t multiply_adds = 0;  ///< of each time; a pair of them issued together counts as two
    Does does = Does::floats;       ///< which kind of products, or what it does instead of any
};

struct Block {
    std::string name;
    std::vector<Instruction> instructions;
    std::vector<std::string> targets;  ///< blocks that it may jump to
    bool goes_on = true;               ///< or go on with the next one
};

/// In the order of the addresses.
using Listing = std::vector<Block>;

/// Puts a listing together line by line.
class ListingWriter {
public:
    /// What follows is the block of that name.
    void label(std::string_view name);
    void add(Instruction one);
    /// Of the instruction added last, which ends its block; or it goes on with the next one unless it jumps always.
    void jump(std::string_view target, bool always = false);
    void stop();  ///< after the instruction added last
    Listing take() { return std::move(listing_); }

private:
    Block& block();

    Listing listing_;
    bool ended_ = true;
};

/// Times count. Multiply-adds are of one kind: steps of a matrix unit where there are any, else products of floats or
/// of integers, whichever are more, and of those of integers dot products alone where there are any: so the arithmetic
/// of addresses counts only beside products that cannot be told from it.
struct Hotspot {
    std::size_t multiply_adds = 0, instructions = 0;
    std::size_t matrix = 0, shared_loads = 0, loads = 0, conversions = 0, scratch = 0, waits = 0;

    double share() const {
        return instructions > 0 ? static_cast<double>(multiply_adds) / static_cast<double>(instructions) : 0;
    }
};

std::size_t instruction_count(const Listing& listing);
/// How often the program has instructions that do this.
std::size_t count_of(const Listing& listing, Does what);

/// The innermost loop around the block with the most multiply-adds, all of its blocks; that block alone where no jump
/// leads back over it. Of blocks, one in a loop counts for eight outside of it, and a step of a matrix unit for 256
/// multiply-adds. Nothing in a program without multiply-adds.
Hotspot hottest(const Listing& listing);

}  // namespace tosavk
