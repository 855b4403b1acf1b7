/* Primitives of vector.h in plain C: the reference that the others are checked against. */
#pragma once

enum { LANES = 4, NUM_REGISTERS = 16, HAS_PROMPT_FORM = 1 };

typedef struct {
    float at[LANES];
} Floats;
typedef union {
    int32_t at[LANES];
    int8_t bytes[LANES * 4];
} Ints;

#define EACH(i) for (int i = 0; i < LANES; i++)
#define FLOATS(expression) \
    Floats out;            \
    EACH(i) out.at[i] = (expression); \
    return out

static inline Floats splat(float x) { FLOATS(x); }
static inline Floats zero(void) { return splat(0); }
static inline Floats load(const float *source) { FLOATS(source[i]); }
static inline void store(float *target, Floats x) { EACH(i) target[i] = x.at[i]; }
static inline Floats load_first(const float *source, int64_t num, float rest) { FLOATS(i < num ? source[i] : rest); }
static inline void store_first(float *target, Floats x, int64_t num) {
    for (int i = 0; i < num; i++) target[i] = x.at[i];
}

static inline float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
/* IEEE 754 binary16. */
static inline float float_of_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 0) return (sign ? -1.0f : 1.0f) * (float)fraction * 0x1p-24f;
    return float_of_bits(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13);
}
static inline Floats load_half(const void *source) { FLOATS(float_of_half(((const uint16_t *)source)[i])); }

static inline Floats add(Floats a, Floats b) { FLOATS(a.at[i] + b.at[i]); }
static inline Floats subtract(Floats a, Floats b) { FLOATS(a.at[i] - b.at[i]); }
static inline Floats multiply(Floats a, Floats b) { FLOATS(a.at[i] * b.at[i]); }
static inline Floats divide(Floats a, Floats b) { FLOATS(a.at[i] / b.at[i]); }
static inline Floats fused(Floats a, Floats b, Floats c) { FLOATS(a.at[i] * b.at[i] + c.at[i]); }
static inline Floats fused_negated(Floats a, Floats b, Floats c) { FLOATS(c.at[i] - a.at[i] * b.at[i]); }
static inline Floats greater(Floats a, Floats b) { FLOATS(a.at[i] > b.at[i] ? a.at[i] : b.at[i]); }
static inline Floats lesser(Floats a, Floats b) { FLOATS(a.at[i] < b.at[i] ? a.at[i] : b.at[i]); }
static inline Floats absolute(Floats x) { FLOATS(fabsf(x.at[i])); }
static inline Floats rounded(Floats x) { FLOATS(rintf(x.at[i])); }
static inline Floats times_power(Floats x, Floats n) {
    FLOATS(ldexpf(x.at[i], n.at[i] > 300 ? 300 : n.at[i] < -300 ? -300 : (int)n.at[i]));
}
static inline Floats zero_below(Floats x, Floats y, float bound) { FLOATS(y.at[i] < bound ? 0 : x.at[i]); }
static inline Floats reciprocal(Floats x) { FLOATS(1.0f / x.at[i]); }
static inline float sum_of(Floats x) {
    float sum = 0;
    EACH(i) sum += x.at[i];
    return sum;
}
static inline float greatest_of(Floats x) {
    float top = x.at[0];
    EACH(i) top = x.at[i] > top ? x.at[i] : top;
    return top;
}

#define LANES_WHERE(condition) \
    uint32_t lanes = 0;        \
    EACH(i) lanes |= (uint32_t)(condition) << i; \
    return lanes

static inline uint32_t lanes_above(Floats a, Floats b) { LANES_WHERE(a.at[i] > b.at[i]); }
static inline uint32_t lanes_from(Floats a, Floats b) { LANES_WHERE(a.at[i] >= b.at[i]); }
static inline uint32_t lanes_nan(Floats x) { LANES_WHERE(x.at[i] != x.at[i]); }

static inline Floats butterfly(Floats x, const int distance) {
    FLOATS(x.at[i ^ distance] + (i & distance ? -x.at[i] : x.at[i]));
}

static inline Ints ints_of(Floats x) {
    Ints out;
    EACH(i) out.at[i] = fabsf(x.at[i]) < 0x1p30f ? (int32_t)rintf(x.at[i]) : 0;
    return out;
}
static inline Floats floats_of(Ints x) { FLOATS((float)x.at[i]); }
static inline Ints splat_int(int32_t x) {
    Ints out;
    EACH(i) out.at[i] = x;
    return out;
}
static inline Ints add_ints(Ints a, Ints b) {
    EACH(i) a.at[i] += b.at[i];
    return a;
}
static inline int32_t sum_of_ints(Ints x) {
    int32_t sum = 0;
    EACH(i) sum += x.at[i];
    return sum;
}
static inline void store_bytes(int8_t *target, Ints x) {
    EACH(i) target[i] = (int8_t)(x.at[i] > 127 ? 127 : x.at[i] < -128 ? -128 : x.at[i]);
}

static inline Ints load_bytes(const uint8_t *source) {
    Ints out;
    memcpy(&out, source, sizeof out);
    return out;
}
static inline Ints low_nibbles(Ints x) {
    for (int i = 0; i < 4 * LANES; i++) x.bytes[i] &= 15;
    return x;
}
static inline Ints high_nibbles(Ints x) {
    for (int i = 0; i < 4 * LANES; i++) x.bytes[i] = (int8_t)((uint8_t)x.bytes[i] >> 4);
    return x;
}
static inline Ints dot(Ints sum, Ints weights, const int8_t *codes) {
    EACH(i)
        for (int k = 0; k < 4; k++) sum.at[i] += (uint8_t)weights.bytes[4 * i + k] * codes[k];
    return sum;
}

typedef Ints Sum4;
static inline Sum4 start4(void) { return splat_int(0); }
static inline Sum4 dot4(Sum4 sum, Ints weights, const int8_t *codes) { return dot(sum, weights, codes); }
static inline Ints total4(Sum4 sum) { return sum; }

typedef Ints Weights8;
static inline Weights8 load8(const uint8_t *source) { return load_bytes(source); }
static inline Ints start8(int32_t bias) { return splat_int(bias); }
static inline Ints dot8(Ints sum, Weights8 weights, const int8_t *codes) { return dot(sum, weights, codes); }

typedef struct {
    Floats even, odd;
} Pairs;
static inline Pairs load_pairs(const bf16 *source) {
    Pairs out;
    EACH(i) out.even.at[i] = float_of_bits((uint32_t)source[2 * i] << 16);
    EACH(i) out.odd.at[i] = float_of_bits((uint32_t)source[2 * i + 1] << 16);
    return out;
}
static inline Pairs splat_pair(const void *source) {
    const bf16 *pair = source;
    return (Pairs){splat(float_of_bits((uint32_t)pair[0] << 16)), splat(float_of_bits((uint32_t)pair[1] << 16))};
}
static inline Floats dot_pairs(Floats sum, Pairs a, Pairs b) { return fused(a.odd, b.odd, fused(a.even, b.even, sum)); }
static inline void store_bf16(bf16 *target, Floats x) { /* to nearest, ties to even; a NaN keeps a set bit */
    EACH(i) {
        uint32_t bits = bits_of(x.at[i]);
        target[i] = (bf16)(x.at[i] != x.at[i] ? bits >> 16 | 64 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    }
}
#undef EACH
#undef FLOATS
#undef LANES_WHERE
