#include "compile/options.hpp"

#include <cstdlib>
#include <string_view>

namespace tosavk {

PlanOptions with_environment(PlanOptions options) {
    const auto turn_off = [](bool& pass, const char* name) {
        const char* value = std::getenv(name);
        if (value && std::string_view(value) == "1") pass = false;
    };
    turn_off(options.fuse, "TOSAVK_NO_FUSE");
    turn_off(options.fold_movement, "TOSAVK_NO_FOLD");
    turn_off(options.fold_constants, "TOSAVK_NO_CONSTANT_FOLDING");
    turn_off(options.merge_equal, "TOSAVK_NO_CSE");
    turn_off(options.drop_unread, "TOSAVK_NO_DEAD_NODES");
    turn_off(options.join_followers, "TOSAVK_NO_JOINING");
    turn_off(options.merge_groups, "TOSAVK_NO_MERGING");
    turn_off(options.fuse_rows, "TOSAVK_NO_ROW_FUSION");
    turn_off(options.store_in_place, "TOSAVK_NO_MAPPED_STORES");
    turn_off(options.fuse_attention, "TOSAVK_NO_ATTENTION");
    turn_off(options.fuse_prologues, "TOSAVK_NO_PROLOGUES");
    turn_off(options.fuse_moved, "TOSAVK_NO_MOVED_PROLOGUES");
    turn_off(options.alias_slices, "TOSAVK_NO_SLICE_ALIASES");
    turn_off(options.alias_lists, "TOSAVK_NO_LIST_ALIASES");
    turn_off(options.count_turns, "TOSAVK_NO_COUNTED_TURNS");
    turn_off(options.gate_turns, "TOSAVK_NO_GATED_TURNS");
    turn_off(options.swap_turns, "TOSAVK_NO_SWAPPED_TURNS");
    turn_off(options.tuned, "TOSAVK_NO_TUNING");
    turn_off(options.late_sizes, "TOSAVK_NO_LATE_SIZES");
    return options;
}

}  // namespace tosavk
