/*
 * seal - secrets in a document: which values must never be shown.
 *
 * The tag !secret marks a value and all below it; the tag itself is removed.
 *
 * Memory: the arena. Threads: one, as long as the document changes.
 */
#ifndef SETTINGS_SEAL_H
#define SETTINGS_SEAL_H

struct arena;
struct diags;
struct value;

/* Mark what is tagged in the document, which is changed. Returns -1 when it added to `diags`: for
 * sealed values, and for unknown tags. */
int seal_mark(struct arena *arena, struct value *doc, struct diags *diags);

#endif
