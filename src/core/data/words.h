/*
 * words - a scalar as text: printed, as its document has it, or quoted in a message.
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

/* Where a line of a document begins, kept so that a walk over many values reads it once. Starts as
 * zero. */
struct words_cursor {
    const struct value_source *source;
    uint32_t line;
    size_t at;
};

/* A scalar as plain text: "true", "1.5", a time as RFC 3339. False, and nothing written, for null,
 * lists and maps. */
bool words_print(struct buf *out, const struct value *v);

/* The text of the document from the place of the value to where a plain scalar would end; empty
 * when that is not known. */
struct str words_written(const struct value *v, struct words_cursor *cursor);

/* The same for a number or time, if it means this very value; else, and for values of Salt's files,
 * a NULL view. */
struct str words_own(const struct value *v, struct words_cursor *cursor);

/* `text` in quotes, cut when it is long, without anything that would control a terminal. */
void words_quote(struct buf *out, struct str text);

#endif
