/*
 * wild - globs as targets write them: core/base/glob.h with GLOB_CARET and GLOB_ESCAPE. Patterns
 * are prepared, since they are matched against thousands of machines: most are a name or the
 * beginning of one, which is compared directly.
 *
 * Memory: in the arena. Threads: any number may match.
 */
#ifndef LANGUAGE_TARGET_WILD_H
#define LANGUAGE_TARGET_WILD_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;

enum wild_flag {
    WILD_FOLD = 1, /* letters match in either case */
};

struct wild {
    struct str pattern; /* with WILD_FOLD: folded, if it is not ASCII */
    unsigned flags;     /* flags of core/base/glob.h */
    bool plain, prefix; /* without special characters; "web*", and "*" */
};

struct wild wild_new(struct arena *arena, struct str pattern, unsigned flags);
bool wild_match(const struct wild *wild, struct str text);

#endif
