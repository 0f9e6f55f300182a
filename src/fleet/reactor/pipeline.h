/*
 * pipeline - from a delivered message to the rules that it fires.
 *
 *     pipeline_accept
 *       event gates, match   -> dropped, unmatched: acknowledge it
 *                            -> a reaction run (fleet/reactor/reaction_run.h), which does the
 *                               rest and ends with `effects.end`
 *
 * pipeline_use replaces the rules; runs keep the set that they were matched with. All side effects
 * go through the table of effects, which a master or a test fills.
 *
 * Pure but for the effects. Memory: pipeline_done frees, after all runs have ended. Threads: one,
 * but for reaction_run_render.
 */
#ifndef FLEET_REACTOR_PIPELINE_H
#define FLEET_REACTOR_PIPELINE_H

#include "core/base/arena.h"
#include "fleet/reactor/breaker.h"
#include "fleet/reactor/event_gate.h"
#include "fleet/reactor/throttle.h"

struct action_enroll;
struct reaction_run;
struct reaction_run_end;
struct reaction_run_job;
struct reaction_run_send;
struct rule_set;
struct value;

/* Pause before redelivery after a temporary failure. */
#define PIPELINE_NAK_NS (INT64_C(10) * 1000000000)
/* Maximum deliveries of a message. */
#define PIPELINE_DELIVERIES_MAX 5

/* Each of the first group begins an operation that ends, now or later, with a call on the reaction
 * run. */
struct pipeline_effects {
    /* reaction_run_render in any thread, then reaction_run_rendered. */
    void (*render)(void *user, struct reaction_run *reaction_run);
    /* Then reaction_run_answer. */
    void (*dispatch)(void *user, struct reaction_run *reaction_run,
                     const struct reaction_run_job *job);
    void (*enroll)(void *user, struct reaction_run *reaction_run, const char *rule,
                   const struct action_enroll *action);
    void (*send)(void *user, struct reaction_run *reaction_run,
                 const struct reaction_run_send *send);
    /* Wait for a dispatched job; then reaction_run_job_ended. */
    void (*await)(void *user, struct reaction_run *reaction_run,
                  const struct reaction_run_job *job);

    /* A line in the log. */
    void (*log)(void *user, const struct reaction_run *reaction_run, const char *rule,
                const char *message);
    /* The breaker of a rule has opened. */
    void (*opened)(void *user, const char *rule);
    /* Acknowledge the message, or ask for redelivery; then the run is freed. */
    void (*end)(void *user, struct reaction_run *reaction_run, const struct reaction_run_end *end);
    /* Facts of a peel, a map that lives as long as the arena; NULL: none. */
    const struct value *(*facts)(void *user, struct arena *arena, const char *peel);
    int64_t (*monotonic)(void *user);
    int64_t (*wall)(void *user); /* nanoseconds since 1970 */
};

struct pipeline_options {
    struct event_gate_options event_gate;
    bool enable_chaining;
    int64_t default_throttle; /* nanoseconds; 0: none */
    int64_t storm_rate;       /* fires of a rule in a minute; 0: no limit */
    int64_t breaker_cooldown; /* nanoseconds */
};

struct pipeline {
    struct pipeline_options options;
    const struct pipeline_effects *effects;
    void *user;
    struct event_gate event_gate;
    struct throttle throttle;
    struct breaker breaker;
    struct rule_set *rules; /* NULL: none yet */
    struct arena scratch;
    size_t runs; /* running */
};

void pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options,
                   const struct pipeline_effects *effects, void *user);
void pipeline_done(struct pipeline *pipeline);

/* Takes the caller's reference to `rules`. */
void pipeline_use(struct pipeline *pipeline, struct rule_set *rules);

struct pipeline_delivery {
    struct str subject, payload;
    unsigned number;    /* 1: the first time */
    uint64_t seq;       /* of the message in its stream */
    const char *parent; /* the id of its cause, from a header; NULL: none */
};

struct pipeline_verdict {
    enum event_gate_drop drop; /* EVENT_GATE_PASS: not dropped */
    size_t matches;            /* rules */
    const struct event_gate_event
        *event; /* valid until the next call, or as long as its reaction run */
    struct reaction_run *reaction_run; /* NULL: acknowledge it now */
};
/* A run begins with reaction_run_begin, once a worker is free. */
void pipeline_accept(struct pipeline *pipeline, const struct pipeline_delivery *delivery,
                     struct pipeline_verdict *ret_verdict);

#endif
