/*
 * seal - secrets in a document: which values must never be shown.
 *
 * The tag !secret marks a value and all below it; the tag itself is removed. Marks do not travel
 * with values: where those are stored or sent, the secret texts are listed beside.
 *
 * Memory: the arena. Threads: one, as long as the document changes.
 */
#ifndef STATES_SETTINGS_SEAL_H
#define STATES_SETTINGS_SEAL_H

#include "core/data/params.h"

struct arena;
struct diags;
struct value;

/* Mark what is tagged in the document, which is changed. Returns -1 when it added to `diags`: for
 * sealed values, and for unknown tags. */
int seal_mark(struct arena *arena, struct value *doc, struct diags *diags);

/* Every text that is marked, or below something that is; borrowed. */
struct param_strs seal_texts(struct arena *arena, const struct value *v);
/* Mark these texts in a value that nobody else has seen yet. */
void seal_restore(struct value *v, const struct param_strs *texts);

#endif
