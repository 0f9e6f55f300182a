/*
 * checksums - the hash of a file, from an expression or from a file of checksums, as Salt's
 * functions return it: a map of hsum and hash_type.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_FILE_CHECKSUMS_H
#define STATES_MODULES_FILE_CHECKSUMS_H

#include <stddef.h>

#include "core/base/str.h"

struct digest;
struct state_run;
struct value;

/* The names that a line may have, in this order; an empty or NULL one is none. */
struct checksums_names {
    const char *p[3];
};

/* The hash of the first name that the text has, else its first hash; null when it has none of this
 * kind. Any kind when `kind` is NULL. */
void checksums_pick(struct state_run *run, struct str text, const struct digest *kind,
                    const struct checksums_names *names, struct value *ret);
/* { hsum, hash_type } */
struct value checksums_value(struct state_run *run, const struct digest *kind, struct str digits);

#endif
