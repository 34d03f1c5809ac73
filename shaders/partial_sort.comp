// PARTIAL_SORT: an invocation keeps the MOST largest values of a row in a heap, the least of them first, and then takes
// the heap apart from its end.
//   in0  values   out0 the places, and until then the heap
layout(constant_id = 0) const int ROWS = 1;
layout(constant_id = 1) const int LENGTH = 1;
layout(constant_id = 2) const int MOST = 1;

uint values, heap;

float value_of(int place) { return in0_load1(values + uint(place)); }
int heap_at(int i) { return out0_w[heap + uint(i)]; }
void heap_put(int i, int place) { out0_store1(heap + uint(i), place); }

// Puts a place into a heap of `size` where the hole is: down to the end by the lesser child, then up.
void fill_hole(int top, int size, int place) {
    int hole = top;
    while (2 * hole + 1 < size) {
        int left = 2 * hole + 1, right = min(left + 1, size - 1), a = heap_at(left), b = heap_at(right);
        bool takes_left = left + 1 == size || value_of(b) > value_of(a);
        heap_put(hole, takes_left ? a : b);
        hole = takes_left ? left : right;
    }
    float value = value_of(place);
    bool up = true;
    while (hole > top && up) {
        int parent = (hole - 1) / 2, above = heap_at(parent);
        up = value_of(above) > value;
        if (up) {
            heap_put(hole, above);
            hole = parent;
        }
    }
    heap_put(hole, place);
}

void main() {
    uint row = invocation_index();
    if (row >= uint(ROWS)) return;
    values = row * uint(LENGTH);
    heap = row * uint(MOST);
    for (int i = 0; i < MOST; ++i) heap_put(i, i);
    for (int top = MOST / 2 - 1; top >= 0; --top) fill_hole(top, MOST, heap_at(top));
    for (int i = MOST; i < LENGTH; ++i) {
        if (value_of(i) > value_of(heap_at(0))) fill_hole(0, MOST, i);
    }
    for (int size = MOST - 1; size > 0; --size) {
        int last = heap_at(size);
        heap_put(size, heap_at(0));
        fill_hole(0, size, last);
    }
}
