/* Quantised matrix products: weights in tiles of 16 outputs, activations rounded to 8 bits in groups of 32.
 * Prompts use another form of the matrix, see prompt_matrix.h.
 *
 * A tile holds 16 outputs, group after group of 32 inputs: one stream of whole cache lines, read from front to back. The
 * codes are ordered so that one VNNI instruction multiplies 4 inputs of all 16 outputs (u8 weights by s8 activations):
 *
 *     4 bits: [4][16 outputs][4 bytes]   byte b of vector j: input 4j+b (low nibble), input 16+4j+b (high nibble)
 *             [16 x f16] scales, [16 x f16] minima                 weight = code * scale + minimum
 *     8 bits: [8][16 outputs][4 bytes]   byte b of vector j: input 4j+b, plus 128
 *             [16 x f32] scales                                    weight = (code - 128) * scale
 *
 * A row's result never depends on the other rows of its batch: every row takes the same operations in the same
 * order. */
#pragma once
#include <immintrin.h>
#include <math.h>
#include <stdint.h>

enum { GROUP = 32, TILE = 16, MAX_ROWS = 8, GROUP_BYTES_4 = 320, GROUP_BYTES_8 = 576 };

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

typedef struct {
    __m512 low, high;
} Group;

/* Rounds 32 values to codes, scale, sum; returns the rounding error. */
static inline Group quantize_group(__m512 low, __m512 high, Rows *rows, int64_t row, int64_t groups, int64_t group) {
    float top = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(low), _mm512_abs_ps(high)));
    if (_mm512_cmp_ps_mask(low, high, _CMP_UNORD_Q)) top = NAN; /* the maximum may have dropped a NaN */
    __m512 factor = _mm512_set1_ps(top > 0 ? 127.0f / top : 0.0f);
    __m512i a = _mm512_cvtps_epi32(_mm512_mul_ps(low, factor)), b = _mm512_cvtps_epi32(_mm512_mul_ps(high, factor));
    __m128i first = _mm512_cvtsepi32_epi8(a), second = _mm512_cvtsepi32_epi8(b);
    int64_t at = (row / MAX_ROWS * groups + group) * MAX_ROWS;
    int32_t *codes = (int32_t *)(rows->codes + at * GROUP) + row % MAX_ROWS;
    codes[0] = _mm_extract_epi32(first, 0), codes[8] = _mm_extract_epi32(first, 1);
    codes[16] = _mm_extract_epi32(first, 2), codes[24] = _mm_extract_epi32(first, 3);
    codes[32] = _mm_extract_epi32(second, 0), codes[40] = _mm_extract_epi32(second, 1);
    codes[48] = _mm_extract_epi32(second, 2), codes[56] = _mm_extract_epi32(second, 3);
    const __m128i offset = _mm_set1_epi8(-128), zero = _mm_setzero_si128();
    __m128i sums = _mm_add_epi64(_mm_sad_epu8(_mm_xor_si128(first, offset), zero),
                                 _mm_sad_epu8(_mm_xor_si128(second, offset), zero));
    int32_t sum = _mm_extract_epi32(sums, 0) + _mm_extract_epi32(sums, 2) - 128 * GROUP;
    at += row % MAX_ROWS;
    rows->scales[at] = top / 127.0f;
    rows->sums[at] = top / 127.0f * (float)sum;
    rows->bias[at] = -128 * sum;
    __m512 scale = _mm512_set1_ps(top / 127.0f);
    return (Group){_mm512_fnmadd_ps(_mm512_cvtepi32_ps(a), scale, low), _mm512_fnmadd_ps(_mm512_cvtepi32_ps(b), scale, high)};
}

static inline __m512 load_half(const uint8_t *source) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)source));
}

/* sum += 4 products of u8 by s8 in each lane. GCC gives the intrinsic's sum a second register and copies back and
 * forth, through memory where there are many sums. The constraint "+v" forces one register. */
static inline __m512i dot(__m512i sum, __m512i weights, __m512i codes) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(codes));
    return sum;
}

static inline __m512i spread(const int8_t *codes) { return _mm512_set1_epi32(*(const int32_t *)codes); }

