/*
 * reactor_engine - the reactor of a master, shared by the sources of its service: messages of the
 * consumer become deliveries, each with a reaction run (fleet/reactor/reaction_run.h), which
 * renders in a worker and acts on the bus.
 *
 *     reactor_service.c    life, health, messages
 *     reactor_render.c     rendering, by workers or at once
 *     reactor_acts.c       actions of blocks: jobs, enrollments, events, log
 *     reactor_waits.c      blocks that wait for their job
 *     reactor_outcomes.c   outcomes of events, in the bucket
 *     reactor_exhausted.c  events that the server gave up
 *     reactor_again.c      sending those again
 *     reactor_audit.c      unacknowledged events that are not redelivered
 *     reactor_test.c       answers `zester reactor test`
 *
 * The reactor pulls only as many messages as it can hold. An event that waits for a job frees its
 * slot, but is not given back: that would use up a delivery, and the server counts it as pending
 * anyway. The server's limit (64 for all masters) is the bound. Held events are reported as in
 * progress every REACTOR_TICK_NS.
 *
 * Threads: the loop's, except for rendering.
 */
#ifndef FLEET_MASTER_REACTOR_REACTOR_ENGINE_H
#define FLEET_MASTER_REACTOR_REACTOR_ENGINE_H

#include <stdatomic.h>

#include "core/base/rate.h"
#include "fleet/master/master.h"
#include "fleet/reactor/reaction_run.h"
#include "fleet/reactor/pipeline.h"
#include "core/sys/background_task.h"

struct reaction_env;
struct nats_consumer_info;
struct reactor_audit;
struct reactor_render_slot;
struct reactor_wait;
struct rule_file;
struct nats_puller;
struct nats_publisher;
struct nats_stored;
struct nats_sub;
struct rule_watch;

/* Messages held at once, per worker and in total. */
#define REACTOR_HELD_EACH 8
#define REACTOR_HELD_MAX  64
/* Renderings queued per worker, so that the next one is ready when the last is done. */
#define REACTOR_SLOTS_EACH 4
/* Maximum size of payload and template for rendering without a worker. */
#define REACTOR_QUICK_MAX ((size_t)4096)
#define REACTOR_TICK_NS   (INT64_C(15) * 1000000000)
/* Maximum size of a sent event. */
#define REACTOR_EVENT_BYTES ((size_t)1 << 20)
/* Header of an event sent by a reaction: the id of its cause. */
#define REACTOR_PARENT_HEADER "Zester-Parent"
/* Header of an event that a master sent again. */
#define REACTOR_AGAIN_HEADER "Zester-Again"

struct reactor_engine {
    struct master *master;
    bool is_on; /* reactor.enabled */
    struct pipeline pipeline;
    struct rule_watch *rules;
    struct nats_puller *puller;
    struct nats_publisher *publisher;
    struct nats_sub *tests, *retries;
    struct nats_puller *exhausted;
    struct background_tasks background_tasks;
    struct reactor_render_slot *slots; /* REACTOR_SLOTS_EACH for each worker */
    size_t slot_count;
    struct reaction_env *quick;            /* for rendering without a worker */
    int64_t quick_early;                   /* soft deadline of the running one */
    int64_t quick_until;                   /* hard deadline, in CPU time; 0: before the soft one */
    VEC(const struct rule_file *) slow;    /* files of the current rules that were too slow */
    struct reactor_delivery *first, *last; /* all of them */
    struct reactor_delivery *queued, **queue; /* waiting for a slot */
    struct reactor_wait *waits;
    size_t waiting; /* number of waiting ones */
    struct reactor_audit *audit;
    struct timer begin, tick;
    struct rate notes; /* limits outcomes of events without action */
    bool has_rules;
    char problem[HEALTH_TEXT_MAX]; /* why the newest rules were not loaded; "": loaded */
    atomic_bool is_stopping;
    bool is_parting; /* stopping, with the bus still connected */
    size_t trials;   /* running rule tests */
};

/* A message in progress. */
struct reactor_delivery {
    struct reactor_engine *engine;
    struct reaction_run *reaction_run;
    struct reactor_delivery *previous, *next;
    struct reactor_delivery *queue_next;
    struct str reply;
    uint64_t seq;       /* of its message */
    bool is_small;      /* a small event */
    bool is_last;       /* the last delivery */
    bool is_again;      /* given up before, and sent again */
    bool has_left_room; /* its slot was freed while it waits */
    char bytes[];
};

int64_t reactor_monotonic(void *user);
int64_t reactor_wall(void *user);
const struct value *reactor_facts(void *user, struct arena *arena, const char *peel);
/* For rendering, from any thread. */
bool reactor_is_stopping(void *user);

