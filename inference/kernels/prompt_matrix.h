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
#include <string.h>

enum { MAX_SPAN = 192, FOUR = 4, WIDTH = FOUR * TILE, PROMPT_ROWS = 6 };

/* lane i: other[i] + x[i], or other[i] - x[i] where the bit is set. */
static inline __m512 butterfly(__m512 x, __m512 other, __mmask16 set) {
    const __m512 one = _mm512_set1_ps(1.0f);
    return _mm512_fmadd_ps(x, _mm512_mask_blend_ps(set, one, _mm512_set1_ps(-1.0f)), other);
}

/* 64 values times the Hadamard matrix of Sylvester's order. */
static inline void turn(__m512 *v) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512 x = v[i];
        x = butterfly(x, _mm512_permute_ps(x, 0xB1), 0xAAAA);
        x = butterfly(x, _mm512_permute_ps(x, 0x4E), 0xCCCC);
        x = butterfly(x, _mm512_shuffle_f32x4(x, x, 0xB1), 0xF0F0);
        v[i] = butterfly(x, _mm512_shuffle_f32x4(x, x, 0x4E), 0xFF00);
    }
    __m512 a = _mm512_add_ps(v[0], v[1]), b = _mm512_sub_ps(v[0], v[1]);
    __m512 c = _mm512_add_ps(v[2], v[3]), d = _mm512_sub_ps(v[2], v[3]);
    v[0] = _mm512_add_ps(a, c), v[1] = _mm512_add_ps(b, d), v[2] = _mm512_sub_ps(a, c), v[3] = _mm512_sub_ps(b, d);
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
static inline void turn_span(__m512 *v, int num) {
    for (int i = 0; i < num; i += 4) turn(v + i);
    for (int i = 0; i < 4 && num == 8; i++) {
        __m512 sum = _mm512_add_ps(v[i], v[i + 4]);
        v[i + 4] = _mm512_sub_ps(v[i], v[i + 4]);
        v[i] = sum;
    }
    for (int i = 0; i < 4 && num == 12; i++) {
        __m512 sum = _mm512_add_ps(_mm512_add_ps(v[i], v[i + 4]), v[i + 8]);
        for (int j = i; j < 12; j += 4) v[j] = _mm512_fmadd_ps(sum, _mm512_set1_ps(-2.0f / 3.0f), v[j]);
    }
}

/* Rounds half a span of one row to codes and scale. */
static void quantize_half(const __m512 *values, int num, int8_t *codes, float *scale, int32_t *bias) {
    __m512i most = _mm512_setzero_si512(); /* compared as integers, where NaN is the greatest */
    for (int i = 0; i < num; i++) most = _mm512_max_epu32(most, _mm512_castps_si512(_mm512_abs_ps(values[i])));
    uint32_t bits = _mm512_reduce_max_epu32(most);
    float top;
    memcpy(&top, &bits, sizeof top);
    __m512 factor = _mm512_set1_ps(top > 0 ? 127.0f / top : 0.0f);
    __m512i sum = _mm512_setzero_si512();
    for (int i = 0; i < num; i++) {
        __m512i rounded = _mm512_cvtps_epi32(_mm512_mul_ps(values[i], factor));
        sum = _mm512_add_epi32(sum, rounded);
        _mm_storeu_si128((__m128i *)(codes + i * 16 * PROMPT_ROWS), _mm512_cvtsepi32_epi8(rounded));
    }
    *scale = top / 127.0f;
    *bias = -128 * _mm512_reduce_add_epi32(sum);
}

/* Rounds a span of one row. values: [span / 16], rotated in place. `start`: rows before the prompts'. */
static void quantize_span(__m512 *values, const Matrix *matrix, Rows *rows, int64_t start, int64_t row, int64_t index) {
    const int num = matrix->span / 16;
    turn_span(values, num);
    int8_t *codes = rows->codes + first_code(matrix, start, row) + index * matrix->span * PROMPT_ROWS;
    int64_t at = first_scale(matrix, start, row) + 2 * index * PROMPT_ROWS;
    for (int half = 0; half < 2; half++, at += PROMPT_ROWS)
        quantize_half(values + half * num / 2, num / 2, codes + half * num / 2 * 16 * PROMPT_ROWS, rows->scales + at,
                      rows->bias + at);
}

/* out [6 rows of `pitch`][4 tiles][16] = or += four tiles by the block of rows from `row` on, all 6 of them. */
static void product_prompt(const Matrix *matrix, int64_t four, const Rows *rows, int64_t start, int64_t row, float *out,
                           int64_t pitch, int adds) {
    enum { NUM = PROMPT_ROWS * FOUR };
    const int half = matrix->span / 2, halves = matrix->num_in / half;
    const uint8_t *tile = matrix->prompt_tiles + four * WIDTH * (matrix->num_in + halves * 4);
    const float *weight_scales = (const float *)(tile + WIDTH * matrix->num_in);
    const int8_t *codes = rows->codes + first_code(matrix, start, row);
    const float *scales = rows->scales + first_scale(matrix, start, row);
    const int32_t *bias = rows->bias + first_scale(matrix, start, row);
    for (int index = 0; index < halves; index++) {
        __m512i sum[NUM];
#pragma GCC unroll 24
        for (int i = 0; i < NUM; i++) sum[i] = _mm512_set1_epi32(bias[i / FOUR]);
        for (int i = 0; i < half; i += 16, codes += 16 * PROMPT_ROWS)
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++, tile += 4 * WIDTH) {
                __m512i weights[FOUR];
#pragma GCC unroll 4
                for (int t = 0; t < FOUR; t++) weights[t] = _mm512_loadu_si512(tile + t * 64);
#pragma GCC unroll 24
                for (int k = 0; k < NUM; k++)
                    sum[k] = dot(sum[k], weights[k % FOUR], spread(codes + k / FOUR * 16 + j * 4));
            }
#pragma GCC unroll 24
        for (int i = 0; i < NUM; i++) {
            __m512 part = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[i]), _mm512_loadu_ps(weight_scales + i % FOUR * TILE));
            float *target = out + i / FOUR * pitch + i % FOUR * TILE;
            __m512 before = index || adds ? _mm512_loadu_ps(target) : _mm512_setzero_ps();
            _mm512_storeu_ps(target, _mm512_fmadd_ps(part, _mm512_set1_ps(scales[i / FOUR]), before));
        }
        scales += PROMPT_ROWS, bias += PROMPT_ROWS, weight_scales += WIDTH;
    }
}
