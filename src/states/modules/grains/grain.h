/*
 * grain - a fact of the administrator that a state manages: Salt's states of grains.
 *
 * The facts are in the file that facts.set writes. A state compares the value that the file has,
 * or else the one that was detected, and writes the whole file anew; facts are collected again
 * once it has run.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_GRAINS_GRAIN_H
#define STATES_MODULES_GRAINS_GRAIN_H

#include <stdbool.h>

#include "core/data/params.h"

struct diags;
struct err;
struct state_run;
struct value;

struct grain_args {
    const char *name, *delimiter;
    const struct value *value;
    bool force, convert, destructive;
};

/* How to change a grain. */
enum grain_fate { GRAIN_STAYS, GRAIN_IS_SET, GRAIN_IS_REMOVED };

/* `now` is NULL when there is no such grain. Sets `ret` when the grain is set. */
typedef int grain_decide_fn(struct state_run *run, const struct grain_args *want,
                            const struct value *now, struct value *ret, enum grain_fate *ret_fate,
                            struct err *err);

/* clang-format off */
#define GRAIN_NAME \
    PARAM("name", STR, struct grain_args, name, "path of the grain", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED)
#define GRAIN_VALUE \
    PARAM("value", ANY, struct grain_args, value, "its value", .flags = PARAM_REQUIRED)
#define GRAIN_VALUES \
    PARAM("value", ANY, struct grain_args, value, "an item, or a list of items", .flags = PARAM_REQUIRED)
#define GRAIN_DELIMITER \
    PARAM("delimiter", STR, struct grain_args, delimiter, "between the parts of the path", .default_text = ":", .flags = PARAM_FILLED)
#define GRAIN_FORCE \
    PARAM("force", BOOL, struct grain_args, force, "also when it is a list or a map")
/* clang-format on */

int grain_validate(const void *args, const struct value *where, struct diags *diags);
int grain_check(struct state_run *run, const struct grain_args *want, grain_decide_fn *decide,
                struct err *err);
int grain_apply(struct state_run *run, const struct grain_args *want, grain_decide_fn *decide,
                struct err *err);

/* A list or a map is kept unless the state is forced. */
int grain_check_force(const struct grain_args *want, const struct value *now, struct err *err);
/* Is an item in the list? */
bool grain_has(const struct value *list, const struct value *item);
/* Call `visit` for the value of the state, or for each of its values. */
typedef void grain_visit_fn(struct state_run *run, struct value *list, const struct value *item);
void grain_each(struct state_run *run, const struct grain_args *want, grain_visit_fn *visit,
                struct value *list);

/* The functions of a state, from what it decides. */
#define GRAIN_STATE(decide)                                                                        \
    static int state_check(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        return grain_check(run, args, decide, err);                                                \
    }                                                                                              \
    static int state_apply(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        return grain_apply(run, args, decide, err);                                                \
    }
#define GRAIN_STATE_FIELDS(table)                                                                  \
    .params = table, .args_size = sizeof(struct grain_args), .flags = MODULE_FACTS,                \
    .lock = "facts", .validate = grain_validate, .check = state_check, .apply = state_apply

#endif
