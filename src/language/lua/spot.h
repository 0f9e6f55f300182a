/*
 * spot - the place of a byte of a text value in its document.
 *
 * A value knows where it begins. For the place of something inside it the document is searched
 * again: the lines of a literal block ('|') are those of the file, and text on one line is searched
 * there word by word. When escapes or folding hide it, the place is the beginning of the value.
 */
#ifndef LANGUAGE_LUA_SPOT_H
#define LANGUAGE_LUA_SPOT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/diag.h"

struct value;

struct place spot_find(const struct value *v, size_t offset);
/* Each line of the value is one line of the file. */
bool spot_is_block(const struct value *v);

#endif
