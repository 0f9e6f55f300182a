/*
 * top - top files: which references belong to a machine.
 *
 *     base:
 *       'web*':
 *         - web
 *       'os_family:Debian':
 *         - match: grain
 *         - common
 *
 * Environments are labels: all are read, in the order of the document, unless the machine
 * belongs to one: then that one alone is. References come in the order in which they are first
 * named, each once. `match` says how the target is meant (any expression, if it is not there),
 * `ignore_missing: true` that a reference may be missing.
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
    const struct value *groups; /* of targets */
    const char *environment;    /* the only one that counts; NULL: all of them */
};

/* Returns -1 when it added to `diags`; all mistakes are reported, those of other environments not.
 */
int top_read(struct arena *arena, const struct value *doc, const struct target_subject *subject,
             const struct top_options *options, struct top_refs *ret_refs, struct diags *diags);

#endif
