/* Primitives of vector.h for AVX-512 with VNNI and BF16. */
#pragma once
#include <immintrin.h>

enum { LANES = 16, NUM_REGISTERS = 32, HAS_PROMPT_FORM = 1 };

typedef __m512 Floats;
typedef __m512i Ints;

static inline Floats zero(void) { return _mm512_setzero_ps(); }
static inline Floats splat(float x) { return _mm512_set1_ps(x); }
static inline Floats load(const float *source) { return _mm512_loadu_ps(source); }
static inline void store(float *target, Floats x) { _mm512_storeu_ps(target, x); }
static inline Floats load_half(const void *source) { return _mm512_cvtph_ps(_mm256_loadu_si256(source)); }

static inline Floats load_first(const float *source, int64_t num, float rest) {
    return _mm512_mask_loadu_ps(_mm512_set1_ps(rest), (__mmask16)((1u << num) - 1), source);
}
static inline void store_first(float *target, Floats x, int64_t num) {
    _mm512_mask_storeu_ps(target, (__mmask16)((1u << num) - 1), x);
}

static inline Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
static inline Floats subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
static inline Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
static inline Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
static inline Floats fused(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
static inline Floats fused_negated(Floats a, Floats b, Floats c) { return _mm512_fnmadd_ps(a, b, c); }
static inline Floats greater(Floats a, Floats b) { return _mm512_max_ps(a, b); }
static inline Floats lesser(Floats a, Floats b) { return _mm512_min_ps(a, b); }
static inline Floats absolute(Floats x) { return _mm512_abs_ps(x); }
static inline Floats rounded(Floats x) { return _mm512_roundscale_ps(x, 0); }
static inline Floats times_power(Floats x, Floats n) { return _mm512_scalef_ps(x, n); }
static inline Floats zero_below(Floats x, Floats y, float bound) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, _mm512_set1_ps(bound), _CMP_NLT_UQ), x);
}
static inline Floats reciprocal(Floats x) {
    Floats guess = _mm512_rcp14_ps(x); /* and one step of Newton's: 2^-28 */
    return _mm512_mul_ps(guess, _mm512_fnmadd_ps(x, guess, _mm512_set1_ps(2.0f)));
}
static inline float sum_of(Floats x) { return _mm512_reduce_add_ps(x); }
static inline float greatest_of(Floats x) { return _mm512_reduce_max_ps(x); }

static inline uint32_t lanes_above(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline uint32_t lanes_from(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
static inline uint32_t lanes_nan(Floats x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }

/* x[i ^ distance] + x[i] where the bit of i is clear, x[i ^ distance] - x[i] where it is set. */
static inline Floats butterfly(Floats x, const int distance) {
    const Floats one = _mm512_set1_ps(1.0f), minus = _mm512_set1_ps(-1.0f);
    switch (distance) {
        case 1: return _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xAAAA, one, minus), _mm512_permute_ps(x, 0xB1));
        case 2: return _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xCCCC, one, minus), _mm512_permute_ps(x, 0x4E));
        case 4:
            return _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xF0F0, one, minus), _mm512_shuffle_f32x4(x, x, 0xB1));
        default:
            return _mm512_fmadd_ps(x, _mm512_mask_blend_ps(0xFF00, one, minus), _mm512_shuffle_f32x4(x, x, 0x4E));
    }
}

static inline Ints ints_of(Floats x) { return _mm512_cvtps_epi32(x); }
static inline Floats floats_of(Ints x) { return _mm512_cvtepi32_ps(x); }
static inline Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
static inline int32_t sum_of_ints(Ints x) { return _mm512_reduce_add_epi32(x); }
static inline void store_bytes(int8_t *target, Ints x) { _mm_storeu_si128((__m128i *)target, _mm512_cvtsepi32_epi8(x)); }

static inline Ints load_bytes(const uint8_t *source) { return _mm512_loadu_si512(source); }
static inline Ints low_nibbles(Ints x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
static inline Ints high_nibbles(Ints x) { return low_nibbles(_mm512_srli_epi16(x, 4)); }

typedef Ints Weights8;
static inline Weights8 load8(const uint8_t *source) { return _mm512_loadu_si512(source); }
static inline Ints start8(int32_t bias) { return _mm512_set1_epi32(bias); }
/* GCC gives the intrinsic's sum a second register and copies back and forth, through memory where there are many sums.
 * The constraint "+v" forces one register. */
static inline Ints dot8(Ints sum, Weights8 weights, const int8_t *codes) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(_mm512_set1_epi32(*(const int32_t *)codes)));
    return sum;
}

typedef Ints Sum4;
static inline Sum4 start4(void) { return _mm512_setzero_si512(); }
static inline Sum4 dot4(Sum4 sum, Ints weights, const int8_t *codes) { return dot8(sum, weights, codes); }
static inline Ints total4(Sum4 sum) { return sum; }

typedef __m512bh Pairs;
static inline Pairs load_pairs(const bf16 *source) { return (__m512bh)_mm512_loadu_si512(source); }
static inline Pairs splat_pair(const void *source) { return (__m512bh)_mm512_set1_epi32(*(const int32_t *)source); }
static inline Floats dot_pairs(Floats sum, Pairs a, Pairs b) { /* in assembly for the same reason as above */
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}
static inline void store_bf16(bf16 *target, Floats x) {
    _mm256_storeu_si256((__m256i *)target, (__m256i)_mm512_cvtneps_pbh(x));
}
