/*
 * secrets - texts that are masked in all output.
 *
 * Code that reads a secret (a sealed setting, a secret parameter) adds its text; code that shows a
 * text masks it first: each secret in it becomes "********". A secret of several lines is masked
 * as a whole and line by line, because a diff shows single lines. Also masked: its base64, even as
 * part of longer base64, its upper and lower case forms, and its escaped forms in JSON, YAML,
 * shells, SQL, URLs and HTML (core/base/unescape.h).
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

/* Shorter texts are not masked: they would hide half of all output. */
#define SECRETS_SHORTEST 4
#define SECRETS_MASK     REDACTED

struct secrets *secrets_new(void);
/* NULL is fine, here and below: no secrets. */
void secrets_free(struct secrets *secrets);

void secrets_add(struct secrets *secrets, struct str text);
/* Add every text in the value. */
void secrets_add_value(struct secrets *secrets, const struct value *v);
/* Add the parts of a value that are marked VALUE_SECRET. */
void secrets_add_marked(struct secrets *secrets, const struct value *v);
/* Add the secret arguments of a state: marked values, and values of secret parameters. False when
 * there are none. */
bool secrets_add_body(struct secrets *secrets, const struct param *params,
                      const struct value *body);

void secrets_mask(struct secrets *secrets, struct buf *text);
/* Returns a masked copy in the arena, or the text itself when it has no secret. */
struct str secrets_masked(struct secrets *secrets, struct arena *arena, struct str text);
/* Mask every text of a value in place; the caller must own it. Values nested too deep are hidden as
 * a whole. */
void secrets_mask_value(struct secrets *secrets, struct arena *arena, struct value *v);
/* The same, and keys as well: for what a function returned, whose keys are anything. */
void secrets_mask_answer(struct secrets *secrets, struct arena *arena, struct value *v);

#endif
