/* The form of a matrix for prompts: 8 bits, rotated in spans of up to 192 inputs, a scale for each half.
 *
 * A prompt's products are bound by arithmetic: in groups of 32 there are 3 instructions for scales and minimum to every
 * 8 that multiply. In halves of 192 there are 2 to 24. Coarser rounding suffers from a few large activations. So each
 * span is first multiplied by an orthogonal matrix, made of Hadamard's of 64, which spreads them over the span (as
 * QuaRot does, arXiv 2404.00456). The weights are multiplied likewise when they are packed, and divided by the square of
 * its length, so that the product is the same.
 *
 *     four tiles: [num_in / 4][4 tiles][16 outputs][4 inputs] codes plus 128
 *                 [half spans][4 tiles][16 x f32] scales              weight = (code - 128) * scale
 *
 * Rows are stored in blocks of 6, as the sums of 6 rows by 4 tiles just fit the registers: codes
 * [num_in / 16][6 rows][16], scales and biases [half spans][6 rows] (within room for [num_in / 32][6 rows]). */
#pragma once
#include "matrix.h"

enum {
    MAX_SPAN = 192,
    FOUR = 4,
    WIDTH = FOUR * TILE,
    PROMPT_ROWS = 6,
    SPAN_VECTORS = MAX_SPAN / LANES,
    /* The sums that the registers hold at once: rows and vectors of outputs. */
    SUM_ROWS = NUM_REGISTERS == 32 ? 6 : 3,
    SUM_VECTORS = NUM_REGISTERS == 32 ? 4 : 2,
};

/* 64 values times the Hadamard matrix of Sylvester's order. */
static inline void turn(Floats *v) {
    enum { NUM = 64 / LANES };
    for (int i = 0; i < NUM; i++) {
        UNROLL(4)
        for (int distance = 1; distance < LANES; distance *= 2) v[i] = butterfly(v[i], distance);
    }
    for (int distance = 1; distance < NUM; distance *= 2)
        for (int i = 0; i < NUM; i++)
            if (!(i & distance)) {
                Floats difference = subtract(v[i], v[i + distance]);
                v[i] = add(v[i], v[i + distance]);
                v[i + distance] = difference;
            }
}

/* The start of a row's numbers among the codes, and among scales and biases. */
static inline int64_t first_code(const Matrix *matrix, int64_t start, int64_t row) {
    return (start + row / PROMPT_ROWS * PROMPT_ROWS) * matrix->num_in + row % PROMPT_ROWS * 16;
}

static inline int64_t first_scale(const Matrix *matrix, int64_t start, int64_t row) {
    return (start + row / PROMPT_ROWS * PROMPT_ROWS) * (matrix->num_in / GROUP) + row % PROMPT_ROWS;
}

/* The same for a whole span. Its two or three blocks of 64 are then mixed: by sum and difference, or by the reflection
 * I - 2/3 J, which is orthogonal too. */
static inline void turn_span(Floats *v, int size) {
    enum { NUM = 64 / LANES };
    for (int i = 0; i < size / LANES; i += NUM) turn(v + i);
    for (int i = 0; i < NUM && size == 128; i++) {
        Floats sum = add(v[i], v[i + NUM]);
        v[i + NUM] = subtract(v[i], v[i + NUM]);
        v[i] = sum;
    }
    for (int i = 0; i < NUM && size == 192; i++) {
        Floats sum = add(add(v[i], v[i + NUM]), v[i + 2 * NUM]);
        for (int j = i; j < 3 * NUM; j += NUM) v[j] = fused(sum, splat(-2.0f / 3.0f), v[j]);
    }
}

