/*
 * glob - shell-like patterns over whole texts, as Python's fnmatch reads them.
 *
 *     *        any characters, '/' too, or none
 *     ?        one character
 *     [abc]    one of these; [a-z] a range; [!abc] none of these
 *
 * A ']' right after '[' or '[!' is a member; a '[' that nothing closes means
 * itself; a '-' at either end means itself. There is no escape: '[*]' is a star.
 * Case counts. Characters are UTF-8; a byte that is none is a character of its own.
 *
 * Time is at most the product of both lengths, whatever the pattern. Threads: any.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>

#include "base/str.h"

bool glob_match(struct str pattern, struct str text);

/* True when the pattern can match itself only: it has none of "*?[". */
bool glob_is_plain(struct str pattern);

#endif
