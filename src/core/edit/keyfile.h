/*
 * keyfile - the text of authorized_keys: public keys, each with options and a comment.
 *
 *     [options] type blob [comment]
 *
 * Options may hold quoted blanks. A key is identified by its blob; other lines stay byte
 * for byte.
 *
 * Views borrow. Threads: any.
 */
#ifndef CORE_EDIT_KEYFILE_H
#define CORE_EDIT_KEYFILE_H

#include <stdbool.h>

#include "core/base/str.h"

struct buf;

struct keyfile_key {
    struct str options, type, blob, comment; /* empty: none */
};

/* False when the line is not a key. */
bool keyfile_parse(struct str line, struct keyfile_key *ret_key);
/* "ssh-ed25519" and the like. */
bool keyfile_is_type(struct str word);

/* The first line with this blob, without its end; a NULL view when there is none. */
struct str keyfile_find(struct str text, struct str blob);
/* The text with `line` as the only one with this blob: in the place of the first one, else at the
 * end. An empty line: none. */
void keyfile_set(struct str text, struct str blob, struct str line, struct buf *out);

#endif
