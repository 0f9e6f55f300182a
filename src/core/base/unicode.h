/*
 * unicode - properties of characters, and their other cases.
 *
 * All of Unicode as Python's unicodedata defines it, by tables with binary
 * search; ASCII is answered without them. Whole texts are changed by
 * unicode_upper and its sisters, which know the maps to several characters
 * (ß to SS) and the sigma at the end of a word.
 *
 * Bytes that are not UTF-8 pass unchanged. Threads: any.
 */
#ifndef CORE_BASE_UNICODE_H
#define CORE_BASE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct buf;

enum unicode_property {
    UNICODE_ALPHA,
    UNICODE_DECIMAL,
    UNICODE_DIGIT,
    UNICODE_NUMERIC,
    UNICODE_SPACE,
    UNICODE_PRINTABLE,
    UNICODE_UPPER,
    UNICODE_LOWER,
    UNICODE_TITLE,
    UNICODE_ID_START,
    UNICODE_ID_PART,
    UNICODE_IGNORABLE, /* a final sigma looks past it */
};
#define UNICODE_PROPERTIES (UNICODE_IGNORABLE + 1)

enum unicode_case { UNICODE_TO_UPPER, UNICODE_TO_LOWER, UNICODE_TO_TITLE, UNICODE_TO_FOLD };
#define UNICODE_MAPS (UNICODE_TO_FOLD + 1)

/* One character becomes at most this many. */
#define UNICODE_EXPANSION_MAX 3

bool unicode_is(uint32_t c, enum unicode_property property);
/* Upper, lower or title case. */
bool unicode_is_cased(uint32_t c);

/* As str.upper(), lower(), casefold(), capitalize(), title() and swapcase(). */
void unicode_upper(struct str text, struct buf *out);
void unicode_lower(struct str text, struct buf *out);
void unicode_fold(struct str text, struct buf *out);
void unicode_capitalize(struct str text, struct buf *out);
void unicode_title(struct str text, struct buf *out);
void unicode_swap(struct str text, struct buf *out);

#endif
