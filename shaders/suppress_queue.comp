// SUPPRESS_QUEUED, by one workgroup: its first invocation keeps the queue, all of them hold the candidate in hand
// against the boxes that are taken. It goes on where the dispatch before it ended, which is when it has made PASSES
// passes of loops.
//   in0  boxes   in1  scores   in2  overlap limit   in3  score limit
//   out0 how many boxes were looked at for the queue, were put there and are there; how many are taken; these, their
//        scores; the queue: score, box, and how many of those taken the box was held against
#define BOX(i) in0_load1(i)
#include "lib/exact.glsl"
#include "lib/boxes.glsl"
layout(constant_id = 0) const int BOXES = 1;
layout(constant_id = 1) const int MOST = 1;
layout(constant_id = 2) const int FIRST = 1;
layout(constant_id = 3) const int PASSES = 1;
layout(constant_id = 4) const float DECAY = 0.0;  // of a score, by the square of an overlap

const uint TAKEN = 4u, SCORES = TAKEN + uint(MOST), HEAP = SCORES + uint(MOST);

shared ivec3 next;       // the candidate; its box is -1 where there is none
shared int suppressed;
#if LANES > 1
shared int taken_boxes[TAKEN_SIZE];
shared float weights[LANES];
#define TAKEN_BOX(i) taken_boxes[i]
#else
#define TAKEN_BOX(i) out0_w[TAKEN + (i)]
#endif

int passes = 0;  // the last one of each loop, in which it ends, counts too
int queued = 0;

ivec3 heap_at(int i) {
    uint at = HEAP + 3u * uint(i);
    return ivec3(out0_w[at], out0_w[at + 1u], out0_w[at + 2u]);
}
void heap_put(int i, ivec3 entry) {
    uint at = HEAP + 3u * uint(i);
    out0_store1(at, entry.x);
    out0_store1(at + 1u, entry.y);
    out0_store1(at + 2u, entry.z);
}
bool is_less(ivec3 a, ivec3 b) { return intBitsToFloat(a.x) < intBitsToFloat(b.x); }

void move_up(int hole, ivec3 entry) {
    bool up = true;
    ++passes;
    while (hole > 0 && up) {
        int parent = (hole - 1) / 2;
        ivec3 above = heap_at(parent);
        up = is_less(above, entry);
        if (up) {
            heap_put(hole, above);
            hole = parent;
        }
        ++passes;
    }
    heap_put(hole, entry);
}
void push(ivec3 entry) {
    ++queued;
    move_up(queued - 1, entry);
}
ivec3 pop() {
    ivec3 top = heap_at(0);
    --queued;
    if (queued == 0) return top;
    ivec3 last = heap_at(queued);
    int hole = 0;
    ++passes;
    while (2 * hole + 1 < queued) {
        int left = 2 * hole + 1;
        ivec3 a = heap_at(left), b = heap_at(min(left + 1, queued - 1));
        bool takes_left = left + 1 == queued || is_less(b, a);
        heap_put(hole, takes_left ? a : b);
        hole = takes_left ? left : left + 1;
        ++passes;
    }
    move_up(hole, last);
    return top;
}

void main() {
    const uint lane = gl_LocalInvocationID.x;
    const float overlap_limit = in2_load1(0u), score_limit = in3_load1(0u);
    int seen = 0, candidates = 0, taken = 0;
    if (FIRST == 0) {
        seen = out0_w[0];
        candidates = out0_w[1];
        queued = out0_w[2];
        taken = out0_w[3];
    }
#if LANES > 1
    for (uint k = lane; k < uint(taken); k += LANES) taken_boxes[k] = out0_w[TAKEN + k];
#endif
    if (lane == 0u) {
        while (seen < BOXES && passes < PASSES) {
            int score = floatBitsToInt(in1_load1(uint(seen)));
            if (intBitsToFloat(score) > score_limit) {
                push(ivec3(score, seen, 0));
                ++candidates;
            }
            ++seen;
            ++passes;
        }
    }
    bool more = true;
    while (more) {
        if (lane == 0u) {
            next.y = -1;
            suppressed = 0;
            if (seen == BOXES && taken < min(candidates, MOST) && queued > 0 && passes < PASSES) next = pop();
            passes += 2;
        }
        barrier();
        const ivec3 candidate = next;
        more = candidate.y >= 0;
        barrier();
        if (more) {
            const float before = intBitsToFloat(candidate.x);
            precise float score = before;
            const vec4 corners = box_at(candidate.y);
            bool is_out = false;
            int rest = taken;
            while (rest > candidate.z && !is_out) {
#if LANES > 1
                const int count = min(LANES, rest - candidate.z);
                if (lane < uint(count)) {
                    float part = box_overlap(corners, box_at(TAKEN_BOX(uint(rest - 1) - lane)));
                    if (part >= overlap_limit) suppressed = 1;
#if SOFT
                    precise float power = DECAY * part;
                    power = power * part;
                    weights[lane] = tosa_exp(vec4(power)).x;
#endif
                }
                barrier();
                is_out = suppressed != 0;
#if SOFT
                // One that is suppressed may be so by a box behind the one at which its score has fallen enough: it
                // is out in either case.
                for (int k = 0; k < LANES; ++k) {
                    if (k < count) score *= weights[k];
                }
                passes += LANES + 1;
#endif
                barrier();
                rest -= count;
#else
                float part = box_overlap(corners, box_at(TAKEN_BOX(uint(rest - 1))));
                is_out = part >= overlap_limit;
#if SOFT
                precise float power = DECAY * part;
                power = power * part;
                score *= tosa_exp(vec4(power)).x;
#endif
                --rest;
#endif
                ++passes;
            }
            if (!is_out) {
                if (score == before) {
                    if (lane == 0u) {
#if LANES > 1
                        taken_boxes[taken] = candidate.y;
#endif
                        out0_store1(TAKEN + uint(taken), candidate.y);
                        out0_store1(SCORES + uint(taken), candidate.x);
                    }
                }
                // Held against all that were taken before it.
                if (lane == 0u && score > score_limit) push(ivec3(floatBitsToInt(score), candidate.y, taken));
                if (score == before) ++taken;
            }
        }
    }
    if (lane == 0u) {
        out0_store1(0u, seen);
        out0_store1(1u, candidates);
        out0_store1(2u, queued);
        out0_store1(3u, taken);
    }
}
