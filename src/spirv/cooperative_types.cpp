#include "spirv/cooperative_types.hpp"

#include <bit>
#include <cstddef>
#include <map>
#include <set>

namespace tosavk {

namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t type_int = 21, type_float = 22, op_constant = 43, type_cooperative_matrix = 4456;

struct Scalar {
    bool is_float = false, is_signed = false;
    std::uint32_t width = 32;

    auto operator<=>(const Scalar&) const = default;
};

Scalar component(std::uint32_t literal) {
    constexpr std::uint32_t least_float = 1u << 24;  // no width of an integer comes near the bits of 16.0
    if (literal < least_float) return {false, true, literal};
    return {true, false, static_cast<std::uint32_t>(std::bit_cast<float>(literal))};
}

/// What is declared before the first cooperative matrix, so that it may use it.
class Declarations {
public:
    Declarations(Words& words, std::size_t first_matrix) : words_(words), first_matrix_(first_matrix) {
        for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
            const std::uint32_t opcode = words[at] & 0xffff;
            if (opcode == type_int) types_[{false, words[at + 3] != 0, words[at + 2]}] = {words[at + 1], at};
            if (opcode == type_float) types_[{true, false, words[at + 2]}] = {words[at + 1], at};
        }
    }

    std::uint32_t type(const Scalar& scalar) {
        Type& type = types_[scalar];
        if (type.id != 0 && type.at < first_matrix_) return type.id;
        if (type.id != 0) moved.insert(type.at);  // no type may be declared twice
        else type.id = words_[3]++;
        type.at = 0;
        if (scalar.is_float) text.insert(text.end(), {3u << 16 | type_float, type.id, scalar.width});
        else text.insert(text.end(), {4u << 16 | type_int, type.id, scalar.width, std::uint32_t{scalar.is_signed}});
        return type.id;
    }

    std::uint32_t constant(std::uint32_t value) {
        const std::uint32_t type_id = type({false, false, 32});
        std::uint32_t& id = constants_[value];
        if (id != 0) return id;
        id = words_[3]++;
        text.insert(text.end(), {4u << 16 | op_constant, type_id, id, value});
        return id;
    }

    Words text;
    std::set<std::size_t> moved;  ///< positions of declarations that `text` has now

private:
    struct Type {
        std::uint32_t id = 0;
        std::size_t at = 0;
    };

    Words& words_;
    const std::size_t first_matrix_;
    std::map<Scalar, Type> types_;
    std::map<std::uint32_t, std::uint32_t> constants_;
};

}  // namespace

void set_cooperative_types(Words& words) {
    std::vector<std::size_t> matrices;
    for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
        if ((words[at] & 0xffff) == type_cooperative_matrix) matrices.push_back(at);
    }
    if (matrices.empty()) return;
    Declarations declarations(words, matrices.front());
    for (const std::size_t at : matrices) {
        words[at + 2] = declarations.type(component(words[at + 2]));
        for (std::size_t k = 3; k < 7; ++k) words[at + k] = declarations.constant(words[at + k]);
    }
    const auto position = [&](std::size_t at) { return words.begin() + static_cast<std::ptrdiff_t>(at); };
    Words result(words.begin(), position(matrices.front()));
    result.insert(result.end(), declarations.text.begin(), declarations.text.end());
    for (std::size_t at = matrices.front(), next; at < words.size(); at = next) {
        next = at + (words[at] >> 16);
        if (declarations.moved.count(at) == 0) result.insert(result.end(), position(at), position(next));
    }
    words = std::move(result);
}

}  // namespace tosavk
