/*
 * jmes_function - the functions of JMESPath: a table of names and accepted types.
 *
 * The parser finds a function and counts its arguments; the evaluator checks their
 * types against the table before it calls.
 */
#ifndef LANGUAGE_JMESPATH_JMES_FUNCTION_H
#define LANGUAGE_JMESPATH_JMES_FUNCTION_H

#include <stddef.h>

#include "core/data/value.h"

struct jmes_eval;
struct jmes_node;

/* Kinds of an argument; added together. */
enum jmes_type {
    JMES_NULL = 1,
    JMES_BOOLEAN = 2,
    JMES_NUM = 4,
    JMES_TEXT = 8,
    JMES_ARRAY = 16,
    JMES_OBJECT = 32,
    JMES_OTHER = 64, /* bytes and times, which JSON does not have */
    JMES_EXPRESSION = 128,
    JMES_NUMBERS = 256, /* an array of them; an empty one too */
    JMES_TEXTS = 512,
    JMES_ANY = 127,
};

struct jmes_argument {
    struct value value;
    const struct jmes_node *expression; /* for &expression; then there is no value */
};

struct jmes_function {
    const char *name;
    int (*call)(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                struct value *ret);
    unsigned types[2]; /* the last one is that of all further arguments */
    size_t count;
    bool more; /* arguments than count are welcome */
};

#define JMES_ARGUMENTS_MAX 64

/* NULL when there is none of this name. */
const struct jmes_function *jmes_function_find(struct str name);
/* The nearest name; a NULL view when none is near. */
struct str jmes_function_suggest(struct str name);
/* Check the types of the arguments, and call. Fails with the column. */
int jmes_function_call(struct jmes_eval *eval, const struct jmes_node *node,
                       const struct jmes_argument *args, struct value *ret);

#endif
