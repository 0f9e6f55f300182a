/*
 * jmes_parse - the text of a JMESPath expression into its tree.
 *
 * Memory: the tree lives in the arena. Threads: any.
 */
#ifndef LANGUAGE_JMESPATH_JMES_PARSE_H
#define LANGUAGE_JMESPATH_JMES_PARSE_H

#include "core/base/str.h"

struct arena;
struct err;
struct jmes_node;

/* Fails with ERR_INVALID and the column, or with ERR_LIMIT. */
int jmes_parse(struct arena *arena, struct str text, const struct jmes_node **ret, struct err *err);

#endif
