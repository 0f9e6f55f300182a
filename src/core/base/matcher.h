/*
 * matcher - regular expressions of Perl and Python, with limits.
 *
 *     matcher_new(arena, STR("^web\\d+"), 0, &matcher, &err);
 *     matcher_find(matcher, text, 0, NULL, &found, &err);
 *
 * Text is UTF-8; other bytes match nothing but do not stop a search.
 * Matching ends at MATCHER_STEPS_MAX steps and MATCHER_MEMORY_MAX bytes with
 * ERR_LIMIT, so that no pattern can hang a program.
 *
 * Memory: the compiled pattern is in the arena. Threads: any number may match.
 */
#ifndef CORE_BASE_MATCHER_H
#define CORE_BASE_MATCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct arena;
struct err;
struct matcher;

#define MATCHER_PATTERN_MAX ((size_t)64 << 10) /* bytes of a pattern */
#define MATCHER_STEPS_MAX   1000000
#define MATCHER_MEMORY_MAX  ((size_t)16 << 20)
/* Groups that a match remembers, the whole match included. */
#define MATCHER_GROUPS_MAX 32

enum matcher_flag {
    MATCHER_IGNORE_CASE = 1,
    MATCHER_MULTILINE = 2, /* ^ and $ match at every line */
    MATCHER_DOTALL = 4,    /* . matches line ends too */
    MATCHER_VERBOSE = 8,   /* blanks and comments in the pattern are ignored */
    MATCHER_ANCHORED = 16, /* only right where a search begins */
    MATCHER_MANY = 32,     /* for matcher_scan */
};

/* The bytes of a match in the text; `start` is STR_NONE for a group that did not participate. */
struct matcher_group {
    size_t start, end;
};

struct matcher_match {
    size_t count; /* groups of the pattern, the whole match included */
    struct matcher_group groups[MATCHER_GROUPS_MAX];
};

/* Fails with ERR_INVALID and sets `reterr_at`, which may be NULL, to the byte of the pattern where
 * the mistake is; with ERR_LIMIT when the pattern is too long. */
int matcher_new(struct arena *arena, struct str pattern, unsigned flags,
                const struct matcher **ret_matcher, size_t *reterr_at, struct err *err);

/* The first match at byte `from` or later. `ret_match` may be NULL, and is set only when there is
 * one. Fails with ERR_LIMIT only. */
int matcher_find(const struct matcher *matcher, struct str text, size_t from,
                 struct matcher_match *ret_match, bool *ret_found, struct err *err);

/* Many searches in one text, from beginning to end: work that is the same for all of them is done
 * once, so that together they take linear time. For patterns with MATCHER_MANY. (In text that is
 * not UTF-8, \A, \z, \Z and \G still cost a look at all of it.) */
struct matcher_scan {
    const struct matcher *matcher;
    struct str text;
    size_t start, end; /* the valid UTF-8 under search */
};
struct matcher_scan matcher_scan(const struct matcher *matcher, struct str text);
/* As matcher_find; `from` must not decrease. */
int matcher_scan_find(struct matcher_scan *scan, size_t from, struct matcher_match *ret_match,
                      bool *ret_found, struct err *err);

/* The number of groups, the whole match included; those beyond MATCHER_GROUPS_MAX count too. */
size_t matcher_groups(const struct matcher *matcher);
/* The number of a named group; STR_NONE when there is none. */
size_t matcher_group_named(const struct matcher *matcher, struct str name);

/* The text of a group; a NULL view when it did not participate. */
struct str matcher_text(const struct matcher_match *match, struct str text, size_t group);

#endif
