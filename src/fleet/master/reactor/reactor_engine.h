/*
 * reactor_engine - the reactor of a master, for the files of its service: messages of the consumer
 * become missions, each with a reaction run (fleet/reactor/reaction_run.h) that renders in a worker
 * and acts on the bus.
 *
 *     reactor_service.c    life, health, messages
 *     reactor_render.c     rendering, by workers or at once
 *     reactor_acts.c       what blocks do: jobs, enrollments, events, log
 *     reactor_waits.c      blocks that wait for their job
 *     reactor_outcomes.c   what became of events, in the bucket
 *     reactor_exhausted.c  events that the server gave up
 *     reactor_again.c      how those are sent again
 *     reactor_audit.c      events that nobody has acknowledged, and that do not come again
 *     reactor_test.c       the answer to `zester reactor test`
 *
 * No more messages are taken than there is room for, so none has to be refused. An event that waits
 * for a job leaves its room to others, and is held however many wait: to give it back would count
 * as a delivery, and bring nothing, since the server counts it among those that are out all the
 * same. Its limit of those (64 for all masters together) is the bound. While it is held, the server
 * hears every REACTOR_TICK_NS that it is in progress.
 *
 * Threads: the loop's, but for renderings.
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

/* Messages that are held at once, for each worker, and in all. */
#define REACTOR_HELD_EACH 8
#define REACTOR_HELD_MAX  64
/* Renderings that are handed to each worker at once, so that it finds the next one when it is done
 * with the last. */
#define REACTOR_SLOTS_EACH 4
/* Bytes of a payload, and of a template, that may be rendered without a worker. */
#define REACTOR_QUICK_MAX ((size_t)4096)
#define REACTOR_TICK_NS   (INT64_C(15) * 1000000000)
/* Of an event that is sent. */
#define REACTOR_EVENT_BYTES ((size_t)1 << 20)
/* Of an event that a reaction has sent: the id of the event that caused it. */
#define REACTOR_PARENT_HEADER "Zester-Parent"
/* Of an event that a master has sent again. */
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
    struct reaction_env *quick;         /* of renderings that need no worker */
    int64_t quick_early;                /* when the one under way should have ended */
    int64_t quick_until;                /* in processor time, when it has to; 0: it is early */
    VEC(const struct rule_file *) slow; /* files that have taken longer, of the rules as they are */
    struct reactor_delivery *first, *last;    /* all of them */
    struct reactor_delivery *queued, **queue; /* those that wait for a bench */
    struct reactor_wait *waits;
    size_t waiting; /* so many */
    struct reactor_audit *audit;
    struct timer begin, tick;
    struct rate notes; /* outcomes of events that nothing was done for */
    bool has_rules;
    char problem[HEALTH_TEXT_MAX]; /* why the newest rules were not loaded; "": they were */
    atomic_bool is_stopping;
    bool is_parting; /* it stops, and the bus still takes what is said */
    size_t trials;   /* tests of rules under way */
};

/* A message that is being worked on. */
struct reactor_delivery {
    struct reactor_engine *engine;
    struct reaction_run *reaction_run;
    struct reactor_delivery *previous, *next;
    struct reactor_delivery *queue_next;
    struct str reply;
    uint64_t seq;       /* of its message */
    bool is_small;      /* its event */
    bool is_last;       /* it will not be delivered again */
    bool is_again;      /* it was given up before, and sent again */
    bool has_left_room; /* while it waits, another message was taken */
    char bytes[];
};

int64_t reactor_monotonic(void *user);
int64_t reactor_wall(void *user);
const struct value *reactor_facts(void *user, struct arena *arena, const char *peel);
/* For renderings, from any thread. */
bool reactor_is_stopping(void *user);

/* --- reactor_render.c --- */
void reactor_render(void *user, struct reaction_run *reaction_run);
void reactor_open_renderings(struct reactor_engine *engine);
/* Renderings end early; what they belong to is postponed. */
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
/* The wait is over: their events are postponed. */
void reactor_end_waits(struct reactor_engine *engine);
/* Of reactor_service.c: another message may be taken meanwhile. */
void reactor_leave_room(struct reactor_delivery *delivery);

/* --- reactor_outcomes.c --- */
/* An event that passed by: dropped (a reason) or unmatched (GATE_PASS). Under a flood, some are
 * left out. */
void reactor_note_event(struct reactor_engine *engine, const struct pipeline_delivery *delivery,
                        const struct pipeline_verdict *verdict);
/* An event whose rules have ended. Under a flood, some that only logged a line are left out. */
void reactor_note_end(struct reactor_engine *engine, const struct outcome *outcome);
/* Keep it; `fn` is called when it is kept, or cannot be; may be NULL. */
void reactor_keep_outcome(struct reactor_engine *engine, const struct outcome *outcome,
                          void (*fn)(void *self), void *self);

/* --- reactor_exhausted.c --- */
/* An event failed as often as the server delivers. Count it, tell who reads the log and who has
 * rules for _master/reactor/exhausted, record it, and call `fn`. */
void reactor_give_up(struct reactor_engine *engine, const struct outcome *outcome,
                     void (*fn)(void *self), void *self);
/* Listen to what the server says, and to operators who send an event again. */
int reactor_watch_exhausted(struct reactor_engine *engine, struct err *err);
void reactor_leave_exhausted(struct reactor_engine *engine);

/* An event that no master has acknowledged and that does not come again: record it as given up,
 * unless its outcome is on record or no rule is for it. `fn` is called once. */
typedef void reactor_salvaged_fn(void *self, const char *problem);
void reactor_salvage(struct reactor_engine *engine, uint64_t seq, reactor_salvaged_fn *fn,
                     void *self);
/* An event that may never have been delivered: send it again, unless an outcome of it is on record,
 * it was sent again before, or no rule is for it. */
void reactor_recall(struct reactor_engine *engine, uint64_t seq, reactor_salvaged_fn *fn,
                    void *self);

/* --- reactor_again.c --- */
struct reactor_again;
/* An event that was given up. Copies what it needs; its end is that of reactor_again_send. */
struct reactor_again *reactor_again_new(struct reactor_engine *engine,
                                        const struct outcome *outcome);
enum reactor_again_mode {
    REACTOR_AGAIN_ONCE,  /* as it is, unless it was sent again in this way before */
    REACTOR_AGAIN_ASKED, /* with a new time: an operator has decided that it is not too old */
};
/* `seq` is where the stream has it now; `problem` says why it was not sent, else it is NULL. */
typedef void reactor_again_fn(void *self, const char *problem, uint64_t seq);
void reactor_again_send(struct reactor_again *again, enum reactor_again_mode mode,
                        reactor_again_fn *fn, void *self);
/* Did a master send it again? */
bool reactor_was_sent_again(const struct nats_stored *msg);
/* Listen to operators who send an event again. */
int reactor_serve_retries(struct reactor_engine *engine, struct err *err);

/* --- reactor_audit.c --- */
void reactor_begin_audit(struct reactor_engine *engine);
/* A message of the stream was acknowledged. */
void reactor_note_ack(struct reactor_engine *engine, uint64_t seq);
/* The consumer was looked at: nothing up to its floor is delivered again. */
void reactor_note_look(struct reactor_engine *engine, const struct nats_consumer_info *info);
void reactor_end_audit(struct reactor_engine *engine);
/* When nothing of it is under way. */
void reactor_free_audit(struct reactor_engine *engine);

/* --- reactor_test.c --- */
int reactor_serve_tests(struct reactor_engine *engine, struct err *err);

#endif
