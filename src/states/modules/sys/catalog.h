/*
 * catalog - everything that can be called here: modules, and what the host has besides.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_SYS_CATALOG_H
#define STATES_MODULES_SYS_CATALOG_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/data/params.h"
#include "core/data/value.h"

struct manual_function;
struct state_run;

/* Until a row without a name; never NULL. */
const struct manual_function *catalog_functions(struct state_run *run);
/* All names that a pattern matches, sorted; those of states alone when asked for. A pattern is a
 * family ("file"), or matches a name ("file.*"). No pattern matches everything. */
struct value catalog_matching(struct state_run *run, const struct param_strs *patterns,
                              bool states_only);
/* The families that a pattern matches. */
struct value catalog_families(struct state_run *run, const struct param_strs *patterns,
                              bool states_only);

#endif
