// A Program as text: MLIR's generic form with every attribute, which read_text() reads back to the same Program.
#pragma once

#include "frontends/stablehlo/program.hpp"

#include <cstdint>
#include <string>

namespace tosavk::stablehlo {

struct PrintOptions {
    bool locations = false;
    std::uint64_t most_elements = ~std::uint64_t{0};  ///< of a constant that is printed; others are named by their size
};

std::string print(const Program& program, const PrintOptions& options = {});

}  // namespace tosavk::stablehlo
