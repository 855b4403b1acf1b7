/* The vectors that everything above is written with; FORM names the instruction set that holds them.
 *
 * A vector has LANES numbers: Floats of 32 bits, Ints of 32 bits or of 4 bytes each, Pairs of two bfloat16 each. Each form
 * defines the same functions; a name says a function's result. Where one of two numbers is NaN, `greater` and `lesser`
 * may return the second, so that a NaN is kept where it stands second.
 *
 * HAS_PROMPT_FORM is 1 where prompts are faster by prompt_matrix.h than by matrix.h; measurement decides. */
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint16_t bf16;

/* Unrolls the loop that follows: sums stay in registers only where their indices are constant. The plain form has no
 * registers to fill, and a compiler would need a minute for it. */
#define PRAGMA(text) _Pragma(#text)
#if FORM_plain
#define UNROLL(n)
#else
#define UNROLL(n) PRAGMA(GCC unroll n)
#endif

#if FORM_avx512
#include "vector_avx512.h"
#elif FORM_avx2
#include "vector_avx2.h"
#elif FORM_neon
#include "vector_neon.h"
#else
#include "vector_plain.h"
#endif
