#include "kernels/indexed/tuples.hpp"

#include "kernels/common/operands.hpp"

#include <fmt/format.h>

namespace tosavk {

bool takes_tuples(const NodeView& view, std::string& why) {
    const DType type = view.out().type;
    const IndexedSizes s = indexed_sizes(view);
    if (!is_plain_type(type)) why = fmt::format("it does not take {}", name_of(type));
    else if (s.dims.size() > max_tuple) why = fmt::format("a tuple may have {} indices", max_tuple);
    else if (s.all_slots() * s.row > max_elements || s.all_tuples() * s.row > max_elements)
        why = "shaders cannot count its elements";
    else return true;
    return false;
}

void add_tuples(KernelPass& pass, const NodeView& view, const IndexedSizes& sizes, std::size_t operand) {
    pass.defines.emplace_back("INDICES(i)", fmt::format("in{}_load1(i)", operand));
    pass.defines.emplace_back("CLAMP", view.attrs().out_of_range == OutOfRange::clamp ? "true" : "false");
    pass.defines.emplace_back("DEPTH", std::to_string(sizes.dims.size()));
    for (std::size_t d = 0; d < max_tuple; ++d)
        pass.constants.emplace(fmt::format("D{}", d), d < sizes.dims.size() ? sizes.dims[d] : 1);
    set_constants(pass, {{"TUPLES", sizes.tuples}, {"SLOTS", sizes.slots}});
}

}  // namespace tosavk
