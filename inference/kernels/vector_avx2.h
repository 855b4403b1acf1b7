/* Primitives of vector.h for AVX2 with FMA and F16C; with AVX-VNNI's dot product where the compiler is told of it. */
#pragma once
#include <immintrin.h>

enum { LANES = 8, NUM_REGISTERS = 16, HAS_PROMPT_FORM = 0 };

typedef __m256 Floats;
typedef __m256i Ints;

static inline Floats zero(void) { return _mm256_setzero_ps(); }
static inline Floats splat(float x) { return _mm256_set1_ps(x); }
static inline Floats load(const float *source) { return _mm256_loadu_ps(source); }
static inline void store(float *target, Floats x) { _mm256_storeu_ps(target, x); }
static inline Floats load_half(const void *source) { return _mm256_cvtph_ps(_mm_loadu_si128(source)); }

static inline Ints first_lanes(int64_t num) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)num), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline Floats load_first(const float *source, int64_t num, float rest) {
    Ints lanes = first_lanes(num);
    return _mm256_blendv_ps(_mm256_set1_ps(rest), _mm256_maskload_ps(source, lanes), _mm256_castsi256_ps(lanes));
}
static inline void store_first(float *target, Floats x, int64_t num) { _mm256_maskstore_ps(target, first_lanes(num), x); }

static inline Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
static inline Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
static inline Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
static inline Floats divide(Floats a, Floats b) { return _mm256_div_ps(a, b); }
static inline Floats fused(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
static inline Floats fused_negated(Floats a, Floats b, Floats c) { return _mm256_fnmadd_ps(a, b, c); }
static inline Floats greater(Floats a, Floats b) { return _mm256_max_ps(a, b); }
static inline Floats lesser(Floats a, Floats b) { return _mm256_min_ps(a, b); }
static inline Floats absolute(Floats x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
static inline Floats rounded(Floats x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline Floats times_power(Floats x, Floats n) { /* in two steps: one power may be out of range */
    Ints whole = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(250.0f), _mm256_max_ps(_mm256_set1_ps(-250.0f), n)));
    Ints half = _mm256_srai_epi32(whole, 1), offset = _mm256_set1_epi32(127);
    Ints one = _mm256_slli_epi32(_mm256_add_epi32(half, offset), 23);
    Ints two = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), offset), 23);
    return _mm256_mul_ps(_mm256_mul_ps(x, _mm256_castsi256_ps(one)), _mm256_castsi256_ps(two));
}
static inline Floats zero_below(Floats x, Floats y, float bound) {
    return _mm256_and_ps(_mm256_cmp_ps(y, _mm256_set1_ps(bound), _CMP_NLT_UQ), x);
}
static inline Floats reciprocal(Floats x) { return _mm256_div_ps(_mm256_set1_ps(1.0f), x); }
static inline float sum_of(Floats x) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
static inline float greatest_of(Floats x) {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

static inline uint32_t lanes_above(Floats a, Floats b) {
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ));
}
static inline uint32_t lanes_from(Floats a, Floats b) {
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ));
}
static inline uint32_t lanes_nan(Floats x) { return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)); }

static inline Floats butterfly(Floats x, const int distance) {
    const float minus = -1.0f;
    switch (distance) {
        case 1: return _mm256_fmadd_ps(x, _mm256_setr_ps(1, minus, 1, minus, 1, minus, 1, minus), _mm256_permute_ps(x, 0xB1));
        case 2: return _mm256_fmadd_ps(x, _mm256_setr_ps(1, 1, minus, minus, 1, 1, minus, minus), _mm256_permute_ps(x, 0x4E));
        default:
            return _mm256_fmadd_ps(x, _mm256_setr_ps(1, 1, 1, 1, minus, minus, minus, minus),
                                   _mm256_permute2f128_ps(x, x, 1));
    }
}

