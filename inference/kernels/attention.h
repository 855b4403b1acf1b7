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

/* Rows of one call; the parts of a block's keys and of the values' dimensions, LANES each, that the registers hold
 * beside so many rows' sums. */
enum {
    BLOCK = 16,
    SCORE_ROWS = 12,
    SCORE_PARTS = NUM_REGISTERS / 16,
    VALUE_ROWS = NUM_REGISTERS == 32 ? 6 : 4,
    VALUE_PARTS = NUM_REGISTERS == 32 ? 4 : 2,
    FEW_ROWS = 6,
    KEY_PARTS = BLOCK / LANES
};

/* Appends one token's key and value to a block. */
static void store_token(bf16 *keys, int slot, int is_last, int head_dim, const float *key, const float *value) {
    uint32_t *key_pairs = (uint32_t *)keys + slot;
    bf16 *halves = keys + BLOCK * head_dim + slot / 2 * head_dim * 2;
    for (int i = 0; i < head_dim; i += LANES) {
        bf16 dims[LANES];
        store_bf16(dims, load(key + i));
        for (int j = 0; j < LANES / 2; j++) memcpy(key_pairs + (i / 2 + j) * BLOCK, dims + 2 * j, sizeof(uint32_t));
        store_bf16(dims, load(value + i));
        for (int j = 0; j < LANES; j++) halves[(i + j) * 2 + slot % 2] = dims[j];
        /* The half without a token is multiplied by zero, which does not help if it is NaN. */
        if (is_last && slot % 2 == 0)
            for (int j = 0; j < LANES; j++) halves[(i + j) * 2 + 1] = 0;
    }
}

typedef struct {
    const bf16 *keys;     /* of this layer and head, in block 0 */
    int64_t stride;       /* numbers from one block to the next */
    const int32_t *table; /* the sequence's blocks */
    int head_dim;
    float softcap;        /* 0: none */
} Context;

static inline const bf16 *keys_of(const Context *context, int64_t part) {
    return context->keys + context->table[part / KEY_PARTS] * context->stride + part % KEY_PARTS * LANES * 2;
}

/* scores[r][key] of `parts` runs of LANES keys from run `part` on; `num` and `parts` are constant where inlined. */
__attribute__((always_inline)) static inline void score_parts(
    const Context *context, const int32_t *queries, int64_t part, int64_t last, const int num, const int parts,
    float *scores, int64_t pitch) {
    const bf16 *keys[SCORE_PARTS];
    for (int p = 0; p < parts; p++) keys[p] = keys_of(context, part + p);
    const bf16 *ahead = keys_of(context, part + KEY_PARTS < last ? part + KEY_PARTS : part);
    const bf16 *values = keys[0] + BLOCK * context->head_dim;
    Floats sum[SCORE_ROWS][SCORE_PARTS];
    UNROLL(12)
    for (int r = 0; r < num; r++)
        UNROLL(2)
        for (int p = 0; p < parts; p++) sum[r][p] = zero();
    for (int i = 0; i < context->head_dim / 2; i++) {
        /* Blocks are scattered in memory: the hardware prefetches neither the next one nor the values. With many
         * rows the arithmetic takes longer than the memory. */
        if (num <= FEW_ROWS) {
            __builtin_prefetch(ahead + i * 32, 0, 3);
            __builtin_prefetch(values + i * 32, 0, 2);
        }
        Pairs key[SCORE_PARTS];
        UNROLL(2)
        for (int p = 0; p < parts; p++) key[p] = load_pairs(keys[p] + i * 2 * BLOCK);
        UNROLL(12)
        for (int r = 0; r < num; r++) {
            Pairs query = splat_pair(queries + i * num + r);
            UNROLL(2)
            for (int p = 0; p < parts; p++) sum[r][p] = dot_pairs(sum[r][p], key[p], query);
        }
    }
    UNROLL(12)
    for (int r = 0; r < num; r++)
        UNROLL(2)
        for (int p = 0; p < parts; p++) store(scores + r * pitch + p * LANES, sum[r][p]);
}

#define SCORE_CASE(n) \
    case n: score_parts(context, queries, part, end, n, 1, scores, pitch); break;

/* scores[r][key] of blocks first to last (excluded). Many rows take several runs at a time, so that a query is loaded
 * once for all. */
