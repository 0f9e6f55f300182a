/*
 * plan binding - binds a run to a stored dry run.
 *
 *     plan_binding_read -> plan_binding_compare with a new dry run -> state_host.plan_binding
 *
 * A change is identified by its `diff` and a hash of all its input: the current content, the new
 * content and the declaration, including what the report hides (secrets, show_changes, binary and
 * large content). The hash is keyed, and the key never leaves the data folder: otherwise a short
 * secret could be guessed.
 *
 * Before the run, a new dry run must report the same changes, or nothing runs. During the run only
 * states in the plan may change, since changes may cause further ones: a state outside the plan
 * that would have to change fails instead.
 *
 * Memory: the arena. Threads: any, once it is read.
 */
#ifndef STATES_RUN_PLAN_BINDING_H
#define STATES_RUN_PLAN_BINDING_H

#include <stdbool.h>

#include "core/base/map.h"
#include "core/base/sha256.h"
#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct diags;
struct err;
struct run_result;
struct value;

/* Created by the first dry run, in the data folder. */
#define PLAN_BINDING_KEY_FILE "plan.key"
#define PLAN_BINDING_KEY_SIZE 32
#define PLAN_BINDING_ID_SIZE  9

struct plan_binding_key {
    unsigned char bytes[PLAN_BINDING_KEY_SIZE];
    char id[PLAN_BINDING_ID_SIZE]; /* identifies the key; "": none, the folder is not writable */
};

struct plan_binding_change {
    struct str diff;
    const char *hash; /* "": none */
};

/* Names that differ by a secret alone are the same in a plan. */
struct plan_binding_changes {
    VEC(struct plan_binding_change) list;
};

struct plan_binding {
    struct map changes; /* by name: struct plan_binding_changes of the states of that name */
};

void plan_binding_find_key(const char *data_dir, struct plan_binding_key *ret_key);
/* "KEY:HASH" as text. */
const char *plan_binding_hash(struct arena *arena, const struct plan_binding_key *key,
                              const unsigned char hash[static SHA256_SIZE]);

/* Read the record of a dry run of `peel_id`, as --format json and yaml print it. */
int plan_binding_read(struct arena *arena, const struct value *record, const char *peel_id,
                      struct plan_binding *ret, struct err *err);
void plan_binding_add(struct arena *arena, struct plan_binding *plan_binding, const char *name,
                      const struct plan_binding_change *change);
/* Is the state in the plan? */
bool plan_binding_has(const struct plan_binding *plan_binding, const char *name);
/* Report changes of the dry run `now` that are missing from the plan or differ from it. */
int plan_binding_compare(const struct plan_binding *plan_binding, const struct run_result *now,
                         struct diags *diags);

#endif
