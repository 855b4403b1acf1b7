/* The library's one translation unit. */
#include "forward.h"
#include "self_test.h"
#include "vocabulary.h"

/* 1 where this form computes prompts by prompt_matrix.h, else 0. */
int has_prompt_form(void) { return HAS_PROMPT_FORM; }
