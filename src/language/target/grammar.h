/*
 * grammar - the text of an expression as a tree of terms.
 *
 *     or     = and { "or" and }
 *     and    = unary { "and" unary }
 *     unary  = { "not" } ( "(" or ")" | word )
 *
 * Keywords count in any case. A word ends at a blank or at a parenthesis that it did not open
 * itself; quotes keep both. A group is replaced by the tree of its expression.
 *
 * Memory: in the arena. Threads: any.
 */
#ifndef LANGUAGE_TARGET_GRAMMAR_H
#define LANGUAGE_TARGET_GRAMMAR_H

#include <stdint.h>

#include "language/target/term.h"

struct diags;

enum grammar_kind { GRAMMAR_TERM, GRAMMAR_NOT, GRAMMAR_AND, GRAMMAR_OR };

struct grammar_node {
    enum grammar_kind kind;
    const struct grammar_node *left, *right; /* NOT has only a left one */
    const struct term *term;                 /* for TERM */
};

struct grammar_tree {
    const struct grammar_node *root;
    uint32_t terms; /* how many */
};

/* Returns -1 when it added to `diags`. */
int grammar_parse(struct arena *arena, struct str text, enum target_type type,
                  const struct target_options *options, struct grammar_tree *ret_tree,
                  struct diags *diags);

#endif
