/*
 * jmes_eval - evaluates the tree of a JMESPath expression.
 *
 * Results share parts of the data, so a small expression can make a value that takes very long to
 * walk. Every walk counts its steps.
 */
#ifndef LANGUAGE_JMESPATH_JMES_EVAL_H
#define LANGUAGE_JMESPATH_JMES_EVAL_H

#include <stdint.h>

#include "core/data/value.h"

struct err;
struct jmes_node;

struct jmes_eval {
    struct arena *arena;
    struct str text; /* the expression, for columns */
    size_t at;       /* place of the running call, for its errors */
    uint64_t *steps;
    struct err *err;
};

/* Evaluate `node` in `current`. */
int jmes_eval_node(struct jmes_eval *eval, const struct jmes_node *node,
                   const struct value *current, struct value *ret);
/* Count `n` steps; fails with ERR_LIMIT. */
int jmes_eval_step(struct jmes_eval *eval, uint64_t n);
/* Count a step for each item of `v`, at any depth. */
int jmes_eval_walk(struct jmes_eval *eval, const struct value *v);
/* Equality as in JSON: unlike in Python, true is not 1. */
int jmes_eval_equal(struct jmes_eval *eval, const struct value *a, const struct value *b,
                    bool *ret);

#endif
