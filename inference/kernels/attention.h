/* Attention over keys and values in blocks of 16 tokens. Knows nothing of layers.
 *
 * One block of one layer and key/value head, bfloat16, keys first, then values:
 *
 *     keys    [head_dim / 2][16 tokens][2]     one instruction multiplies 2 dimensions of 16 keys
 *     values  [8 token pairs][head_dim][2]     one instruction adds 2 tokens' values to 16 dimensions
 *
 * The query heads of one key/value head (arXiv 2305.13245) and a few neighbouring positions are the rows that share each
 * load. A row takes the same operations in the same order, whatever the other rows are. */
#pragma once
#include "vector_math.h"
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 16, SCORE_ROWS = 12, VALUE_ROWS = 6, FEW_ROWS = 6 };

typedef uint16_t bf16;

static inline __m512bh pairs(const bf16 *source) { return (__m512bh)_mm512_loadu_si512(source); }
static inline __m512bh pair(const void *source) { return (__m512bh)_mm512_set1_epi32(*(const int32_t *)source); }

/* sum += 2 products in each lane; matrix.h gives the reason for the assembly. */
static inline __m512 dot_pairs(__m512 sum, __m512bh a, __m512bh b) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}

static inline void store16(bf16 *target, __m512 values) {
    _mm256_storeu_si256((__m256i *)target, (__m256i)_mm512_cvtneps_pbh(values));
}

/* Appends one token's key and value to a block. */
static void store_token(bf16 *keys, int slot, int is_last, int head_dim, const float *key, const float *value) {
    uint32_t *key_pairs = (uint32_t *)keys + slot;
    bf16 *halves = keys + BLOCK * head_dim + slot / 2 * head_dim * 2;
    for (int i = 0; i < head_dim; i += 16) {
        bf16 dims[16];
        store16(dims, _mm512_loadu_ps(key + i));
        for (int j = 0; j < 8; j++) memcpy(key_pairs + (i / 2 + j) * BLOCK, dims + 2 * j, sizeof(uint32_t));
        store16(dims, _mm512_loadu_ps(value + i));
        for (int j = 0; j < 16; j++) halves[(i + j) * 2 + slot % 2] = dims[j];
        /* The half without a token is multiplied by zero, which does not help if it is NaN. */
        if (is_last && slot % 2 == 0)
            for (int j = 0; j < 16; j++) halves[(i + j) * 2 + 1] = 0;
    }
}

typedef struct {
    const bf16 *keys;     /* of this layer and head, in block 0 */
    int64_t stride;       /* numbers from one block to the next */
    const int32_t *table; /* the sequence's blocks */
    int head_dim;
    float softcap;        /* 0: none */
} Context;

/* scores[r][key] of blocks first to last (excluded); `num` is constant where inlined. */
__attribute__((always_inline)) static inline void score_rows(
    const Context *context, const int32_t *queries, int first, int last, const int num, float *scores,
    int64_t pitch) {
    for (int block = first; block < last; block++) {
        const bf16 *keys = context->keys + context->table[block] * context->stride;
        const bf16 *values = keys + BLOCK * context->head_dim;
        const bf16 *ahead = context->keys + context->table[block + 1 < last ? block + 1 : block] * context->stride;
        __m512 sum[SCORE_ROWS];
        for (int r = 0; r < num; r++) sum[r] = _mm512_setzero_ps();
        for (int i = 0; i < context->head_dim / 2; i++) {
            /* Blocks are scattered in memory: the hardware prefetches neither the next one nor the values. With many
             * rows the arithmetic takes longer than the memory. */
            if (num <= FEW_ROWS) {
                _mm_prefetch((const char *)(ahead + i * 32), _MM_HINT_T0);
                _mm_prefetch((const char *)(values + i * 32), _MM_HINT_T1);
            }
            __m512bh key = pairs(keys + i * 32);
#pragma GCC unroll 12
            for (int r = 0; r < num; r++) sum[r] = dot_pairs(sum[r], key, pair(queries + i * num + r));
        }
        for (int r = 0; r < num; r++) _mm512_storeu_ps(scores + r * pitch + (int64_t)(block - first) * BLOCK, sum[r]);
    }
}

