/*
 * plan binding - a dry run that was stored, and that a run is held to.
 *
 *     plan_binding_read -> plan_binding_compare with a dry run of now -> state_host.plan binding
 * for the run
 *
 * A change is known by its `diff` and by a hash of all that it is made of: what is there, what
 * would be there and what the state declares, also where the report hides it (secrets,
 * show_changes, binary and large content). The hash has a key that never leaves the data folder:
 * without it a short secret could be found by trying.
 *
 * Before the run, a dry run must say the same of every state that would change, or
 * nothing begins. During the run only states that were expected to change may do so,
 * since changes may lead to more than was foreseen: one that has to change beyond that
 * fails instead.
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

/* Made by the first dry run, in the data folder. */
#define PLAN_BINDING_KEY_FILE "plan.key"
#define PLAN_BINDING_KEY_SIZE 32
#define PLAN_BINDING_ID_SIZE  9

struct plan_binding_key {
    unsigned char bytes[PLAN_BINDING_KEY_SIZE];
    char id[PLAN_BINDING_ID_SIZE]; /* tells keys apart; "": none, since the folder cannot be written
                                    */
};

struct plan_binding_change {
    struct str diff;
    const char *hash; /* "": none */
};

/* Names that differ by a secret alone are the same in a plan. */
struct plan_binding_changes {
    VEC(struct plan_binding_change) list;
};

struct plan_binding_args {
    struct map changes; /* by name: struct plan_binding_changes of the states of that name */
};

void plan_binding_find_key(const char *data_dir, struct plan_binding_key *ret_key);
/* "KEY:HASH" as text. */
const char *plan_binding_hash(struct arena *arena, const struct plan_binding_key *key,
                              const unsigned char hash[static SHA256_SIZE]);

/* From the record of a dry run of the machine `peel_id`, as --format json and yaml print it. */
int plan_binding_read(struct arena *arena, const struct value *record, const char *peel_id,
                      struct plan_binding *ret, struct err *err);
void plan_binding_add(struct arena *arena, struct plan_binding *plan_binding, const char *name,
                      const struct plan_binding_change *change);
/* May the state change? */
bool plan_binding_has(const struct plan_binding *plan_binding, const char *name);
/* Report what a dry run of now would do beyond it, or differently. */
int plan_binding_compare(const struct plan_binding *plan_binding, const struct run_result *now,
                         struct diags *diags);

#endif
