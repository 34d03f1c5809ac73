// Which passes make a plan, and what turns them off.
#pragma once

namespace tosavk {

struct PlanOptions {
    bool fuse = true;       ///< nodes share dispatches; false leaves all passes out
    bool keep_all = false;  ///< every value stays readable after a run (no sharing of memory); for verify
    // Passes that `fuse` allows; each can be left out.
    bool fold_movement = true;   ///< SLICE and PAD into the padding of what reads them; moves of moves, and of nothing
    bool fold_constants = true;  ///< nodes of constants
    bool merge_equal = true;     ///< nodes that compute the same as an earlier one
    bool drop_unread = true;     ///< nodes that no output needs (what writes variables stays)
    bool join_followers = true;  ///< elementwise nodes into the group of a producer
    bool merge_groups = true;    ///< elementwise groups into those that read their values element by element
    bool fuse_rows = true;       ///< reductions along rows together with what is elementwise over the rows
    bool store_in_place = true;  ///< CONCAT and TRANSPOSE by the stores of what makes their operands
    bool fuse_attention = true;  ///< attention of precision fast in one dispatch, without scores in memory
    bool fuse_prologues = true;  ///< what kernels read, made where they read it
    bool fuse_moved = true;      ///< what elementwise groups only move, made where they read it
    bool alias_slices = true;    ///< SLICE of consecutive elements left where they are
    bool alias_lists = true;     ///< what COND_IF and WHILE_LOOP hand to their regions left where it is
    bool count_turns = true;     ///< loops whose turns are known run without the host; with or without `fuse`
    bool gate_turns = true;      ///< the device decides whether other loops go on; with or without `fuse`
    bool swap_turns = true;      ///< loops of known turns read where the turn before has written; likewise
    bool tuned = true;           ///< kernels that a tuning table names; with or without `fuse`
    /// What depends on an outermost size of a tensor is a push constant: another such size then needs no pipeline. For
    /// models whose sizes are known late; with or without `fuse`.
    bool late_sizes = false;

    bool operator==(const PlanOptions&) const = default;
};

/// `options` without the passes that the environment turns off: TOSAVK_NO_FUSE (all), TOSAVK_NO_FOLD,
/// TOSAVK_NO_CONSTANT_FOLDING, TOSAVK_NO_CSE, TOSAVK_NO_DEAD_NODES, TOSAVK_NO_JOINING, TOSAVK_NO_MERGING,
/// TOSAVK_NO_ROW_FUSION, TOSAVK_NO_MAPPED_STORES, TOSAVK_NO_ATTENTION, TOSAVK_NO_PROLOGUES,
/// TOSAVK_NO_MOVED_PROLOGUES, TOSAVK_NO_SLICE_ALIASES, TOSAVK_NO_LIST_ALIASES, TOSAVK_NO_COUNTED_TURNS,
/// TOSAVK_NO_GATED_TURNS, TOSAVK_NO_SWAPPED_TURNS, TOSAVK_NO_TUNING, TOSAVK_NO_LATE_SIZES, each set to 1.
PlanOptions with_environment(PlanOptions options);

}  // namespace tosavk