static inline Ints ints_of(Floats x) { return _mm256_cvtps_epi32(x); }
static inline Floats floats_of(Ints x) { return _mm256_cvtepi32_ps(x); }
static inline Ints add_ints(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
static inline int32_t sum_of_ints(Ints x) {
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
}
static inline void store_bytes(int8_t *target, Ints x) {
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64((__m128i *)target, _mm_packs_epi16(words, words));
}

static inline Ints load_bytes(const uint8_t *source) { return _mm256_loadu_si256((const __m256i *)source); }
static inline Ints low_nibbles(Ints x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
static inline Ints high_nibbles(Ints x) { return low_nibbles(_mm256_srli_epi16(x, 4)); }

/* The dot products are in assembly: a compiler that may move their steps apart runs out of registers, and the sums go
 * through memory. */
#ifdef __AVXVNNI__

typedef Ints Weights8;
static inline Weights8 load8(const uint8_t *source) { return load_bytes(source); }
static inline Ints start8(int32_t bias) { return _mm256_set1_epi32(bias); }
#ifndef VPDPBUSD
#define VPDPBUSD "%{vex%} vpdpbusd" /* AVX-512 has the same instruction in another encoding */
#endif
static inline Ints dot8(Ints sum, Weights8 weights, const int8_t *codes) {
    Ints four;
    __asm__("vpbroadcastd %3, %1\n\t" VPDPBUSD " %1, %2, %0"
            : "+x"(sum), "=&x"(four)
            : "x"(weights), "m"(*(const int32_t *)codes));
    return sum;
}

typedef Ints Sum4;
static inline Sum4 start4(void) { return _mm256_setzero_si256(); }
static inline Sum4 dot4(Sum4 sum, Ints weights, const int8_t *codes) { return dot8(sum, weights, codes); }
static inline Ints total4(Sum4 sum) { return sum; }

#else

/* 16 sums of 16 bits: 8 products of 4 by 8 bits, two at a time, are at most 30,480. */
typedef Ints Sum4;
static inline Sum4 start4(void) { return _mm256_setzero_si256(); }
static inline Sum4 dot4(Sum4 sum, Ints weights, const int8_t *codes) {
    Ints pairs;
    __asm__("vpbroadcastd %3, %1\n\tvpmaddubsw %1, %2, %1\n\tvpaddw %1, %0, %0"
            : "+x"(sum), "=&x"(pairs)
            : "x"(weights), "m"(*(const int32_t *)codes));
    return sum;
}
static inline Ints total4(Sum4 sum) { return _mm256_madd_epi16(sum, _mm256_set1_epi16(1)); }

/* The instruction multiplies unsigned by signed numbers and holds two products in 16 bits, which u8 by s8 overflows. So
 * the weights lose their sign to the codes: 2 * 128 * 127 fits. */
typedef struct {
    Ints size, sign;
} Weights8;
static inline Weights8 load8(const uint8_t *source) {
    Ints sign = _mm256_xor_si256(load_bytes(source), _mm256_set1_epi8(-128));
    return (Weights8){_mm256_abs_epi8(sign), sign};
}
static inline Ints start8(int32_t bias) { return (void)bias, _mm256_setzero_si256(); }
static inline Ints dot8(Ints sum, Weights8 weights, const int8_t *codes) {
    Ints pairs;
    __asm__("vpbroadcastd %4, %1\n\tvpsignb %3, %1, %1\n\tvpmaddubsw %1, %2, %1\n\tvpmaddwd %5, %1, %1\n\tvpaddd %1, %0, %0"
            : "+x"(sum), "=&x"(pairs)
            : "x"(weights.size), "x"(weights.sign), "m"(*(const int32_t *)codes), "x"(_mm256_set1_epi16(1)));
    return sum;
}

#endif

typedef struct {
    Floats even, odd;
} Pairs;
static inline Pairs halves_of(Ints both) {
    return (Pairs){_mm256_castsi256_ps(_mm256_slli_epi32(both, 16)),
                   _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(-65536)))};
}
static inline Pairs load_pairs(const bf16 *source) { return halves_of(_mm256_loadu_si256((const __m256i *)source)); }
static inline Pairs splat_pair(const void *source) { return halves_of(_mm256_set1_epi32(*(const int32_t *)source)); }
static inline Floats dot_pairs(Floats sum, Pairs a, Pairs b) {
    return _mm256_fmadd_ps(a.odd, b.odd, _mm256_fmadd_ps(a.even, b.even, sum));
}
static inline void store_bf16(bf16 *target, Floats x) { /* to nearest, ties to even; a NaN keeps a set bit */
    Ints bits = _mm256_castps_si256(x), one = _mm256_set1_epi32(1);
    Ints odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    Ints up = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
    Ints nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    Ints half = _mm256_blendv_epi8(up, _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(64)), nan);
    _mm_storeu_si128((__m128i *)target, _mm_packus_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}
