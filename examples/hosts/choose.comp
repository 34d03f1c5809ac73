#version 450
// Which of 36 scores is the best.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer Scores { float scores[]; };
layout(set = 0, binding = 1) writeonly buffer Best { int best; };

void main() {
    int found = 0;
    for (int k = 1; k < 36; ++k)
        if (scores[k] > scores[found]) found = k;
    best = found;
}
