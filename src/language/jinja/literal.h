/*
 * literal - numbers and texts as written in a template.
 *
 * Numbers may hold underscores; integers may be binary, octal or hexadecimal.
 * Texts have Python's escapes: \n \x41 \u20ac \101 and a backslash before a line
 * end; a backslash before anything else stays.
 */
#ifndef LANGUAGE_JINJA_LITERAL_H
#define LANGUAGE_JINJA_LITERAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;

/* False when it does not fit 64 bits. `text` comes from the lexer. */
bool literal_integer(struct str text, int64_t *ret);
double literal_float(struct str text);

/* The content of a text in quotes, in the arena. Returns NULL, or an error text. */
const char *literal_text(struct arena *arena, struct str quoted, struct str *ret);

#endif
