/*
 * glob - shell-like patterns over whole texts; all patterns of the house are these.
 *
 *     *        any characters or none
 *     ?        one character
 *     [abc]    one of these; [a-z] a range; [!abc] none of these
 *
 * A ']' right after '[' or '[!' is a member; a '[' that nothing closes means
 * itself; a '-' at either end means itself. Characters are UTF-8; a byte that is none
 * is a character of its own. Without flags this is Python's fnmatch: '*' matches '/'
 * too, case counts, and there is no escape ('[*]' is a star).
 *
 * Time is at most the product of both lengths, whatever the pattern. Threads: any.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>

#include "base/str.h"

enum glob_flag {
    GLOB_CARET = 1,  /* [^abc] is [!abc] */
    GLOB_ESCAPE = 2, /* outside of sets, a backslash takes the meaning of the next character away */
    GLOB_FOLD = 4,   /* ASCII letters match in either case */
    /* Over paths: '*', '?' and sets do not match '/'; '**' does, and as a whole part between
     * slashes it is also no part at all. */
    GLOB_PATH = 8,
};

bool glob_match(struct str pattern, struct str text);
bool glob_match_with(struct str pattern, struct str text, unsigned flags);

/* True when the pattern can match itself only, it has none of "*?[". */
bool glob_is_plain(struct str pattern);

#endif
