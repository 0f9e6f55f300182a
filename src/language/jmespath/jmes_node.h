/*
 * jmes_node - a JMESPath expression as a tree.
 *
 * A projection evaluates `left` to a list and `right` for each item of it, and
 * drops results that are null. What stops a projection (a pipe, a comparator)
 * stands above it in the tree: jmes_parse gives each its place.
 */
#ifndef LANGUAGE_JMESPATH_JMES_NODE_H
#define LANGUAGE_JMESPATH_JMES_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "core/data/value.h"

enum jmes_node_kind {
    JMES_NODE_CURRENT,
    JMES_NODE_FIELD,
    JMES_NODE_VALUE,          /* a literal */
    JMES_NODE_CHAIN,          /* right, of what left found: a.b and a | b */
    JMES_NODE_INDEX,          /* applies to left */
    JMES_NODE_SLICE,          /* applies to left */
    JMES_NODE_FLATTEN,        /* left */
    JMES_NODE_PROJECT,        /* the items of left */
    JMES_NODE_PROJECT_VALUES, /* the values of left */
    JMES_NODE_SELECT,         /* the items of left for which `condition` holds */
    JMES_NODE_LIST,
    JMES_NODE_HASH,
    JMES_NODE_OR,
    JMES_NODE_AND,
    JMES_NODE_NOT,
    JMES_NODE_COMPARE,
    JMES_NODE_CALL,
    JMES_NODE_REFERENCE, /* &left, an argument of some functions */
};
#define JMES_NODE_KINDS (JMES_NODE_REFERENCE + 1)

struct jmes_function;

struct jmes_part {
    struct value key; /* key of a hash */
    const struct jmes_node *node;
};

/* [start:stop:step]; parts that were not written are null. */
struct jmes_slice {
    struct value parts[3];
};

struct jmes_node {
    enum jmes_node_kind kind;
    int sign; /* JMES_NODE_COMPARE: the token */
    size_t at;
    size_t depth;
    const struct jmes_node *left, *right, *condition;
    struct value value; /* a literal, a field's name, an index */
    struct jmes_slice slice;
    struct jmes_part *parts; /* parts of lists and hashes, and arguments */
    size_t count;
    const struct jmes_function *function;
};

#endif
