/* exp and its relatives on 16 floats. */
#pragma once
#include <immintrin.h>

/* exp(x), relative error below 2e-7; 0 far below, infinity far above. */
static inline __m512 exp16(__m512 x) {
    x = _mm512_max_ps(_mm512_set1_ps(-104.0f), x); /* in this order NaN stays NaN */
    __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504088896f)), 0);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
    p = _mm512_fmadd_ps(_mm512_mul_ps(p, r), r, _mm512_add_ps(r, _mm512_set1_ps(1.0f)));
    return _mm512_scalef_ps(p, n);
}

/* exp(x) of x up to 0, relative error below 1e-4, 0 below -87: for weights that are rounded to bfloat16. */
static inline __m512 exp16_coarse(__m512 x) {
    __mmask16 counts = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.0f), _CMP_NLT_UQ);
    __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504088896f)), 0);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.69314718f), x);
    __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(4.1665795894e-2f), _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    return _mm512_maskz_scalef_ps(counts, p, n);
}

static inline __m512 sigmoid16(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.0f), two = _mm512_set1_ps(2.0f);
    __m512 negative = _mm512_min_ps(_mm512_set1_ps(80.0f), _mm512_sub_ps(_mm512_setzero_ps(), x));
    __m512 divisor = _mm512_add_ps(one, exp16(negative)), guess = _mm512_rcp14_ps(divisor);
    return _mm512_mul_ps(guess, _mm512_fnmadd_ps(divisor, guess, two)); /* one step of Newton's: 2^-28 */
}

static inline __m512 silu16(__m512 x) { return _mm512_mul_ps(x, sigmoid16(x)); }

/* GELU in its tanh form (arXiv 1606.08415): x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 x^3)). */
static inline __m512 gelu16(__m512 x) {
    __m512 cube = _mm512_mul_ps(_mm512_mul_ps(x, x), x);
    __m512 inner = _mm512_fmadd_ps(cube, _mm512_set1_ps(0.044715f), x);
    return _mm512_mul_ps(x, sigmoid16(_mm512_mul_ps(inner, _mm512_set1_ps(1.5957691216057308f))));
}

static inline __m512 tanh16(__m512 x) {
    __m512 two = _mm512_set1_ps(2.0f);
    return _mm512_fmsub_ps(two, sigmoid16(_mm512_mul_ps(two, x)), _mm512_set1_ps(1.0f));
}