/* Many rows: two blocks at a time, so that a query is loaded once for both. */
__attribute__((always_inline)) static inline void score_two(
    const Context *context, const int32_t *queries, int block, const int num, float *scores, int64_t pitch) {
    const bf16 *one = context->keys + context->table[block] * context->stride;
    const bf16 *two = context->keys + context->table[block + 1] * context->stride;
    __m512 sum[2 * SCORE_ROWS];
#pragma GCC unroll 24
    for (int i = 0; i < 2 * num; i++) sum[i] = _mm512_setzero_ps();
    for (int i = 0; i < context->head_dim / 2; i++) {
        __m512bh first = pairs(one + i * 32), second = pairs(two + i * 32);
#pragma GCC unroll 12
        for (int r = 0; r < num; r++) {
            __m512bh query = pair(queries + i * num + r);
            sum[2 * r] = dot_pairs(sum[2 * r], first, query);
            sum[2 * r + 1] = dot_pairs(sum[2 * r + 1], second, query);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < num; r++) {
        _mm512_storeu_ps(scores + r * pitch, sum[2 * r]);
        _mm512_storeu_ps(scores + r * pitch + BLOCK, sum[2 * r + 1]);
    }
}

#define SCORE_CASE(n) \
    case n: score_rows(context, queries, first, last, n, scores, pitch); break;

static void score(const Context *context, const int32_t *queries, int first, int last, int num, float *scores,
                  int64_t pitch) {
    for (; num == SCORE_ROWS && first + 1 < last; first += 2, scores += 2 * BLOCK)
        score_two(context, queries, first, SCORE_ROWS, scores, pitch);
    switch (num) {
        SCORE_CASE(1) SCORE_CASE(2) SCORE_CASE(3) SCORE_CASE(4) SCORE_CASE(5) SCORE_CASE(6)
        SCORE_CASE(7) SCORE_CASE(8) SCORE_CASE(9) SCORE_CASE(10) SCORE_CASE(11) SCORE_CASE(12)
    }
}
#undef SCORE_CASE

/* Makes the scores of keys outside of low to high (excluded) minus infinity; the scores begin with key `first`. */
static void hide(float *scores, int num_keys, int first, int low, int high) {
    for (int key = first; key < low; key++) scores[key - first] = -INFINITY;
    for (int key = high; key < first + num_keys; key++) scores[key - first] = -INFINITY;
}

static void cap(float *scores, int num_keys, float softcap) {
    for (int at = 0; at < num_keys; at += 16) {
        __m512 score = _mm512_div_ps(_mm512_loadu_ps(scores + at), _mm512_set1_ps(softcap));
        _mm512_storeu_ps(scores + at, _mm512_mul_ps(_mm512_set1_ps(softcap), tanh16(score)));
    }
}

/* exp(score - maximum) as bfloat16, in place; returns 1 / their sum. num_keys is a multiple of 16. */
static float softmax(float *scores, int num_keys) {
    __m512 top = _mm512_loadu_ps(scores), sum = _mm512_setzero_ps();
    for (int at = 16; at < num_keys; at += 16) top = _mm512_max_ps(top, _mm512_loadu_ps(scores + at));
    __m512 maximum = _mm512_set1_ps(_mm512_reduce_max_ps(top));
    bf16 *weights = (bf16 *)scores; /* each store precedes the loads still to come */
    for (int at = 0; at < num_keys; at += 16) {
        __m512 weight = exp16_coarse(_mm512_sub_ps(_mm512_loadu_ps(scores + at), maximum));
        sum = _mm512_add_ps(sum, weight);
        _mm256_storeu_si256((__m256i *)(weights + at), (__m256i)_mm512_cvtneps_pbh(weight));
    }
    return 1.0f / _mm512_reduce_add_ps(sum);
}

/* out[r] = weights[r] @ values of the keys up to `high`, 16 * lanes dimensions from `dimension` on. */
__attribute__((always_inline)) static inline void mix_rows(
    const Context *context, const bf16 *const *weights, int first, int high, int dimension, const int num,
    const int lanes, const float *inverse, float *const *out) {
    __m512 sum[VALUE_ROWS][4];
    for (int r = 0; r < num; r++)
        for (int z = 0; z < lanes; z++) sum[r][z] = _mm512_setzero_ps();
    for (int block = first; block * BLOCK < high; block++) {
        const bf16 *values = context->keys + context->table[block] * context->stride +
                             BLOCK * context->head_dim + 2 * dimension;
        int num_pairs = high - block * BLOCK < BLOCK ? (high - block * BLOCK + 1) / 2 : BLOCK / 2;
        for (int i = 0; i < num_pairs; i++) {
            __m512bh value[4];
            for (int z = 0; z < lanes; z++) value[z] = pairs(values + (i * context->head_dim + z * 16) * 2);
#pragma GCC unroll 6
            for (int r = 0; r < num; r++) {
                __m512bh weight = pair(weights[r] + (int64_t)(block - first) * BLOCK + 2 * i);
#pragma GCC unroll 4
                for (int z = 0; z < lanes; z++) sum[r][z] = dot_pairs(sum[r][z], value[z], weight);
            }
        }
    }
    for (int r = 0; r < num; r++)
        for (int z = 0; z < lanes; z++)
            _mm512_storeu_ps(out[r] + dimension + z * 16, _mm512_mul_ps(sum[r][z], _mm512_set1_ps(inverse[r])));
}

#define MIX_CASE(n)                                                                                 \
    case n:                                                                                         \
        if (lanes == 4) mix_rows(context, weights, first, high, dimension, n, 4, inverse, out);      \
        else if (lanes == 2) mix_rows(context, weights, first, high, dimension, n, 2, inverse, out); \
        else mix_rows(context, weights, first, high, dimension, n, 1, inverse, out);                 \
        break;

static void mix(const Context *context, const bf16 *const *weights, int first, int high, int num, const float *inverse,
                float *const *out) {
    for (int dimension = 0, lanes; dimension < context->head_dim; dimension += 16 * lanes) {
        int left = (context->head_dim - dimension) / 16;
        lanes = left >= 4 ? 4 : left >= 2 ? 2 : 1;
        switch (num) { MIX_CASE(1) MIX_CASE(2) MIX_CASE(3) MIX_CASE(4) MIX_CASE(5) MIX_CASE(6) }
    }
}
#undef MIX_CASE

/* One row of attention: a query at one position. */
typedef struct {
    const bf16 *query; /* [head_dim], scaled */
    float *out;        /* [head_dim] */
    int low, high;     /* the keys that it may attend to */
} Row;

/* Up to SCORE_ROWS rows; scores: scratch of num rows of `pitch` floats, pitch a multiple of 16. */
static void attend(const Context *context, const Row *rows, int num, float *scores, int64_t pitch) {
    int32_t queries[context->head_dim / 2 * num]; /* [pairs of dimensions][rows]: side by side, as the loads need them */
    const bf16 *weights[SCORE_ROWS];
    float *outs[SCORE_ROWS], inverse[SCORE_ROWS];
    int low = rows[0].low, high = rows[0].high;
    for (int r = 0; r < num; r++) {
        for (int i = 0; i < context->head_dim / 2; i++) queries[i * num + r] = ((const int32_t *)rows[r].query)[i];
        outs[r] = rows[r].out;
        weights[r] = (const bf16 *)(scores + r * pitch);
        low = rows[r].low < low ? rows[r].low : low;
        high = rows[r].high > high ? rows[r].high : high;
    }
    int first = low / BLOCK, last = (high + BLOCK - 1) / BLOCK;
    score(context, queries, first, last, num, scores, pitch);
    int num_keys = (last - first) * BLOCK;
    for (int r = 0; r < num; r++) {
        if (context->softcap > 0) cap(scores + r * pitch, num_keys, context->softcap);
        hide(scores + r * pitch, num_keys, first * BLOCK, rows[r].low, rows[r].high);
        inverse[r] = softmax(scores + r * pitch, num_keys);
    }
    for (int r = 0; r < num; r += VALUE_ROWS) {
        int count = num - r < VALUE_ROWS ? num - r : VALUE_ROWS;
        mix(context, weights + r, first, high, count, inverse + r, outs + r);
    }
}
