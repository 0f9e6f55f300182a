/*
 * literal - numbers and texts as a template writes them.
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

/* False: it does not fit 64 bits. `text` is what the lexer gave. */
bool literal_integer(struct str text, int64_t *ret);
double literal_float(struct str text);

/* The content of a text in quotes, in the arena. Returns NULL, or an error text. */
const char *literal_text(struct arena *arena, struct str quoted, struct str *ret);

#endif
