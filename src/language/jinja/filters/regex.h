/*
 * regex - the patterns of a rendering: compiled once, matched with limits.
 *
 * core/base/matcher.h does the work; this turns its errors into render errors.
 */
#ifndef LANGUAGE_JINJA_FILTERS_REGEX_H
#define LANGUAGE_JINJA_FILTERS_REGEX_H

#include "core/base/matcher.h"

struct render;

/* Compile a pattern, or find it in the cache; `flags` are those of the matcher. */
int regex_new(struct render *render, struct str pattern, unsigned flags,
              const struct matcher **ret);

/* The first match at byte `from` or later. */
int regex_find(struct render *render, const struct matcher *matcher, struct str text, size_t from,
               struct matcher_match *ret, bool *ret_found);

#endif
