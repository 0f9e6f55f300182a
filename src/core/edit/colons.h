/*
 * colons - files of lines with fields between colons: passwd, shadow, group, subuid.
 *
 * The first field is the key of a line. Other lines stay byte for byte.
 *
 * Views borrow from the text. Threads: any.
 */
#ifndef CORE_EDIT_COLONS_H
#define CORE_EDIT_COLONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;

/* A field of a line, from 0; a NULL view when the line has fewer. */
struct str colons_field(struct str line, size_t index);
/* Can this key be a name? Remarks and the lines of NIS ("+", "-") have none. */
bool colons_is_name(struct str key);

/* The first line with this key, without its end; a NULL view when there is none. */
struct str colons_find(struct str text, struct str key);
/* Every line with this key, each with an end. */
void colons_find_all(struct str text, struct str key, struct buf *out);

/* The text with `lines` (each with an end) as the only lines with this key: in the place of the
 * first one, else at the end. Empty: none. */
void colons_set(struct str text, struct str key, struct str lines, struct buf *out);

/* Is `name` in a comma-separated list? */
bool colons_has(struct str list, struct str name);
/* The text with `name` added to, or removed from, the list in a field of the line with this key. */
void colons_set_member(struct str text, struct str key, size_t field, struct str name, bool member,
                       struct buf *out);

#endif
