/* Quantised matrix products: weights in tiles of 16 outputs, activations rounded to 8 bits in groups of 32.
 * Prompts use another form of the matrix, see prompt_matrix.h.
 *
 * A tile holds 16 outputs, group after group of 32 inputs: one stream of whole cache lines, read from front to back. The
 * codes are ordered so that each lane of a vector multiplies 4 inputs of one output (u8 weights by s8 activations):
 *
 *     4 bits: [4][16 outputs][4 bytes]   byte b of vector j: input 4j+b (low nibble), input 16+4j+b (high nibble)
 *             [16 x f16] scales, [16 x f16] minima                 weight = code * scale + minimum
 *     8 bits: [8][16 outputs][4 bytes]   byte b of vector j: input 4j+b, plus 128
 *             [16 x f32] scales                                    weight = (code - 128) * scale
 *
 * A row's result never depends on the other rows of its batch: every row takes the same operations in the same
 * order. */
#pragma once
#include "vector.h"

enum {
    GROUP = 32,
    TILE = 16,
    MAX_ROWS = 8,
    GROUP_BYTES_4 = 320,
    GROUP_BYTES_8 = 576,
    AHEAD = 4096, /* bytes from the weights in use to those that are fetched meanwhile: some 450 cycles, as memory takes */
    PARTS = TILE / LANES, /* vectors of a tile's outputs */
    VECTORS = GROUP / LANES /* vectors of a group's inputs */
};

typedef struct {
    int32_t num_in, num_out, bits, span; /* span: see prompt_matrix.h */
    int64_t tile_bytes;
    const uint8_t *tiles;
    const uint8_t *prompt_tiles; /* or NULL */
    const float *bias;           /* [num_out], or NULL */
} Matrix;

/* Rows rounded to 8 bits: value = code * scale. The sums are of the rounded values: their error cancels against that of
 * the codes' products, which an exact sum's would not. Rows are stored in blocks of 8, so that a product finds a
 * group's data at fixed distances: row r of group g is in slot r % 8 of
 * [r / 8][groups][8 inputs / 4][8 rows][4 bytes]. */
typedef struct {
    int8_t *codes;
    float *scales; /* [row blocks][groups][8 rows], as are the following */
    float *sums;
    int32_t *bias; /* -128 times the codes' sum */
} Rows;

/* Rounds 32 values to codes, scale, sum; leaves the rounding error in their place. */
static inline void quantize_group(Floats *values, Rows *rows, int64_t row, int64_t groups, int64_t group) {
    Floats most = zero();
    uint32_t nan = 0;
    for (int i = 0; i < VECTORS; i++) {
        most = greater(most, absolute(values[i]));
        nan |= lanes_nan(values[i]); /* the maximum may drop one */
    }
    float top = nan ? NAN : greatest_of(most);
    Floats factor = splat(top > 0 ? 127.0f / top : 0.0f), scale = splat(top / 127.0f);
    int8_t bytes[GROUP];
    Ints sum = ints_of(zero());
    for (int i = 0; i < VECTORS; i++) {
        Ints codes = ints_of(multiply(values[i], factor));
        sum = add_ints(sum, codes);
        store_bytes(bytes + i * LANES, codes);
        values[i] = fused_negated(floats_of(codes), scale, values[i]);
    }
    int64_t at = (row / MAX_ROWS * groups + group) * MAX_ROWS;
    int8_t *codes = rows->codes + at * GROUP + row % MAX_ROWS * 4;
    for (int i = 0; i < GROUP / 4; i++) memcpy(codes + i * 4 * MAX_ROWS, bytes + 4 * i, 4);
    at += row % MAX_ROWS;
    int32_t total = nan ? 0 : sum_of_ints(sum);
    rows->scales[at] = top / 127.0f;
    rows->sums[at] = top / 127.0f * (float)total;
    rows->bias[at] = -128 * total;
}

/* Fetches a group of weights before it is needed. With many rows the processor looks too few groups ahead by itself. */
static inline void fetch_ahead(const uint8_t *tile, const int group_bytes) {
    UNROLL(9)
    for (int at = 0; at < group_bytes; at += 64) __builtin_prefetch(tile + AHEAD + at, 0, 3);
}

/* out[r] = 16 outputs of row r of a block. `num` is a constant wherever this is inlined. */
__attribute__((always_inline)) static inline void product4(
    const Matrix *matrix, const uint8_t *tile, const Rows *rows, int64_t block, const int num, Floats (*out)[PARTS]) {
    const int groups = matrix->num_in / GROUP;
    const int8_t *codes = rows->codes + block * groups * MAX_ROWS * GROUP;
    const float *scales = rows->scales + block * groups * MAX_ROWS, *sums = rows->sums + block * groups * MAX_ROWS;
    Floats total[MAX_ROWS][PARTS];
    for (int r = 0; r < num; r++)
        for (int p = 0; p < PARTS; p++) total[r][p] = zero();
    for (int group = 0; group < groups; group++) {
        fetch_ahead(tile, GROUP_BYTES_4);
        UNROLL(4)
        for (int p = 0; p < PARTS; p++) {
            Sum4 sum[MAX_ROWS];
            UNROLL(8)
            for (int r = 0; r < num; r++) sum[r] = start4();
            UNROLL(4)
            for (int j = 0; j < 4; j++) {
                Ints both = load_bytes(tile + j * 64 + p * LANES * 4);
                Ints low = low_nibbles(both), high = high_nibbles(both);
                UNROLL(8)
                for (int r = 0; r < num; r++) sum[r] = dot4(sum[r], low, codes + j * 32 + r * 4);
                UNROLL(8)
                for (int r = 0; r < num; r++) sum[r] = dot4(sum[r], high, codes + (j + 4) * 32 + r * 4);
            }
            Floats scale = load_half(tile + 256 + p * LANES * 2), minimum = load_half(tile + 288 + p * LANES * 2);
            UNROLL(8)
            for (int r = 0; r < num; r++) {
                Floats part = multiply(floats_of(total4(sum[r])), scale);
                total[r][p] = fused(part, splat(scales[r]), total[r][p]);
                total[r][p] = fused(minimum, splat(sums[r]), total[r][p]);
            }
        }
        tile += GROUP_BYTES_4, codes += MAX_ROWS * GROUP, scales += MAX_ROWS, sums += MAX_ROWS;
    }
    for (int r = 0; r < num; r++)
        for (int p = 0; p < PARTS; p++) out[r][p] = total[r][p];
}

