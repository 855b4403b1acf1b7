/* exp and its relatives on a vector of floats. */
#pragma once
#include "vector.h"

/* exp(x) of x up to 88, relative error below 2e-7; 0 far below. */
static inline Floats exponential(Floats x) {
    x = greater(splat(-104.0f), x); /* in this order NaN stays NaN */
    Floats n = rounded(multiply(x, splat(1.44269504088896f)));
    Floats r = fused_negated(n, splat(0.693359375f), x);
    r = fused_negated(n, splat(-2.12194440e-4f), r);
    Floats p = splat(1.9875691500e-4f);
    p = fused(p, r, splat(1.3981999507e-3f));
    p = fused(p, r, splat(8.3334519073e-3f));
    p = fused(p, r, splat(4.1665795894e-2f));
    p = fused(p, r, splat(1.6666665459e-1f));
    p = fused(p, r, splat(5.0000001201e-1f));
    p = fused(multiply(p, r), r, add(r, splat(1.0f)));
    return times_power(p, n);
}

/* exp(x) of x up to 0, relative error below 1e-4, 0 below -87: for weights that are rounded to bfloat16. */
static inline Floats exponential_coarse(Floats x) {
    Floats n = rounded(multiply(x, splat(1.44269504088896f)));
    Floats r = fused_negated(n, splat(0.69314718f), x);
    Floats p = fused(r, splat(4.1665795894e-2f), splat(1.6666665459e-1f));
    p = fused(p, r, splat(5.0000001201e-1f));
    p = fused(p, r, splat(1.0f));
    p = fused(p, r, splat(1.0f));
    return zero_below(times_power(p, n), x, -87.0f);
}

static inline Floats sigmoid(Floats x) {
    Floats negative = lesser(splat(80.0f), subtract(zero(), x));
    return reciprocal(add(splat(1.0f), exponential(negative)));
}

static inline Floats silu(Floats x) { return multiply(x, sigmoid(x)); }

/* GELU in its tanh form (arXiv 1606.08415): x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 x^3)). */
static inline Floats gelu(Floats x) {
    Floats cube = multiply(multiply(x, x), x);
    Floats inner = fused(cube, splat(0.044715f), x);
    return multiply(x, sigmoid(multiply(inner, splat(1.5957691216057308f))));
}

static inline Floats hyperbolic_tangent(Floats x) {
    Floats two = splat(2.0f);
    return subtract(multiply(two, sigmoid(multiply(two, x))), splat(1.0f));
}
