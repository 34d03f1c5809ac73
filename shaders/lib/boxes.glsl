// Boxes of two opposite corners, y, x, y, x each, and how far two of them overlap. BOX(i) is number i of a box tensor.
// Needs exact.glsl.
vec4 box_at(int i) {
    uint at = 4u * uint(i);
    return vec4(BOX(at), BOX(at + 1u), BOX(at + 2u), BOX(at + 3u));
}

vec2 box_lower(vec2 a, vec2 b) { return mix(a, b, lessThan(b, a)); }
vec2 box_higher(vec2 a, vec2 b) { return mix(a, b, lessThan(a, b)); }

// The area that both share, as a part of what both cover; 0 where one has no area.
float box_overlap(vec4 a, vec4 b) {
    vec2 low_a = box_lower(a.xy, a.zw), high_a = box_higher(a.xy, a.zw);
    vec2 low_b = box_lower(b.xy, b.zw), high_b = box_higher(b.xy, b.zw);
    precise vec2 size_a = high_a - low_a, size_b = high_b - low_b;
    precise vec2 sides = box_lower(high_a, high_b) - box_higher(low_a, low_b);
    sides = box_higher(sides, vec2(0.0));
    precise float area_a = size_a.x * size_a.y, area_b = size_b.x * size_b.y, common_area = sides.x * sides.y;
    precise float all = area_a + area_b;
    all = all - common_area;
    float part = exact_divide(vec4(common_area), vec4(all)).x;
    return area_a <= 0.0 || area_b <= 0.0 || all == 0.0 ? 0.0 : part;
}
