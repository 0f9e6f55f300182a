/*
 * likeness - are two texts the same but for what does not matter: the order of lines, blanks,
 * comments?
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_MODULES_FILE_LIKENESS_H
#define STATES_MODULES_FILE_LIKENESS_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;

struct likeness {
    bool ordering, whitespace; /* do not matter */
    const char *comment;       /* nor does what follows this in a line; NULL: all counts */
};

bool likeness_holds(struct arena *arena, const struct likeness *rules, struct str a, struct str b);

#endif
