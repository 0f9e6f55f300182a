/*
 * regex - regular expressions with limits, in the syntax that Python and Perl
 * share.
 *
 * Patterns are compiled once a rendering and kept; matching stops at a named
 * number of steps, so that no pattern can hang a rendering.
 */
#ifndef JINJA_REGEX_H
#define JINJA_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct render;
struct regex;

enum regex_flag {
    REGEX_IGNORE_CASE = 1,
    REGEX_MULTILINE = 2,
    REGEX_VERBOSE = 4,
};

/* Groups that a match remembers, the whole match included. */
#define REGEX_GROUPS 32

struct regex_match {
    size_t count; /* groups of the pattern, the whole match included */
    struct {
        size_t start, end; /* STR_NONE: the group took no part */
    } groups[REGEX_GROUPS];
};

/* Compile, or find what was compiled before. Gone with the rendering. */
int regex_new(struct render *render, struct str pattern, unsigned flags, const struct regex **ret);

/* The first match at or after byte `from`; with `anchored` only right there. */
int regex_find(struct render *render, const struct regex *regex, struct str text, size_t from,
               bool anchored, struct regex_match *ret, bool *ret_found);

/* The text of a group; a NULL view when it took no part. */
struct str regex_group(const struct regex_match *match, struct str text, size_t group);

/* Frees what a rendering compiled; called at its end. */
void regex_done(struct render *render);

#endif
