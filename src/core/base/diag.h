/*
 * diag - mistakes in user input: all of them, each with its place.
 *
 * Readers of input (YAML, templates, parameters, requisites) add to a list and
 * continue as far as that makes sense, so that a user sees every mistake of a file
 * at once. A reader returns -1 when it added at least one.
 *
 *     diag_add(diags, at, "no parameter '%s'", name);
 *     diag_hint(diags, "did you mean '%s'?", best);
 *     diag_source(diags, text);            the line of the place, with a caret
 *     diag_note(diags, other, "first here");
 *
 * The last three apply to the newest entry. Printed:
 *
 *     web.zy:12:7: no parameter 'nmae'
 *        12 |     - nmae: /etc/motd
 *           |       ^
 *           = did you mean 'name'?
 *     web.zy:3:1: note: first here
 *
 * Memory: texts are copied into the arena of the list. Threads: one at a time.
 */
#ifndef CORE_BASE_DIAG_H
#define CORE_BASE_DIAG_H

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/vec.h"

struct buf;
struct err;

/* A place in the input. Lines and columns count from 1 (0: unknown); columns count characters. */
struct place {
    const char *file;
    uint32_t line, column;
};

struct diag_note {
    struct place at;
    const char *text;
};

struct diag {
    struct place at;
    const char *text;  /* lower case, no full stop */
    const char *hint;  /* a suggestion, or NULL */
    struct str source; /* the line of the place, or a NULL view */
    VEC(struct diag_note) notes;
};

/* More than this many are counted, not kept. */
#define DIAGS_MAX 100

struct diags {
    struct arena *arena;
    VEC(struct diag) list;
    size_t dropped;
    size_t repeated; /* same place, same words: a loop in a template repeats it */
    bool mute;       /* the newest was dropped: so are its hints and notes */
};

#define DIAGS_INIT(where)                                                                          \
    {                                                                                              \
        .arena = (where)                                                                           \
    }

/* Returns -1, so that a reader may write `return diag_add(...)`. */
int diag_add(struct diags *diags, struct place at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_hint(struct diags *diags, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Show line `at.line` of `text`, the whole input, with secrets masked (core/base/redact.h). */
void diag_source(struct diags *diags, struct str text);
/* The line as shown, in the arena; a NULL view when there is none. */
struct str diag_line(struct arena *arena, struct str text, uint32_t line);
void diag_note(struct diags *diags, struct place at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A system error as a diagnostic: `err` happened while the input at `at` was read. */
int diag_err(struct diags *diags, struct place at, const struct err *err);

/* The number of entries, kept or not. A caller compares before and after. */
size_t diags_count(const struct diags *diags);

/* Sort the entries from number `from` on by their place in the file: readers find them in an order
 * of their own, people read from top to bottom. */
void diags_sort(struct diags *diags, size_t from);

/* "file:line:column", as far as they are known. */
void place_print(struct place at, struct buf *out);
/* Print all entries for people. */
void diags_print(const struct diags *diags, struct buf *out);
/* As many entries as fit into one line, and the number of the others. Returns -1. */
int diags_to_err(const struct diags *diags, struct err *err);

#endif
