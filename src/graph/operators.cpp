#include "graph/operators.hpp"

#include <iterator>

namespace tosavk {

std::string_view name_of(Op op) {
#define TOSAVK_NAME(op, name) name,
    static constexpr std::string_view names[] = {"UNKNOWN", TOSAVK_OPERATORS(TOSAVK_NAME)};
    static constexpr std::string_view own_names[] = {TOSAVK_OWN_OPERATORS(TOSAVK_NAME)};
#undef TOSAVK_NAME
    const auto index = static_cast<std::size_t>(op);
    if (is_own(op)) return own_names[index - static_cast<std::size_t>(Op::before_own) - 1];
    return index < std::size(names) ? names[index] : names[0];
}

}  // namespace tosavk
