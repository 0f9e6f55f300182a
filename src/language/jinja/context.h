/*
 * context - the variables that a template finds by name.
 *
 * The order of lookup: exports of the template so far, variables handed to it (an include sees
 * those of its includer), the map of jinja_render, the globals. A context is one run of a template,
 * its parents and its blocks.
 *
 * Memory: the arena of the rendering. Threads: one.
 */
#ifndef LANGUAGE_JINJA_CONTEXT_H
#define LANGUAGE_JINJA_CONTEXT_H

#include "core/base/vec.h"
#include "language/jinja/node.h"

struct eval;
struct template;

struct context_variable {
    struct name *name;
    struct value value;
    bool exported; /* importers see it */
};

/* A block, and its template. */
struct block_ref {
    const struct node_block *block;
    const struct template *template;
};

/* All blocks of one name: the child's first, then those of its parents. */
struct block_stack {
    struct name *name;
    VEC(struct block_ref) refs;
};

struct context {
    const struct value *base; /* the host's map, or NULL: only globals */
    VEC(struct context_variable) vars;
    VEC(struct context_variable) handed; /* never changed: may be shared */
    VEC(struct block_stack *) blocks;
};

/* With a map of the host, or NULL. */
struct context *context_new(struct eval *eval, const struct value *base);
/* A copy of `from`, with the locals of the running function on top; for an include, an import with
 * context, or a scoped block. Blocks are not copied. */
struct context *context_derive(struct eval *eval, const struct context *from,
                               const struct locals *locals);

/* Absent when there is none. */
struct value context_find(struct eval *eval, const struct context *context, struct name *name);
/* All data by name, without functions and other objects. */
struct value context_all(struct eval *eval, const struct context *context);
void context_set(struct eval *eval, struct context *context, struct name *name, struct value value,
                 bool exported);

/* Append the blocks of a template to the existing ones. */
void context_add_blocks(struct eval *eval, struct context *context,
                        const struct template *template);
struct block_stack *context_find_blocks(const struct context *context, const struct name *name);

#endif
