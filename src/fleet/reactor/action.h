/*
 * action - the parsed and checked action of a reaction's block.
 *
 *     dispatch.module          a function on peels                     ACTION_DISPATCH
 *     dispatch.state           state.apply or state.highstate          ACTION_DISPATCH
 *     local.<module.function>  the same in Salt's syntax               ACTION_DISPATCH
 *     orchestrate              a tree of states run by a master        ACTION_DISPATCH
 *     enroll.approve|reject|revoke                                     ACTION_ENROLL
 *     event.send               another event                           ACTION_SEND
 *     log                      a line in the master's log              ACTION_LOG
 *
 * Fields are a map, or, as in Salt, a list of maps with one key each. Unknown fields are mistakes.
 * Event data gets into these fields through templates, so nothing is trusted: function names must
 * be well-formed, targets must parse.
 *
 * Pure. Memory: the arena, and views of the document. Threads: any.
 */
#ifndef FLEET_REACTOR_ACTION_H
#define FLEET_REACTOR_ACTION_H

#include <stdint.h>

#include "core/data/value.h"
#include "language/target/target.h"

struct arena;
struct buf;
struct diags;

/* Timeout of a job with `wait`. */
#define ACTION_WAIT_MAX (INT64_C(1800) * 1000000000)

/* The timeout of an orchestration, and its limit. */
#define ACTION_ORCHESTRATE     (INT64_C(1800) * 1000000000)
#define ACTION_ORCHESTRATE_MAX (INT64_C(86400) * 1000000000)

enum action_kind { ACTION_DISPATCH, ACTION_ENROLL, ACTION_SEND, ACTION_LOG };
enum action_decision { ACTION_APPROVE, ACTION_REJECT, ACTION_REVOKE };

struct action_dispatch {
    const char *target; /* as written */
    enum target_type type;
    const char *expr; /* both as one expression: "E@^web", for people and records */
    const char *function;
    struct value args;    /* a map; null: none */
    const char *state_id; /* the bare positional; "": none */
    int64_t timeout;      /* nanoseconds */
    int64_t max_targets;  /* 0: no limit */
    bool wait;            /* later blocks run after the job has ended */
    bool by_master;       /* an orchestration, run by a master */
};

struct action_enroll {
    enum action_decision decision;
    const char *id, *require_peel;
    const char *reason; /* "": none */
};

struct action_send {
    const char *tag;   /* with slashes, without the prefix of reactions */
    struct value data; /* a map; null: none */
};

struct action {
    const char *block;       /* the id of its block */
    const char *name;        /* "dispatch.module" */
    const struct value *key; /* the same, for its place in the document */
    enum action_kind kind;
    union {
        struct action_dispatch dispatch;
        struct action_enroll enroll;
        struct action_send send;
        const char *message; /* of log */
    };
};

/* Reads the block `id` with the value `body`. `groups` (name -> expression) may be NULL. Returns -1
 * if it added to `diags`. */
int action_read(struct arena *arena, const struct value *id, const struct value *body,
                const struct value *groups, struct action *ret_action, struct diags *diags);

/* Checks only the names of the action and its fields, for a block with unknown values. */
int action_check(struct arena *arena, const struct value *body, struct diags *diags);

/* In one line: "notify: dispatch service.restart nginx on 'web*' with {...}, timeout 1 m". */
void action_print(const struct action *action, struct buf *out);

/* The same in the arena, cut after OUTCOME_WHAT_MAX bytes, for the outcome's record. */
const char *action_summary(struct arena *arena, const struct action *action);

/* Is the action written literally in `key`, not the output of an expression? */
bool action_is_written(const struct action *action);

/* "approve", "reject", "revoke". */
const char *action_decision_name(enum action_decision decision);

#endif