/* Rounds half a span of one row to codes and scale. */
static void quantize_half(const Floats *values, int size, int8_t *codes, float *scale, int32_t *bias) {
    Floats most = zero();
    uint32_t nan = 0;
    for (int i = 0; i < size / LANES; i++) {
        most = greater(most, absolute(values[i]));
        nan |= lanes_nan(values[i]); /* the maximum may drop one */
    }
    float top = nan ? NAN : greatest_of(most);
    Floats factor = splat(top > 0 ? 127.0f / top : 0.0f);
    Ints sum = ints_of(zero());
    for (int i = 0; i < size; i += LANES) {
        Ints rounded = ints_of(multiply(values[i / LANES], factor));
        sum = add_ints(sum, rounded);
        store_bytes(codes + i / 16 * 16 * PROMPT_ROWS + i % 16, rounded);
    }
    *scale = top / 127.0f;
    *bias = nan ? 0 : -128 * sum_of_ints(sum);
}

/* Rounds a span of one row. values: [span / LANES], rotated in place. `start`: rows before the prompts'. */
static void quantize_span(Floats *values, const Matrix *matrix, Rows *rows, int64_t start, int64_t row, int64_t index) {
    const int half = matrix->span / 2;
    turn_span(values, matrix->span);
    int8_t *codes = rows->codes + first_code(matrix, start, row) + index * matrix->span * PROMPT_ROWS;
    int64_t at = first_scale(matrix, start, row) + 2 * index * PROMPT_ROWS;
    for (int i = 0; i < 2; i++, at += PROMPT_ROWS)
        quantize_half(values + i * half / LANES, half, codes + i * half * PROMPT_ROWS, rows->scales + at, rows->bias + at);
}

/* out [6 rows of `pitch`][4 tiles][16] = or += four tiles by the block of rows from `row` on, all 6 of them. */
static void product_prompt(const Matrix *matrix, int64_t four, const Rows *rows, int64_t start, int64_t row, float *out,
                           int64_t pitch, int adds) {
    enum { NUM = SUM_ROWS * SUM_VECTORS };
    const int half = matrix->span / 2, halves = matrix->num_in / half;
    const uint8_t *tile = matrix->prompt_tiles + four * WIDTH * (matrix->num_in + halves * 4);
    const float *weight_scales = (const float *)(tile + WIDTH * matrix->num_in);
    const int8_t *codes = rows->codes + first_code(matrix, start, row);
    const float *scales = rows->scales + first_scale(matrix, start, row);
    const int32_t *bias = rows->bias + first_scale(matrix, start, row);
    for (int index = 0; index < halves; index++) {
        for (int first = 0; first < PROMPT_ROWS; first += SUM_ROWS)
            for (int column = 0; column < WIDTH; column += SUM_VECTORS * LANES) {
                Ints sum[NUM];
                UNROLL(24)
                for (int k = 0; k < NUM; k++) sum[k] = start8(bias[first + k / SUM_VECTORS]);
                for (int i = 0; i < half; i += 16)
                    UNROLL(4)
                    for (int j = 0; j < 4; j++) {
                        Weights8 weights[SUM_VECTORS];
                        UNROLL(4)
                        for (int t = 0; t < SUM_VECTORS; t++)
                            weights[t] = load8(tile + (i + 4 * j) * WIDTH + (column + t * LANES) * 4);
                        UNROLL(24)
                        for (int k = 0; k < NUM; k++)
                            sum[k] = dot8(sum[k], weights[k % SUM_VECTORS],
                                          codes + i * PROMPT_ROWS + (first + k / SUM_VECTORS) * 16 + j * 4);
                    }
                UNROLL(24)
                for (int k = 0; k < NUM; k++) {
                    int at = column + k % SUM_VECTORS * LANES;
                    Floats part = multiply(floats_of(sum[k]), load(weight_scales + at));
                    float *target = out + (first + k / SUM_VECTORS) * pitch + at;
                    Floats before = index || adds ? load(target) : zero();
                    store(target, fused(part, splat(scales[first + k / SUM_VECTORS]), before));
                }
            }
        tile += half * WIDTH, codes += half * PROMPT_ROWS;
        scales += PROMPT_ROWS, bias += PROMPT_ROWS, weight_scales += WIDTH;
    }
}
