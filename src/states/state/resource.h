/*
 * resource - a thing that states find, create, alter and drop: a database, an account, a grant.
 *
 * A family fills in one table for its thing. `present` and `absent`, their dry runs and reverts
 * follow from it:
 *
 *                      is missing         differs              is as wanted
 *     apply present    note, define       note, define         unchanged
 *     apply absent     unchanged                        note, drop
 *     revert           of what was created: drop; else define, as it was
 *
 * Attributes are texts. The driver compares them, reports and notes each, and says which to set.
 * Functions add what a table cannot say. Check and apply ask the same `compare`, so what a dry run
 * reports is what a run changes.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_STATE_RESOURCE_H
#define STATES_STATE_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct state_run;

#define RESOURCE_ATTRIBUTES_MAX 8

struct resource_attribute {
    const char *word;                                   /* in reports */
    const char *key;                                    /* of its note, and of its parameter */
    size_t want;                                        /* offset of its text in the arguments */
    bool (*is_same)(const char *now, const char *want); /* NULL: the same text */
    bool fixed;                                         /* it cannot be altered */
    bool loose; /* a revert leaves it alone unless the state set it */
};

struct resource_seen {
    bool exists;
    const char *values[RESOURCE_ATTRIBUTES_MAX]; /* NULL: not known */
    const void *more;                            /* of the family */
};

/* Content that is lost with it. */
struct resource_contents {
    const char *key;   /* of the note with their number */
    const char *words; /* "tables" */
    int (*count)(struct state_run *run, const void *args, int64_t *ret, struct err *err);
};

struct resource {
    const char *kind;   /* "database": in reports; NULL: `compare` reports everything */
    const char *detail; /* the detail that has its name; NULL: none */
    size_t name;        /* offset of its text in the arguments */
    const char *missing, *exists, *made; /* NULL: "does not exist", "exists", "created" */
    const char *mark; /* the note that says whether it existed; NULL: "existed" */
    const struct resource_attribute *attributes;
    size_t n;                                 /* of attributes */
    const struct resource_contents *contents; /* NULL: none */

    /* All but `find`, `define` and `drop` may be NULL. "database 'app'", if kind and name are not
     * enough. */
    const char *(*describe)(struct state_run *run, const void *args);
    /* For dry runs: there is no server yet; it reported that. */
    bool (*is_away)(struct state_run *run, const void *args);
    int (*find)(struct state_run *run, const void *args, struct resource_seen *ret,
                struct err *err);
    /* Report how one that exists differs, attributes aside. It may be asked without a reader. */
    int (*compare)(struct state_run *run, const void *args, const struct resource_seen *now,
                   struct err *err);
    /* Details, and notes for a revert. */
    int (*note)(struct state_run *run, const void *args, const struct resource_seen *now,
                struct err *err);
    /* Create it, or alter it if it exists now. Values of `as` are those to set, NULL to leave one
     * alone. `as` exists: it was like this before, and this is a revert. */
    int (*define)(struct state_run *run, const void *args, const struct resource_seen *now,
                  const struct resource_seen *as, struct err *err);
    int (*drop)(struct state_run *run, const void *args, struct err *err);
    /* Revert it to what `note` has noted, instead of `define`. */
    int (*restore)(struct state_run *run, const void *args, const struct resource_seen *now,
                   struct err *err);
};

enum resource_goal { RESOURCE_PRESENT, RESOURCE_ABSENT };

int resource_check(struct state_run *run, const struct resource *resource, enum resource_goal goal,
                   const void *args, struct err *err);
int resource_apply(struct state_run *run, const struct resource *resource, enum resource_goal goal,
                   const void *args, struct err *err);
int resource_revert(struct state_run *run, const struct resource *resource, enum resource_goal goal,
                    const void *args, struct err *err);

/* The functions of a state, and its fields. */
#define RESOURCE_STATE(resource, goal)                                                             \
    static int state_check(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        return resource_check(run, &(resource), goal, args, err);                                  \
    }                                                                                              \
    static int state_apply(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        return resource_apply(run, &(resource), goal, args, err);                                  \
    }                                                                                              \
    static int state_revert(struct state_run *run, const void *args, struct err *err)              \
    {                                                                                              \
        return resource_revert(run, &(resource), goal, args, err);                                 \
    }
/* clang-format off */
#define RESOURCE_STATE_FIELDS .flags = MODULE_DRY_REVERT, .check = state_check, .apply = state_apply, .revert = state_revert
/* clang-format on */

#endif
