/*
 * words - a scalar as text: printed, as its document writes it, or quoted in a message.
 *
 * A number that is used as text is best shown as its document spells it: the
 * version 1.10 is not 1.1, and 1:30 is not 90, whatever YAML makes of them.
 *
 * Memory: views borrow from the document. Threads: any.
 */
#ifndef CORE_DATA_WORDS_H
#define CORE_DATA_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct buf;
struct value;
struct value_source;

/* The start of a line of a document, kept so that a walk over many values reads it once. Starts as
 * zero. */
struct words_cursor {
    const struct value_source *source;
    uint32_t line;
    size_t at;
};

/* A scalar as plain text: "true", "1.5", a time as RFC 3339. False, and nothing written, for null,
 * lists and maps. */
bool words_print(struct buf *out, const struct value *v);

/* The text of the document from the place of the value to the end of a plain scalar; empty when the
 * place is unknown. */
struct str words_written(const struct value *v, struct words_cursor *cursor);

/* The same for a number or time if the text reads as this very value; else, and for values of
 * Salt's files, a NULL view. */
struct str words_own(const struct value *v, struct words_cursor *cursor);

/* `text` in quotes, cut when it is long, with control characters of terminals escaped. */
void words_quote(struct buf *out, struct str text);

#endif
