/*
 * pair - "key:value" over a tree of values, for G@, P@, I@ and J@.
 *
 * Keys may descend through maps by ':' as well as by '.', and values may contain colons, so "a:b:c"
 * is tried as a = b:c, then as a.b = c. Each split is prepared once.
 *
 * Memory: in the arena. Threads: any number may match.
 */
#ifndef LANGUAGE_TARGET_PAIR_H
#define LANGUAGE_TARGET_PAIR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct arena;
struct err;
struct pair;
struct value;

/* Maximum number of ways to split one text. */
#define PAIR_CUTS_MAX 16

enum pair_kind {
    PAIR_WILD,    /* a glob, with an optional operator before it */
    PAIR_MATCHER, /* a regular expression */
};

/* Quotes in `text` are removed. Fails with ERR_INVALID or ERR_LIMIT; `reterr_at` is the byte of the
 * mistake in the text. */
int pair_parse(struct arena *arena, struct str text, enum pair_kind kind,
               const struct pair **ret_pair, size_t *reterr_at, struct err *err);

/* Nothing matches a NULL `tree`. Fails with ERR_LIMIT. */
int pair_match(const struct pair *pair, const struct value *tree, bool *ret_matches,
               struct err *err);

/* --- for an index over many trees (language/target/index.h) --------------------------------- */

struct buf;

/* Each split of the text has a path; a pair matches when one of its splits does. */
size_t pair_cuts(const struct pair *pair);
struct str pair_path(const struct pair *pair, size_t cut);

/* Append the reach of a path in the tree: bytes that are equal for trees which no split with this
 * path can tell apart; empty when the path reaches nothing. */
void pair_reach(struct str path, const struct value *tree, struct buf *out);
/* Does this split match a tree with that reach? Fails with ERR_LIMIT. */
int pair_match_reach(const struct pair *pair, size_t cut, struct str reach, bool *ret_matches,
                     struct err *err);

#endif
