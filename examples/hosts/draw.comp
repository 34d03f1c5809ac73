#version 450
// Draws the letter T, light on dark, into 28 x 28 floats.
layout(local_size_x = 28) in;
layout(set = 0, binding = 0) writeonly buffer Picture { float pixels[]; };

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    float bar = 1 - smoothstep(1.2, 2.2, abs(float(at.y) - 6.5));
    float stem = 1 - smoothstep(1.2, 2.2, abs(float(at.x) - 13.5));
    bool in_bar = at.x > 5 && at.x < 22, in_stem = at.y > 5 && at.y < 23;
    pixels[at.y * 28 + at.x] = max(in_bar ? bar : 0, in_stem ? stem : 0);
}
