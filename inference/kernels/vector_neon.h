/* Primitives of vector.h for 64-bit ARM with dot products (ARMv8.2-A); with the mixed-sign ones of I8MM where they are. */
#pragma once
#include <arm_neon.h>

enum { LANES = 4, NUM_REGISTERS = 32, HAS_PROMPT_FORM = 0 };

typedef float32x4_t Floats;
typedef int32x4_t Ints;

static inline Floats zero(void) { return vdupq_n_f32(0); }
static inline Floats splat(float x) { return vdupq_n_f32(x); }
static inline Floats load(const float *source) { return vld1q_f32(source); }
static inline void store(float *target, Floats x) { vst1q_f32(target, x); }
static inline Floats load_half(const void *source) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(source))); }

static inline Floats load_first(const float *source, int64_t num, float rest) {
    float lanes[LANES] = {rest, rest, rest, rest};
    for (int64_t i = 0; i < num; i++) lanes[i] = source[i];
    return vld1q_f32(lanes);
}
static inline void store_first(float *target, Floats x, int64_t num) {
    float lanes[LANES];
    vst1q_f32(lanes, x);
    for (int64_t i = 0; i < num; i++) target[i] = lanes[i];
}

static inline Floats add(Floats a, Floats b) { return vaddq_f32(a, b); }
static inline Floats subtract(Floats a, Floats b) { return vsubq_f32(a, b); }
static inline Floats multiply(Floats a, Floats b) { return vmulq_f32(a, b); }
static inline Floats divide(Floats a, Floats b) { return vdivq_f32(a, b); }
static inline Floats fused(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }
static inline Floats fused_negated(Floats a, Floats b, Floats c) { return vfmsq_f32(c, a, b); }
static inline Floats greater(Floats a, Floats b) { return vmaxq_f32(a, b); }
static inline Floats lesser(Floats a, Floats b) { return vminq_f32(a, b); }
static inline Floats absolute(Floats x) { return vabsq_f32(x); }
static inline Floats rounded(Floats x) { return vrndnq_f32(x); }
static inline Floats times_power(Floats x, Floats n) { /* in two steps: one power may be out of range */
    Ints whole = vcvtnq_s32_f32(vminq_f32(splat(250.0f), vmaxq_f32(splat(-250.0f), n)));
    Ints half = vshrq_n_s32(whole, 1), offset = vdupq_n_s32(127);
    Ints one = vshlq_n_s32(vaddq_s32(half, offset), 23);
    Ints two = vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), offset), 23);
    return vmulq_f32(vmulq_f32(x, vreinterpretq_f32_s32(one)), vreinterpretq_f32_s32(two));
}
static inline Floats zero_below(Floats x, Floats y, float bound) { /* a NaN is not below */
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(x), vcltq_f32(y, splat(bound))));
}
static inline Floats reciprocal(Floats x) { return vdivq_f32(splat(1.0f), x); }
static inline float sum_of(Floats x) { return vaddvq_f32(x); }
static inline float greatest_of(Floats x) { return vmaxvq_f32(x); }

static inline uint32_t lanes_of(uint32x4_t mask) {
    const uint32x4_t bits = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(mask, bits));
}
static inline uint32_t lanes_above(Floats a, Floats b) { return lanes_of(vcgtq_f32(a, b)); }
static inline uint32_t lanes_from(Floats a, Floats b) { return lanes_of(vcgeq_f32(a, b)); }
static inline uint32_t lanes_nan(Floats x) { return lanes_of(vmvnq_u32(vceqq_f32(x, x))); }

static inline Floats butterfly(Floats x, const int distance) {
    if (distance == 1) return vfmaq_f32(vrev64q_f32(x), x, (Floats){1, -1, 1, -1});
    return vfmaq_f32(vextq_f32(x, x, 2), x, (Floats){1, 1, -1, -1});
}

static inline Ints ints_of(Floats x) { return vcvtnq_s32_f32(x); }
static inline Floats floats_of(Ints x) { return vcvtq_f32_s32(x); }
static inline Ints add_ints(Ints a, Ints b) { return vaddq_s32(a, b); }
static inline int32_t sum_of_ints(Ints x) { return vaddvq_s32(x); }
static inline void store_bytes(int8_t *target, Ints x) {
    int16x4_t words = vqmovn_s32(x);
    vst1_lane_s32((int32_t *)target, vreinterpret_s32_s8(vqmovn_s16(vcombine_s16(words, words))), 0);
}

static inline Ints load_bytes(const uint8_t *source) { return vreinterpretq_s32_u8(vld1q_u8(source)); }
static inline Ints low_nibbles(Ints x) {
    return vreinterpretq_s32_u8(vandq_u8(vreinterpretq_u8_s32(x), vdupq_n_u8(15)));
}
static inline Ints high_nibbles(Ints x) { return vreinterpretq_s32_u8(vshrq_n_u8(vreinterpretq_u8_s32(x), 4)); }

static inline int8x16_t splat_codes(const int8_t *codes) {
    return vreinterpretq_s8_s32(vld1q_dup_s32((const int32_t *)codes));
}
static inline Ints dot(Ints sum, Ints weights, const int8_t *codes) {
    return vdotq_s32(sum, vreinterpretq_s8_s32(weights), splat_codes(codes));
}

typedef Ints Sum4;
static inline Sum4 start4(void) { return vdupq_n_s32(0); }
static inline Sum4 dot4(Sum4 sum, Ints weights, const int8_t *codes) { return dot(sum, weights, codes); }
static inline Ints total4(Sum4 sum) { return sum; }

typedef Ints Weights8;
#ifdef __ARM_FEATURE_MATMUL_INT8
static inline Weights8 load8(const uint8_t *source) { return load_bytes(source); }
static inline Ints start8(int32_t bias) { return vdupq_n_s32(bias); }
static inline Ints dot8(Ints sum, Weights8 weights, const int8_t *codes) {
    return vusdotq_s32(sum, vreinterpretq_u8_s32(weights), splat_codes(codes));
}
#else
static inline Weights8 load8(const uint8_t *source) {
    return vreinterpretq_s32_u8(veorq_u8(vld1q_u8(source), vdupq_n_u8(128)));
}
static inline Ints start8(int32_t bias) { return (void)bias, vdupq_n_s32(0); }
static inline Ints dot8(Ints sum, Weights8 weights, const int8_t *codes) { return dot(sum, weights, codes); }
#endif

typedef struct {
    Floats even, odd;
} Pairs;
static inline Pairs halves_of(uint32x4_t both) {
    return (Pairs){vreinterpretq_f32_u32(vshlq_n_u32(both, 16)),
                   vreinterpretq_f32_u32(vandq_u32(both, vdupq_n_u32(0xFFFF0000)))};
}
static inline Pairs load_pairs(const bf16 *source) { return halves_of(vreinterpretq_u32_u16(vld1q_u16(source))); }
static inline Pairs splat_pair(const void *source) { return halves_of(vld1q_dup_u32((const uint32_t *)source)); }
static inline Floats dot_pairs(Floats sum, Pairs a, Pairs b) {
    return vfmaq_f32(vfmaq_f32(sum, a.even, b.even), a.odd, b.odd);
}
static inline void store_bf16(bf16 *target, Floats x) { /* to nearest, ties to even; a NaN keeps a set bit */
    uint32x4_t bits = vreinterpretq_u32_f32(x), odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t up = vshrq_n_u32(vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7FFF))), 16);
    uint32x4_t nan = vorrq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(64));
    vst1_u16(target, vmovn_u32(vbslq_u32(vceqq_f32(x, x), up, nan)));
}
