/*
 * seal - marks the secret values of a document.
 *
 * The tag !secret marks a value and all below it; the tag itself is removed. Marks are lost when
 * values are stored or sent; the secret texts are then listed separately.
 *
 * Memory: the arena. Threads: one, as long as the document changes.
 */
#ifndef STATES_SETTINGS_SEAL_H
#define STATES_SETTINGS_SEAL_H

#include "core/data/params.h"

struct arena;
struct diags;
struct value;

/* Mark tagged values, in place. Returns -1 when it added to `diags`: for sealed values, and for
 * unknown tags. */
int seal_mark(struct arena *arena, struct value *doc, struct diags *diags);

/* List all texts that are marked, or below a marked value; borrowed. */
struct param_strs seal_texts(struct arena *arena, const struct value *v);
/* Mark these texts in a value, in place; the caller must own it. */
void seal_restore(struct value *v, const struct param_strs *texts);

#endif
