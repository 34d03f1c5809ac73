#include "graph/operators.hpp"

#include <iterator>

namespace tosavk {

std::string_view name_of(Op op) {
    static constexpr std::string_view names[] = {"UNKNOWN",
#define TOSAVK_NAME(op, name) name,
                                                 TOSAVK_OPERATORS(TOSAVK_NAME)
#undef TOSAVK_NAME
    };
    const auto index = static_cast<std::size_t>(op);
    return index < std::size(names) ? names[index] : names[0];
}

}  // namespace tosavk
