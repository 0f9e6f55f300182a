/*
 * top - top files: the references of a machine.
 *
 *     base:
 *       'web*':
 *         - web
 *       'os_family:Debian':
 *         - match: grain
 *         - common
 *
 * Environments are labels: all are read, in document order, unless the machine belongs to one: then
 * only that one is. References come in the order in which they are first named, each once. `match`
 * is the type of the target (default: any expression), `ignore_missing: true` allows missing
 * references.
 *
 * Memory: views of the document. Threads: any.
 */
#ifndef LANGUAGE_TARGET_TOP_H
#define LANGUAGE_TARGET_TOP_H

#include "core/base/vec.h"
#include "language/target/target.h"

struct top_ref {
    const struct value *name; /* a text */
    const struct value *environment;
    bool optional;
};

struct top_refs {
    VEC(struct top_ref) list;
};

/* All may be NULL. */
struct top_options {
    const struct value *groups; /* groups for targets */
    const char *environment;    /* the only one to read; NULL: all of them */
};

/* Returns -1 when it added to `diags`. All mistakes are reported, except those in other
 * environments. */
int top_read(struct arena *arena, const struct value *doc, const struct target_subject *subject,
             const struct top_options *options, struct top_refs *ret_refs, struct diags *diags);

#endif
