/*
 * seal - secrets in a document: which values are never to be shown.
 *
 * The tag !secret marks a value and all below it; it is gone afterwards.
 *
 * Memory: the arena. Threads: one, as long as the document changes.
 */
#ifndef SETTINGS_SEAL_H
#define SETTINGS_SEAL_H

struct arena;
struct diags;
struct value;

/* Mark what is tagged in the document, which is changed. Returns -1 when it added to `diags`: for
 * what is sealed, and for tags that mean nothing. */
int seal_mark(struct arena *arena, struct value *doc, struct diags *diags);

/* Of the diagnostics from number `from` on: take away source lines, and hints, that may show a
 * secret. */
void seal_hide(struct diags *diags, unsigned long from);

#endif