static void score(const Context *context, const int32_t *queries, int first, int last, int num, float *scores,
                  int64_t pitch) {
    int64_t part = (int64_t)first * KEY_PARTS, end = (int64_t)last * KEY_PARTS;
    for (; num == SCORE_ROWS && part + SCORE_PARTS <= end; part += SCORE_PARTS, scores += SCORE_PARTS * LANES)
        score_parts(context, queries, part, end, SCORE_ROWS, SCORE_PARTS, scores, pitch);
    for (; part < end; part++, scores += LANES) {
        switch (num) {
            SCORE_CASE(1) SCORE_CASE(2) SCORE_CASE(3) SCORE_CASE(4) SCORE_CASE(5) SCORE_CASE(6)
            SCORE_CASE(7) SCORE_CASE(8) SCORE_CASE(9) SCORE_CASE(10) SCORE_CASE(11) SCORE_CASE(12)
        }
    }
}
#undef SCORE_CASE

/* Makes the scores of keys outside of low to high (excluded) minus infinity; the scores begin with key `first`. */
static void hide(float *scores, int num_keys, int first, int low, int high) {
    for (int key = first; key < low; key++) scores[key - first] = -INFINITY;
    for (int key = high; key < first + num_keys; key++) scores[key - first] = -INFINITY;
}

static void cap(float *scores, int num_keys, float softcap) {
    for (int at = 0; at < num_keys; at += LANES)
        store(scores + at,
              multiply(splat(softcap), hyperbolic_tangent(divide(load(scores + at), splat(softcap)))));
}

/* exp(score - maximum) as bfloat16, in place; returns 1 / their sum. num_keys is a multiple of 16. */
static float softmax(float *scores, int num_keys) {
    Floats top = load(scores), sum = zero();
    for (int at = LANES; at < num_keys; at += LANES) top = greater(top, load(scores + at));
    Floats maximum = splat(greatest_of(top));
    bf16 *weights = (bf16 *)scores; /* each store precedes the loads still to come */
    for (int at = 0; at < num_keys; at += LANES) {
        Floats weight = exponential_coarse(subtract(load(scores + at), maximum));
        sum = add(sum, weight);
        store_bf16(weights + at, weight);
    }
    return 1.0f / sum_of(sum);
}

/* out[r] = weights[r] @ values of the keys up to `high`, LANES * parts dimensions from `dimension` on. */
__attribute__((always_inline)) static inline void mix_rows(
    const Context *context, const bf16 *const *weights, int first, int high, int dimension, const int num,
    const int parts, const float *inverse, float *const *out) {
    Floats sum[VALUE_ROWS][VALUE_PARTS];
    UNROLL(6)
    for (int r = 0; r < num; r++)
        UNROLL(4)
        for (int p = 0; p < parts; p++) sum[r][p] = zero();
    for (int block = first; block * BLOCK < high; block++) {
        const bf16 *values = context->keys + context->table[block] * context->stride +
                             BLOCK * context->head_dim + 2 * dimension;
        int num_pairs = high - block * BLOCK < BLOCK ? (high - block * BLOCK + 1) / 2 : BLOCK / 2;
        for (int i = 0; i < num_pairs; i++) {
            Pairs value[VALUE_PARTS];
            UNROLL(4)
            for (int p = 0; p < parts; p++) value[p] = load_pairs(values + (i * context->head_dim + p * LANES) * 2);
            UNROLL(6)
            for (int r = 0; r < num; r++) {
                Pairs weight = splat_pair(weights[r] + (int64_t)(block - first) * BLOCK + 2 * i);
                UNROLL(4)
                for (int p = 0; p < parts; p++) sum[r][p] = dot_pairs(sum[r][p], value[p], weight);
            }
        }
    }
    UNROLL(6)
    for (int r = 0; r < num; r++)
        UNROLL(4)
        for (int p = 0; p < parts; p++)
            store(out[r] + dimension + p * LANES, multiply(sum[r][p], splat(inverse[r])));
}

#define MIX_CASE(n)                                                                                     \
    case n:                                                                                             \
        if (n > VALUE_ROWS) break;                                                                       \
        if (parts == VALUE_PARTS)                                                                        \
            mix_rows(context, weights, first, high, dimension, n, VALUE_PARTS, inverse, out);            \
        else if (parts == 2) mix_rows(context, weights, first, high, dimension, n, 2, inverse, out);     \
        else mix_rows(context, weights, first, high, dimension, n, 1, inverse, out);                     \
        break;

static void mix(const Context *context, const bf16 *const *weights, int first, int high, int num, const float *inverse,
                float *const *out) {
    for (int dimension = 0, parts; dimension < context->head_dim; dimension += LANES * parts) {
        int left = (context->head_dim - dimension) / LANES;
        parts = left >= VALUE_PARTS ? VALUE_PARTS : left >= 2 ? 2 : 1;
        switch (num) {
            MIX_CASE(1) MIX_CASE(2) MIX_CASE(3) MIX_CASE(4)
            MIX_CASE(5) MIX_CASE(6)
        }
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