/* --- reactor_render.c --- */
void reactor_render(void *user, struct reaction_run *reaction_run);
void reactor_open_renderings(struct reactor_engine *engine);
/* Stop rendering; its events are postponed. */
void reactor_end_renderings(struct reactor_engine *engine);
void reactor_free_renderings(struct reactor_engine *engine);

/* --- reactor_acts.c --- */
void reactor_dispatch(void *user, struct reaction_run *reaction_run,
                      const struct reaction_run_job *job);
void reactor_enroll(void *user, struct reaction_run *reaction_run, const char *rule,
                    const struct action_enroll *action);
void reactor_send(void *user, struct reaction_run *reaction_run,
                  const struct reaction_run_send *send);
void reactor_log(void *user, const struct reaction_run *reaction_run, const char *rule,
                 const char *message);

/* --- reactor_waits.c --- */
void reactor_await(void *user, struct reaction_run *reaction_run,
                   const struct reaction_run_job *job);
/* End all waits; their events are postponed. */
void reactor_end_waits(struct reactor_engine *engine);
/* In reactor_service.c: another message may be pulled meanwhile. */
void reactor_leave_room(struct reactor_delivery *delivery);

/* --- reactor_outcomes.c --- */
/* An event without reaction: dropped (with a reason) or unmatched (GATE_PASS). In a flood, some are
 * left out. */
void reactor_note_event(struct reactor_engine *engine, const struct pipeline_delivery *delivery,
                        const struct pipeline_verdict *verdict);
/* An event whose rules have ended. In a flood, some that only logged are left out. */
void reactor_note_end(struct reactor_engine *engine, const struct outcome *outcome);
/* Store an outcome; `fn` is called on success or failure; may be NULL. */
void reactor_keep_outcome(struct reactor_engine *engine, const struct outcome *outcome,
                          void (*fn)(void *self), void *self);

/* --- reactor_exhausted.c --- */
/* An event failed in all deliveries. Count it, log it, announce _master/reactor/exhausted, record
 * it, and call `fn`. */
void reactor_give_up(struct reactor_engine *engine, const struct outcome *outcome,
                     void (*fn)(void *self), void *self);
/* Listen to server advisories, and to operators who send an event again. */
int reactor_watch_exhausted(struct reactor_engine *engine, struct err *err);
void reactor_leave_exhausted(struct reactor_engine *engine);

/* An event that was never acknowledged, and is not redelivered: record it as given up, unless it
 * has an outcome or matches no rule. `fn` is called once. */
typedef void reactor_salvaged_fn(void *self, const char *problem);
void reactor_salvage(struct reactor_engine *engine, uint64_t seq, reactor_salvaged_fn *fn,
                     void *self);
/* An event that may never have been delivered: send it again, unless it has an outcome, was sent
 * again before, or matches no rule. */
void reactor_recall(struct reactor_engine *engine, uint64_t seq, reactor_salvaged_fn *fn,
                    void *self);

/* --- reactor_again.c --- */
struct reactor_again;
/* Prepare to resend an event that was given up. Copies its arguments; reactor_again_send frees
 * it. */
struct reactor_again *reactor_again_new(struct reactor_engine *engine,
                                        const struct outcome *outcome);
enum reactor_again_mode {
    REACTOR_AGAIN_ONCE,  /* unchanged, unless resent this way before */
    REACTOR_AGAIN_ASKED, /* with a new time: an operator asked for it */
};
/* `seq` is its new position in the stream; `problem` is NULL, or why it was not sent. */
typedef void reactor_again_fn(void *self, const char *problem, uint64_t seq);
void reactor_again_send(struct reactor_again *again, enum reactor_again_mode mode,
                        reactor_again_fn *fn, void *self);
/* Was it resent by a master? */
bool reactor_was_sent_again(const struct nats_stored *msg);
/* Listen to operators who send an event again. */
int reactor_serve_retries(struct reactor_engine *engine, struct err *err);

/* --- reactor_audit.c --- */
void reactor_begin_audit(struct reactor_engine *engine);
/* A stream message was acknowledged. */
void reactor_note_ack(struct reactor_engine *engine, uint64_t seq);
/* New consumer info: nothing up to its floor is redelivered. */
void reactor_note_look(struct reactor_engine *engine, const struct nats_consumer_info *info);
void reactor_end_audit(struct reactor_engine *engine);
/* Only when nothing is pending. */
void reactor_free_audit(struct reactor_engine *engine);

/* --- reactor_test.c --- */
int reactor_serve_tests(struct reactor_engine *engine, struct err *err);

#endif
