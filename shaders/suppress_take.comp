// The results of SUPPRESS and SUPPRESS_QUEUED (SCORES): what is taken, zeros behind.
//   in0  for each list NUMBER words, of which the last says how many are taken, these, and their scores
layout(constant_id = 0) const int LISTS = 1;
layout(constant_id = 1) const int MOST = 1;
layout(constant_id = 2) const int NUMBER = 1;

void main() {
    uint e = invocation_index();
    if (e >= uint(LISTS * MOST)) return;
    uint list = e / uint(MOST), k = e % uint(MOST), at = list * uint(NUMBER + MOST) + uint(NUMBER);
    int count = in0_load1(at - 1u);
    bool is_taken = int(k) < count;
    int box = 0;
    if (is_taken) box = in0_load1(at + k);
    out0_store1(e, box);
#if SCORES
    float score = 0.0;
    if (is_taken) score = intBitsToFloat(in0_load1(at + uint(MOST) + k));
    out1_store1(e, score);
    if (k == 0u) out2_store1(list, count);
#else
    if (k == 0u) out1_store1(list, count);
#endif
}
