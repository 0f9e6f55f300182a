/*
 * yaml_text - the text of a document: bytes, lines, places.
 *
 * libyaml counts characters and takes five kinds of line ends; people and editors
 * count lines by '\n'. Here offsets become places, and all bytes are checked before
 * the parser sees them, since it reports no good place for them.
 */
#ifndef CORE_DATA_YAML_TEXT_H
#define CORE_DATA_YAML_TEXT_H

#include <stdbool.h>

#include "core/base/diag.h"
#include "core/base/str.h"

/* Fails, with a diagnostic, at the first byte that is not allowed in YAML. `ret_odd_breaks` says
 * whether there are line ends other than '\n' and "\r\n". */
int yaml_text_check(const char *file, struct str text, bool *ret_odd_breaks, struct diags *diags);

/* A walk over the text that only goes forward, one character at a time. */
struct yaml_cursor {
    size_t index;  /* in characters */
    size_t offset; /* in bytes */
    uint32_t line, column;
};
#define YAML_CURSOR_INIT                                                                           \
    {                                                                                              \
        0, 0, 1, 1                                                                                 \
    }

/* Move to character `index`; starts over when that is before the current place. */
void yaml_cursor_move(struct yaml_cursor *cursor, struct str text, size_t index);

/* The place of byte `offset`. */
struct place yaml_text_place(const char *file, struct str text, size_t offset);

/* The line of byte `offset`, and its own offset. */
struct str yaml_text_line(struct str text, size_t offset, size_t *ret_start);

/* The number of blanks that a line begins with. */
size_t yaml_text_indent(struct str line);

#endif
