/*
 * utf8 - text as characters instead of bytes.
 *
 * Bytes that are not UTF-8 count as one character each and never stop a walk, so
 * any input can be measured and shown. Strict readers call utf8_is_valid first.
 */
#ifndef CORE_BASE_UTF8_H
#define CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct buf;

#define UTF8_BAD 0xfffdU

/* Bytes of the first character: 1 to 4; 0 only for an empty text. */
size_t utf8_length_at(struct str text);
/* The first character, UTF8_BAD when the bytes are invalid; `text` moves past it. */
uint32_t utf8_next(struct str *text);
/* Append a character; surrogates and numbers beyond Unicode become UTF8_BAD. */
void utf8_add(struct buf *out, uint32_t c);

bool utf8_is_valid(struct str text);
/* The number of valid bytes at the front. */
size_t utf8_valid_length(struct str text);
/* True for a character (as utf8_length_at measures it) that must be escaped: it would control a
 * terminal or reorder the text around it, or it is not UTF-8. */
bool utf8_is_control(struct str character);
/* The number of printable ASCII bytes at the beginning. */
size_t utf8_plain_length(struct str text);
bool utf8_is_ascii(struct str text);
/* The number of characters. */
size_t utf8_count(struct str text);
/* The byte offset of character `n`, or of the end when there are fewer. */
size_t utf8_offset(struct str text, size_t n);

#endif
