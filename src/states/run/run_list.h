/*
 * run list - the runs of this machine that changed something, as they are recorded for a revert.
 *
 * A run that changed nothing has no record, and old ones are removed (UNDO_KEEP_RUNS). A run whose
 * record is damaged is listed as far as it can be read, with `damage`; where not even its
 * references can be read, the rest is empty.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_RUN_RUN_LIST_H
#define STATES_RUN_RUN_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/record.h"

struct arena;
struct err;
struct state_host;
struct value;

/* Names of states in an item. */
#define RUN_LIST_NAMES 20
/* IDs are shown with at least this many characters. */
#define RUN_LIST_ID_LEAST 8

struct run_list_item {
    const char *id;
    struct value_time time; /* when it began */
    const char *by;         /* "user root", "operator ada", "schedule nightly"; "": unknown */
    const char *function;   /* "": unknown */
    struct param_strs refs;
    struct param_strs states; /* the first states that changed or failed */
    uint32_t changed, failed; /* states */
    bool reverted;            /* all of it */
    bool partly;              /* reverted in part: the next revert finishes it */
    const char *damage;       /* what cannot be read; "": nothing */
};
extern const struct record_type run_list_item_type;

struct run_list {
    VEC(struct run_list_item) list; /* newest first */
};

/* `refs`: as for a revert; "": all runs. */
int run_list_read(struct arena *arena, const struct state_host *host, const char *refs,
                  struct run_list *ret, struct err *err);
struct value run_list_value(struct arena *arena, const struct run_list *list);
/* Its function, and what that was called with: "state.apply web". */
const char *run_list_describe(struct arena *arena, const struct run_list_item *item);
/* "yes", "in part", or "". */
const char *run_list_reverted(const struct run_list_item *item);
/* The shortest length, from RUN_LIST_ID_LEAST on, that keeps these IDs apart. Sorts them. */
size_t run_list_id_length(const char **ids, size_t count);

#endif
