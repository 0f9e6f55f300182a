/*
 * pattern - Lua's patterns, matched in bounded steps and without recursion.
 *
 * Patterns have no repeated groups, so a pattern is a line of items and a match walks along it
 * once: each item is passed in order, and a repeated item leaves a choice behind to come back to.
 * The choices form a stack that is never longer than the pattern. A capture depends only on the
 * items before it, so nothing has to be undone on the way back. Work is counted: each character
 * examined is a step of the caller's budget.
 *
 *     pattern_parse -> pattern_match...
 *
 * Memory: the caller gives room for pattern_items_max() items. Threads: any.
 */
#ifndef LANGUAGE_LUA_PATTERN_H
#define LANGUAGE_LUA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct err;

#define PATTERN_CAPTURES_MAX 32
/* Longer patterns are refused. */
#define PATTERN_TEXT_MAX ((size_t)64 << 10)

enum pattern_kind {
    PATTERN_CHAR,     /* this byte */
    PATTERN_ANY,      /* any byte */
    PATTERN_SET,      /* a byte of the set */
    PATTERN_OPEN,     /* a capture begins */
    PATTERN_CLOSE,    /* and ends */
    PATTERN_POSITION, /* () */
    PATTERN_BALANCE,  /* %bxy */
    PATTERN_FRONTIER, /* %f[set] */
    PATTERN_BACK,     /* %1 */
    PATTERN_END,      /* $ as the last character */
};

enum pattern_repeat {
    PATTERN_ONCE,
    PATTERN_MAYBE,  /* ? */
    PATTERN_GREEDY, /* * and + */
    PATTERN_LAZY,   /* - */
};

struct pattern_item {
    uint8_t kind, repeat;
    uint8_t c, d;    /* the byte; the two of %b */
    uint8_t capture; /* its number, from 0 */
    bool at_least_one;
    uint64_t set[4];  /* bytes that match */
    size_t from, now; /* for a choice: where the item began, how far it is tried */
};

struct pattern {
    struct pattern_item *items;
    size_t count;
    size_t captures;
    bool anchored; /* began with ^ */
};

struct pattern_capture {
    size_t from, n;
    bool is_position; /* () : `from` is its position */
};

struct pattern_match {
    size_t from, end; /* the whole match */
    struct pattern_capture captures[PATTERN_CAPTURES_MAX];
};

enum pattern_result {
    PATTERN_NO_MATCH,
    PATTERN_MATCHED,
    PATTERN_STOPPED, /* `spend` returned false */
};

/* Take this many steps from a budget; false when there are not enough. */
typedef bool pattern_spend_fn(void *user, size_t steps);

/* The maximum number of items in a pattern. */
size_t pattern_items_max(struct str text);

/* Read a pattern. With `anchors` a ^ at the front holds it to the first position; else it is a
 * character like any other. */
int pattern_parse(struct str text, bool anchors, struct pattern_item *items, struct pattern *ret,
                  struct err *err);

/* The first match at `from` or later (only at `from` when anchored). */
enum pattern_result pattern_match(struct pattern *pattern, struct str text, size_t from,
                                  pattern_spend_fn *spend, void *user, struct pattern_match *ret);

/* No character of the pattern is special. */
bool pattern_is_plain(struct str text);

#endif
