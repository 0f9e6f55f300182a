/*
 * patch - a unified diff, read and applied as patch(1) does it.
 *
 * A patch has a part for each file, a part has hunks. A hunk is tried at its line
 * number, then farther and farther away, then with less of its context (fuzz), in
 * this order; each one after the one before. Either all hunks of a part fit, or
 * none is applied.
 *
 *     patch_parse -> patch_apply for each part
 *
 * Texts are views into the patch. Memory: the arena. Threads: any.
 */
#ifndef CORE_EDIT_PATCH_H
#define CORE_EDIT_PATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct buf;
struct err;

/* Maximum fuzz: lines of context at each end that may be wrong. */
#define PATCH_FUZZ_MAX 2

struct patch_line {
    char kind;       /* ' ' in both, '-' only before, '+' only afterwards */
    struct str text; /* without its end */
    struct str end;  /* "" when there is no line end at the end of the file */
};

struct patch_hunk {
    size_t line;                 /* line in the patch, for messages */
    struct str raw;              /* the whole part, as written */
    size_t old_start, new_start; /* from 1; 0 when that side has no lines */
    size_t old_count, new_count;
    VEC(struct patch_line) lines;
};

struct patch_part {
    struct str old_name, new_name; /* "/dev/null": no file on that side */
    VEC(struct patch_hunk) hunks;
};

struct patch {
    VEC(struct patch_part) parts;
};

/* Fails with ERR_INVALID and the line of the patch. Text around the parts is ignored. */
int patch_parse(struct arena *arena, struct str text, struct patch *ret, struct err *err);

/* Does the part create or remove its file? */
bool patch_creates(const struct patch_part *part);
bool patch_removes(const struct patch_part *part);
/* The name of the file without its first folders; a NULL view when nothing is left. */
struct str patch_name(const struct patch_part *part, size_t strip);

/* Append `text` with the part applied, or with `reverse` reverted. False when a hunk does not fit:
 * `out` is then unchanged, and `reterr_hunk` is the hunk's number. `fuzz` is the context that may
 * be wrong. */
bool patch_apply(struct str text, const struct patch_part *part, bool reverse, size_t fuzz,
                 struct buf *out, size_t *reterr_hunk);

enum patch_verdict {
    PATCH_APPLIED, /* already: `out` is the text itself */
    PATCH_FITS,    /* `out` is the patched text */
    PATCH_MISFITS, /* `reterr_hunk` is the first that does not fit */
};
/* Find out which. An applied patch is found by reverting it with as little fuzz as possible, so it
 * is not applied again, even when it would fit a second time. */
enum patch_verdict patch_try(struct str text, const struct patch_part *part, struct buf *out,
                             size_t *reterr_hunk);

#endif