__attribute__((always_inline)) static inline void product8(
    const Matrix *matrix, const uint8_t *tile, const Rows *rows, int64_t block, const int num, Floats (*out)[PARTS]) {
    const int groups = matrix->num_in / GROUP;
    const int8_t *codes = rows->codes + block * groups * MAX_ROWS * GROUP;
    const float *scales = rows->scales + block * groups * MAX_ROWS;
    const int32_t *bias = rows->bias + block * groups * MAX_ROWS;
    Floats total[MAX_ROWS][PARTS];
    for (int r = 0; r < num; r++)
        for (int p = 0; p < PARTS; p++) total[r][p] = zero();
    for (int group = 0; group < groups; group++) {
        fetch_ahead(tile, GROUP_BYTES_8);
        UNROLL(4)
        for (int p = 0; p < PARTS; p++) {
            Ints sum[MAX_ROWS];
            UNROLL(8)
            for (int r = 0; r < num; r++) sum[r] = start8(bias[r]);
            UNROLL(8)
            for (int j = 0; j < 8; j++) {
                Weights8 weights = load8(tile + j * 64 + p * LANES * 4);
                UNROLL(8)
                for (int r = 0; r < num; r++) sum[r] = dot8(sum[r], weights, codes + j * 32 + r * 4);
            }
            Floats scale = load((const float *)(tile + 512) + p * LANES);
            UNROLL(8)
            for (int r = 0; r < num; r++) {
                Floats part = multiply(floats_of(sum[r]), scale);
                total[r][p] = fused(part, splat(scales[r]), total[r][p]);
            }
        }
        tile += GROUP_BYTES_8, codes += MAX_ROWS * GROUP, scales += MAX_ROWS, bias += MAX_ROWS;
    }
    for (int r = 0; r < num; r++)
        for (int p = 0; p < PARTS; p++) out[r][p] = total[r][p];
}

#define PRODUCT_CASE(n)                                                  \
    case n:                                                              \
        if (matrix->bits == 4) product4(matrix, tile, rows, block, n, out); \
        else product8(matrix, tile, rows, block, n, out);                \
        break;

/* One tile for the first 1 to MAX_ROWS rows of a block, bias added. */
static void product(const Matrix *matrix, int index, const Rows *rows, int64_t block, int num, Floats (*out)[PARTS]) {
    const uint8_t *tile = matrix->tiles + index * matrix->tile_bytes;
    switch (num) {
        PRODUCT_CASE(1) PRODUCT_CASE(2) PRODUCT_CASE(3) PRODUCT_CASE(4)
        PRODUCT_CASE(5) PRODUCT_CASE(6) PRODUCT_CASE(7) PRODUCT_CASE(8)
    }
    if (!matrix->bias) return;
    for (int p = 0; p < PARTS; p++) {
        Floats bias = load(matrix->bias + index * TILE + p * LANES);
        for (int r = 0; r < num; r++) out[r][p] = add(out[r][p], bias);
    }
}
#undef PRODUCT_CASE

/* One output's weights, [num_in]: reads an embedding from the matrix that it shares with the output layer. */
static void read_row(const Matrix *matrix, int64_t row, float *out) {
    const int lane = (int)(row % TILE);
    const uint8_t *codes = matrix->tiles + row / TILE * matrix->tile_bytes;
    for (int at = 0; at < matrix->num_in; at += GROUP) {
        if (matrix->bits == 4) {
            float scales[LANES], minima[LANES];
            store(scales, load_half(codes + 256 + lane / LANES * LANES * 2));
            store(minima, load_half(codes + 288 + lane / LANES * LANES * 2));
            float scale = scales[lane % LANES], minimum = minima[lane % LANES];
            for (int i = 0; i < 16; i++) {
                uint8_t both = codes[i / 4 * 64 + lane * 4 + i % 4];
                out[at + i] = (both & 15) * scale + minimum;
                out[at + 16 + i] = (both >> 4) * scale + minimum;
            }
            codes += GROUP_BYTES_4;
        } else {
            float scale = ((const float *)(codes + 512))[lane];
            for (int i = 0; i < GROUP; i++) out[at + i] = (codes[i / 4 * 64 + lane * 4 + i % 4] - 128) * scale;
            codes += GROUP_BYTES_8;
        }
    }
}
