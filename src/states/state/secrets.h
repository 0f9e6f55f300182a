/*
 * secrets - texts that are never shown.
 *
 * Whoever learns of a secret (a setting that was sealed, a parameter marked so)
 * adds its text; whoever is about to show something masks it first: each secret
 * in it becomes "********". A secret of several lines is known as a whole and
 * by its lines, because a diff shows them one by one. Its base64 is as secret, also as a part of
 * longer base64, and so are its forms in capitals, in small letters, and with the escapes of JSON,
 * YAML, shells, SQL, URLs and HTML (core/base/unescape.h).
 *
 *     secrets_new -> { secrets_add, secrets_mask }... -> secrets_free
 *
 * Memory: heap; texts are copied, and wiped at the end. Threads: any.
 */
#ifndef STATES_STATE_SECRETS_H
#define STATES_STATE_SECRETS_H

#include <stdbool.h>

#include "core/base/redact.h"
#include "core/base/str.h"

struct arena;
struct buf;
struct param;
struct secrets;
struct value;

/* Shorter texts are not masked: they would hide half of every output. */
#define SECRETS_SHORTEST 4
#define SECRETS_MASK     REDACTED

struct secrets *secrets_new(void);
/* NULL is fine, here and below: nothing is secret then. */
void secrets_free(struct secrets *secrets);

void secrets_add(struct secrets *secrets, struct str text);
/* Every text in the value. */
void secrets_add_value(struct secrets *secrets, const struct value *v);
/* The parts of a value that are marked VALUE_SECRET. */
void secrets_add_marked(struct secrets *secrets, const struct value *v);
/* What is secret among the arguments of a state: values marked so, and those of secret parameters.
 * False when nothing is. */
bool secrets_add_body(struct secrets *secrets, const struct param *params,
                      const struct value *body);

void secrets_mask(struct secrets *secrets, struct buf *text);
/* A copy in the arena when there is something to hide, else the text as it is. */
struct str secrets_masked(struct secrets *secrets, struct arena *arena, struct str text);
/* Every text in a value that nobody else has seen yet: it is changed in place. What lies too deep
 * is hidden as a whole. */
void secrets_mask_value(struct secrets *secrets, struct arena *arena, struct value *v);

#endif
