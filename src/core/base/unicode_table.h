/*
 * unicode_table - the generated tables behind unicode.h, for unicode.c only.
 *
 * Runs are sorted and do not overlap. tools/gen-unicode writes the .c file.
 */
#ifndef CORE_BASE_UNICODE_TABLE_H
#define CORE_BASE_UNICODE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/unicode.h"

/* Every `stride`-th character from `first` to `last`. */
struct unicode_run {
    uint32_t first, last, stride;
};

struct unicode_runs {
    const struct unicode_run *runs;
    size_t count;
};

struct unicode_shift {
    uint32_t first, last, stride;
    int32_t delta;
};

struct unicode_expansion {
    uint32_t from;
    uint32_t to[UNICODE_EXPANSION_MAX]; /* 0: no more */
};

struct unicode_map {
    const struct unicode_shift *shifts;
    size_t shift_count;
    const struct unicode_expansion *expansions;
    size_t expansion_count;
};

extern const struct unicode_runs unicode_properties[UNICODE_PROPERTIES];
extern const struct unicode_map unicode_maps[UNICODE_MAPS];

#endif
