/*
 * action_reader - reading the fields of actions; for the files of fleet/reactor/action.h.
 */
#ifndef FLEET_REACTOR_ACTION_READER_H
#define FLEET_REACTOR_ACTION_READER_H

#include "core/data/params.h"
#include "fleet/reactor/action.h"

/* Context for reading fields of a block. */
struct action_reader {
    struct arena *arena;
    const char *name;          /* of the action */
    const struct value *body;  /* the fields: a map */
    const struct value *where; /* of the action, for mistakes */
    const struct value *groups;
    struct diags *diags;
};

#define ACTION_LOCAL "local."

int action_read_fields(const struct action_reader *r, const struct param *table, void *args);
/* Null for a missing value. */
struct value action_value(const struct value *v);

/* --- action_dispatch.c: actions that make jobs -------------------------------------------------
 * */

/* Fields of dispatch.module and dispatch.state. */
struct action_dispatch_fields {
    const char *target, *target_type, *function, *state_id, *sls;
    const struct value *args;
    int64_t timeout, max_targets;
    bool highstate, wait;
};
struct action_local_fields {
    const char *tgt, *tgt_type;
    struct param_strs arg;
    const struct value *kwarg;
    int64_t timeout;
};
struct action_orchestrate_fields {
    struct param_strs sls;
    const struct value *peel_settings;
    int64_t timeout;
    bool test, wait;
};

extern const struct param action_module_params[], action_state_params[], action_local_params[],
    action_orchestrate_params[];

int action_read_module(const struct action_reader *r, struct action *action);
int action_read_state(const struct action_reader *r, struct action *action);
int action_read_local(const struct action_reader *r, struct action *action);
int action_read_orchestrate(const struct action_reader *r, struct action *action);

#endif
