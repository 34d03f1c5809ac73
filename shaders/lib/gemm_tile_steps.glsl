// The steps along the inner dimension in which gemm_tiles.comp takes blocks: STEP of them, of which each of the SPLIT
// groups of a workgroup has its part, or all where it has taps of its own (TAP_SPLIT).
#if TAP_SPLIT
#define STEP (DEPTH * TOGETHER)
#define PART_TAPS (LOOP_TAPS / SPLIT)
#define TAPS_BEFORE (part * PART_TAPS)
#define BLOCK_PART 0
#else
#define STEP (SPLIT * DEPTH * TOGETHER)
#define PART_TAPS LOOP_TAPS
#define TAPS_BEFORE 0
#define BLOCK_PART part
#endif
// Taps one after the other where each has a step's blocks or more, else all blocks in one row.
#if FLAT
#define BY_TAPS true
#elif MATRIX
#define BY_TAPS true
const int MOST_LOOP_BLOCKS = K_BLOCKS;
#else
const bool BY_TAPS = K_BLOCKS >= STEP;
const int MOST_LOOP_BLOCKS = BY_TAPS ? K_BLOCKS : MOST_BLOCKS;
#endif
#define LOOP_TAPS (BY_TAPS ? TAPS_Y * TAPS_X : 1)
#define LOOP_BLOCKS (BY_TAPS ? K_BLOCKS : BLOCKS)
// 1 where a step adds no more than its block, and a tap begins at an invocation's own one. A factor, as SwiftShader's
// compiler takes all memory for a choice.
const int OWN_IN_TAP = BY_TAPS ? (HAS_QUADS ? 1 : 0) : 0;
// Where the blocks are no whole steps the last step begins earlier, and what it has again is left out of its products:
// no load has to ask whether there is a block. Blocks that are less than a step are asked for.
#if FLAT
#define ASKS false  // whole steps
#elif TRANSPOSED
const bool ASKS = K_BLOCKS < STEP;  // how many blocks all taps have differs among phases
#else
const bool ASKS = MOST_LOOP_BLOCKS < STEP;
#endif
#if FLAT
#define BEGINS_EARLIER false
#define CUTS false
#define HAS_HAD_ALL false
#else
const int LAST_BLOCKS = MOST_LOOP_BLOCKS % STEP;
const bool BEGINS_EARLIER = (ASKS ? 0 : LAST_BLOCKS) > 0;
// Whether of blocks that are multiplied together the last step may have had some: those are then zero.
const bool CUTS = (ASKS ? 0 : LAST_BLOCKS % TOGETHER) > 0;
// Whether a group may have had all of its blocks of the last step.
const bool HAS_HAD_ALL = STEP - LAST_BLOCKS >= DEPTH * TOGETHER;
#endif
#define WITHIN(block) (!ASKS || (block) < LOOP_BLOCKS)
// The block with which a step begins, and how many of this group's, from the first one on, an earlier step has had
// (below 0: none; where there are fewer: all).
#define STEP_BEGIN(turn) (BEGINS_EARLIER ? min(turn, LOOP_BLOCKS - STEP) : (turn))
#define BLOCKS_HAD(turn, begin) (BEGINS_EARLIER ? (turn) - (begin) - BLOCK_PART * DEPTH * TOGETHER : 0)
// The steps of a workgroup, those of all taps counted through: taps, and of each the blocks.
#if PARTS > 1
#define TURNS ((LOOP_BLOCKS + STEP - 1) / STEP)
#define FIRST_TAP (first_step / TURNS)
#define END_TAP ((end_step + TURNS - 1) / TURNS)
#define FIRST_BLOCK(tap) (max(first_step - (tap) * TURNS, 0) * STEP)
#define END_BLOCK(tap) (min(end_step - (tap) * TURNS, TURNS) * STEP)
#else
#define FIRST_TAP 0
#define END_TAP PART_TAPS
#define FIRST_BLOCK(tap) 0
#define END_BLOCK(tap) LOOP_BLOCKS
#endif
// The padding is put in where blocks are stored: nothing then waits for each of them. Where some are cut the columns'
// are zero, which does for rows of any kind where these are not summed up for a zero point of the columns.
#if MATRIX || FLAT
#define LATE_PADDING true
#define CUTS_ROWS true
#define CUTS_COLUMNS true
#else
const int SUMS_OF_CUT_ROWS = CUTS ? COLUMN_ZP_CONSTANT : 0;
const bool LATE_PADDING = (BY_TAPS ? SUMS_OF_CUT_ROWS : 1) == 0;
#define CUTS_ROWS (!LATE_PADDING)
#define CUTS_COLUMNS LATE_PADDING
#endif