/* out[r] = 16 outputs of row r of a block. `num` is a constant wherever this is inlined. */
__attribute__((always_inline)) static inline void product4(
    const Matrix *matrix, const uint8_t *tile, const Rows *rows, int64_t block, const int num, __m512 *out) {
    const int groups = matrix->num_in / GROUP;
    const int8_t *codes = rows->codes + block * groups * MAX_ROWS * GROUP;
    const float *scales = rows->scales + block * groups * MAX_ROWS, *sums = rows->sums + block * groups * MAX_ROWS;
    const __m512i mask = _mm512_set1_epi8(15);
    __m512 total[MAX_ROWS];
    for (int r = 0; r < num; r++) total[r] = _mm512_setzero_ps();
    for (int group = 0; group < groups; group++) {
        __m512i sum[MAX_ROWS];
        for (int r = 0; r < num; r++) sum[r] = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            __m512i both = _mm512_loadu_si512(tile + j * 64);
            __m512i low = _mm512_and_si512(both, mask), high = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
#pragma GCC unroll 8
            for (int r = 0; r < num; r++) sum[r] = dot(sum[r], low, spread(codes + j * 32 + r * 4));
#pragma GCC unroll 8
            for (int r = 0; r < num; r++)
                sum[r] = dot(sum[r], high, spread(codes + (j + 4) * 32 + r * 4));
        }
        __m512 scale = load_half(tile + 256), minimum = load_half(tile + 288);
#pragma GCC unroll 8
        for (int r = 0; r < num; r++) {
            __m512 part = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[r]), scale);
            total[r] = _mm512_fmadd_ps(part, _mm512_set1_ps(scales[r]), total[r]);
            total[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(sums[r]), total[r]);
        }
        tile += GROUP_BYTES_4, codes += MAX_ROWS * GROUP, scales += MAX_ROWS, sums += MAX_ROWS;
    }
    for (int r = 0; r < num; r++) out[r] = total[r];
}

__attribute__((always_inline)) static inline void product8(
    const Matrix *matrix, const uint8_t *tile, const Rows *rows, int64_t block, const int num, __m512 *out) {
    const int groups = matrix->num_in / GROUP;
    const int8_t *codes = rows->codes + block * groups * MAX_ROWS * GROUP;
    const float *scales = rows->scales + block * groups * MAX_ROWS;
    const int32_t *bias = rows->bias + block * groups * MAX_ROWS;
    __m512 total[MAX_ROWS];
    for (int r = 0; r < num; r++) total[r] = _mm512_setzero_ps();
    for (int group = 0; group < groups; group++) {
        __m512i sum[MAX_ROWS];
        for (int r = 0; r < num; r++) sum[r] = _mm512_set1_epi32(bias[r]);
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            __m512i weights = _mm512_loadu_si512(tile + j * 64);
#pragma GCC unroll 8
            for (int r = 0; r < num; r++) sum[r] = dot(sum[r], weights, spread(codes + j * 32 + r * 4));
        }
        __m512 scale = _mm512_loadu_ps(tile + 512);
#pragma GCC unroll 8
        for (int r = 0; r < num; r++) {
            __m512 part = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[r]), scale);
            total[r] = _mm512_fmadd_ps(part, _mm512_set1_ps(scales[r]), total[r]);
        }
        tile += GROUP_BYTES_8, codes += MAX_ROWS * GROUP, scales += MAX_ROWS, bias += MAX_ROWS;
    }
    for (int r = 0; r < num; r++) out[r] = total[r];
}

#define PRODUCT_CASE(n)                                                  \
    case n:                                                              \
        if (matrix->bits == 4) product4(matrix, tile, rows, block, n, out); \
        else product8(matrix, tile, rows, block, n, out);                \
        break;

/* One tile for the first 1 to MAX_ROWS rows of a block, bias added. */
static void product(const Matrix *matrix, int index, const Rows *rows, int64_t block, int num, __m512 *out) {
    const uint8_t *tile = matrix->tiles + index * matrix->tile_bytes;
    switch (num) {
        PRODUCT_CASE(1) PRODUCT_CASE(2) PRODUCT_CASE(3) PRODUCT_CASE(4)
        PRODUCT_CASE(5) PRODUCT_CASE(6) PRODUCT_CASE(7) PRODUCT_CASE(8)
    }
    if (matrix->bias) {
        __m512 bias = _mm512_loadu_ps(matrix->bias + index * TILE);
        for (int r = 0; r < num; r++) out[r] = _mm512_add_ps(out[r], bias);
    }
}
#undef PRODUCT_CASE

/* One output's weights, [num_in]: reads an embedding from the matrix that it shares with the output layer. */
static void read_row(const Matrix *matrix, int64_t row, float *out) {
    const int lane = (int)(row % TILE);
    const uint8_t *codes = matrix->tiles + row / TILE * matrix->tile_bytes;
    for (int at = 0; at < matrix->num_in; at += GROUP) {
        if (matrix->bits == 4) {
            float scale = _cvtsh_ss(((const uint16_t *)(codes + 256))[lane]);
            float minimum = _cvtsh_ss(((const uint16_t *)(codes + 288))[lane]);
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
