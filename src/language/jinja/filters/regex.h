/*
 * regex - the patterns of a rendering: compiled once, matched with limits.
 *
 * core/base/matcher.h does the work; here its errors become those of the rendering.
 */
#ifndef LANGUAGE_JINJA_FILTERS_REGEX_H
#define LANGUAGE_JINJA_FILTERS_REGEX_H

#include "core/base/matcher.h"

struct render;

/* Compile, or find what was compiled before; `flags` are those of the matcher. */
int regex_new(struct render *render, struct str pattern, unsigned flags,
              const struct matcher **ret);

/* The first match at byte `from` or later. */
int regex_find(struct render *render, const struct matcher *matcher, struct str text, size_t from,
               struct matcher_match *ret, bool *ret_found);

#endif
