/* The library's one translation unit. */
#include "forward.h"
#include "vocabulary.h"
