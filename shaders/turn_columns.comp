// The second operand of an 8-bit MATMUL as words of four inner elements, each once, for gemm_direct.comp and
// gemm_tiles.comp, which would turn them at every read (TURNED in lib/gemm_columns.glsl). An invocation makes SUMMED
// blocks of a quad of columns.
//   in0   B [BATCH,K,COLUMNS], i8
//   out0  i32 [BATCH][quads][blocks + sums, as four are whole][4]: blocks of a word of each column, the zero point past
//         the last inner element; then, of each SUMMED blocks, the sums of the columns' elements
#extension GL_EXT_control_flow_attributes : require
layout(constant_id = 0) const int BATCH = 1;       // pushed
layout(constant_id = 1) const int K = 1;           // pushed
layout(constant_id = 2) const int COLUMNS = 1;     // pushed
layout(constant_id = 3) const int ZERO_POINT = 0;  // pushed

ivec4 elements(int batch, int k, int quad) {
    if (k >= K) return ivec4(ZERO_POINT);
    return in0_loadn(uint((batch * K + k) * COLUMNS + quad * 4), uint(min(COLUMNS - quad * 4, 4)));
}

void main() {
    int quads = (COLUMNS + 3) / 4, blocks = (K + 3) / 4, parts = (blocks + SUMMED - 1) / SUMMED;
    int id = int(invocation_index()), row = id / quads, quad = id - row * quads, batch = row / parts,
        part = row - batch * parts;
    if (batch >= BATCH) return;
    int to = (batch * quads + quad) * ((blocks + parts + 3) / 4 * 4);
    ivec4 sums = ivec4(0);
    [[dont_unroll]] for (int block = part * SUMMED; block < min((part + 1) * SUMMED, blocks); ++block) {
        ivec4 a = elements(batch, 4 * block, quad), b = elements(batch, 4 * block + 1, quad),
              c = elements(batch, 4 * block + 2, quad), d = elements(batch, 4 * block + 3, quad);
        sums += a + b + c + d;
        ivec4 words = ivec4(pack_i8(ivec4(a.x, b.x, c.x, d.x)), pack_i8(ivec4(a.y, b.y, c.y, d.y)),
                            pack_i8(ivec4(a.z, b.z, c.z, d.z)), pack_i8(ivec4(a.w, b.w, c.w, d.w)));
        out0_store4(uint((to + block) * 4), words);
    }
    out0_store4(uint((to + blocks + part) * 4), sums);
}
