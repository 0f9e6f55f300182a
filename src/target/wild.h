/*
 * wild - globs as targets write them: base/glob.h, and what people know from
 * elsewhere: [^a] negates like [!a], and a backslash takes the meaning of the next
 * character away. A pattern without special characters is compared, not matched.
 *
 * Memory: in the arena. Threads: any number may match.
 */
#ifndef TARGET_WILD_H
#define TARGET_WILD_H

#include <stdbool.h>

#include "base/str.h"

struct arena;

enum wild_flag {
    WILD_FOLD = 1, /* ASCII letters match in either case */
};

struct wild {
    struct str pattern;    /* in lower case when folding */
    bool plain, all, fold; /* without special characters; "*"; either case */
    bool prefix;           /* "web*" */
};

struct wild wild_new(struct arena *arena, struct str pattern, unsigned flags);
bool wild_match(const struct wild *wild, struct str text);

#endif
