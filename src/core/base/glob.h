/*
 * glob - shell-like patterns over whole texts; used for all patterns.
 *
 *     *        any characters or none
 *     ?        one character
 *     [abc]    one of these; [a-z] a range; [!abc] none of these
 *
 * A ']' right after '[' or '[!' is a member; a '[' that nothing closes means
 * itself; a '-' at either end means itself. Characters are UTF-8; any other byte counts
 * as one character. Without flags this is Python's fnmatch: '*' matches '/'
 * too, case counts, and there is no escape ('[*]' is a star).
 *
 * Time is at most the product of both lengths, whatever the pattern. Threads: any.
 */
#ifndef CORE_BASE_GLOB_H
#define CORE_BASE_GLOB_H

#include <stdbool.h>

#include "core/base/str.h"

enum glob_flag {
    GLOB_CARET = 1,  /* [^abc] is [!abc] */
    GLOB_ESCAPE = 2, /* outside of sets, a backslash makes the next character literal */
    GLOB_FOLD = 4,   /* ASCII letters match in either case */
    /* For paths: '*', '?' and sets do not match '/'. '**' does, and between slashes it also matches
     * no part at all. */
    GLOB_PATH = 8,
};

bool glob_match(struct str pattern, struct str text);
bool glob_match_with(struct str pattern, struct str text, unsigned flags);

/* True when the pattern has none of "*?[" and so matches only itself. */
bool glob_is_plain(struct str pattern);

#endif
