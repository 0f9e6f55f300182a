/*
 * job_run - one job that this master drives; the steps of fleet/master/jobs/dispatcher.h.
 *
 *     claim     active.<jid>, then the record
 *     mark      CAS to running
 *     send      one request per target
 *     watch     acks and returns, counted by fleet/jobs/job_counts.h
 *     end       CAS to the final status
 */
#ifndef FLEET_MASTER_JOBS_JOB_RUN_H
#define FLEET_MASTER_JOBS_JOB_RUN_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "fleet/bus/store.h"
#include "fleet/jobs/job_counts.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/publisher.h"
#include "core/sys/timers.h"
#include "fleet/wire/event.h"
#include "fleet/wire/subject.h"

struct job_rescue;
struct nats_nkey;
struct nats_ordered;
struct nats_sub;

/* Jobs to read from the stream. */
struct job_replays {
    struct job_run *first, *last; /* queued */
    size_t readers;               /* being read */
    bool is_held;                 /* start none: one is starting, or this master stops */
};

/* Jobs of masters that are gone. */
struct job_rescues {
    struct map known; /* struct job_rescue by jid */
    VEC(struct job_rescue *) waiting;
    size_t busy; /* jobs being read or taken over */
};

struct dispatcher {
    struct dispatcher_options options;
    struct nats_publisher *publisher; /* of events */
    struct nats_publisher *returns;   /* to the returns bucket */
    struct nats_listener listener;
    struct map runs; /* struct job_run by jid */
    struct job_replays replays;
    struct job_rescues rescues;
    uint64_t doubts; /* how often its ownership of jobs was in doubt */
    struct dispatcher_counts counts;
};

enum job_run_step {
    JOB_RUN_CLAIMING,
    JOB_RUN_TAKING, /* from another master */
    JOB_RUN_MARKING,
    JOB_RUN_REPLAYING, /* messages from before the takeover */
    JOB_RUN_WATCHING,
    JOB_RUN_ENDING,
    JOB_RUN_LINGERING, /* ended; late returns are still corrected */
    JOB_RUN_GONE,      /* freed when nothing is under way */
};

struct job_replay {
    enum { JOB_REPLAY_NONE, JOB_REPLAY_WAITS, JOB_REPLAY_READS } state;
    struct job_run *next, *previous; /* in the waiting list */
    size_t at;                       /* the next to read */
    bool is_due_again;               /* messages may have been missed since it began */
    struct timer retry;
    struct nats_ordered *consumer; /* NULL: the last messages are read one by one */
};

/* State of a job with waves. */
struct job_wave {
    struct timer timer;
    char gate[EVENT_JID_SIZE], revert[EVENT_JID_SIZE]; /* the last gate, and the revert */
    bool gate_is_sent, has_failed_gate;
    enum { JOB_WAVE_OPEN, JOB_WAVE_SETTLING, JOB_WAVE_SETTLED } end; /* is a revert due, or sent? */
};

struct job_run {
    struct dispatcher *dispatcher;
    struct arena arena;
    struct job job;
    enum job_run_step step;
    uint64_t revision; /* of the record */
    uint64_t epoch;
    int64_t began;     /* clock_now */
    dispatcher_fn *fn; /* NULL: no caller waits */
    void *self;

    struct job_counts *job_counts;
    bool is_batched;  /* a return may free a slot for the next target */
    struct map newer; /* by peel: the job that replaces this one there, while it waits */
    struct job_counts_orders orders;
    struct nats_sub *acks, *returns;
    struct job_replay replay;
    struct job_wave wave;
    struct buf request;
    struct timer timer;
    size_t pending; /* pending calls */
    size_t writes;  /* of these, returns being stored */
    unsigned tries;
    uint64_t doubts;      /* of the dispatcher, when ownership was last verified */
    uint64_t doubts_then; /* when the verification began */
    bool is_verifying;    /* verification runs */
    bool corrected;       /* a late return changed the counts */
    bool is_writing;      /* writing the end */
    bool is_caught_up;    /* the stream was read up to now */
    bool has_conflict;    /* a record existed at the claim */
    bool is_rescue;       /* takeover in progress */
    bool has_dropped;     /* dropped a message */
    bool has_unstored;    /* a counted return is not stored yet */
};

/* --- job_run.c: life, records and the end --------------------------------------------- */

struct timers *job_run_timers(const struct job_run *run);
struct job_run *job_run_new(struct dispatcher *dispatcher, const struct job *job);
/* Drop it immediately, unchanged. */
void job_run_drop(struct job_run *run);
/* End it, if it is this master's own work. */
void job_run_end_own(struct job_run *run);
/* Answer the dispatch request, once. */
void job_run_answer(struct job_run *run, enum dispatch_outcome outcome, const char *text);
/* A call has ended. False: the run is gone. */
bool job_run_came_back(struct job_run *run);
void job_run_arm(struct job_run *run, int64_t deadline, timer_fn *fn);
void job_run_disarm(struct job_run *run);
void job_run_copy(struct arena *arena, const struct job *from, struct job *to);

/* The key that signs requests and records; NULL: unsigned. */
const struct nats_nkey *job_run_signer(const struct job_run *run);
/* Sign a record of the job before it is written. */
void job_run_sign(struct job_run *run, struct job *job);
struct nats_kv job_run_bucket(const struct job_run *run, enum store_bucket bucket);
struct value_time job_run_time(void);
struct str job_run_encode(struct arena *arena, const struct record_type *type, const void *record);
const char *job_run_active_key(struct arena *arena, const char *jid);
struct str job_run_subject(struct arena *arena, enum subject_kind kind, const char *jid,
                           const char *peel);
void job_run_publish(struct job_run *run, enum subject_kind subject, enum job_event_kind kind,
                     struct value data);
/* Write the final status. */
void job_run_end(struct job_run *run);
/* A real return replaced a made-up one. */
void job_run_correct(struct job_run *run);
/* Drop it: another master owns the record. */
void job_run_leave(struct job_run *run);

/* --- job_claim.c ------------------------------------------------------------------------ */

/* `is_again`: there may be a record. */
void job_run_claim(struct job_run *run, bool is_again);
/* Take it over, from the record that was read. */
void job_run_take(struct job_run *run, uint64_t revision);

/* --- job_watch.c ------------------------------------------------------------------------ */

int job_run_subscribe(struct job_run *run, struct err *err);
void job_run_make_counts(struct job_run *run);
/* Send due requests, and wait for answers. */
void job_run_watch(struct job_run *run);
/* The stream has been read. */
void job_run_go_on(struct job_run *run);
/* Is it running, or has just ended, with a real return of the peel stored? */
bool job_run_knows_return(const struct job_run *run, struct str peel);
/* Hands over a return from the stream. False: not now. */
bool job_run_hand_return(struct job_run *run, struct str subject, struct str payload);
/* False: not waiting for answers. */
bool job_run_cancel(struct job_run *run);
/* Another job was dispatched, or recorded: it may replace this one on peels where both wait. */
void job_run_note_job(struct job_run *run, const struct job *other);
void job_run_note_gone(struct job_run *run, struct str peel);
void job_run_note_ack(void *self, const struct nats_msg *msg);
void job_run_note_return(struct job_run *run, struct str subject, struct str payload);
/* A number from the metadata. */
size_t job_run_number(const struct job *job, const char *key, size_t fallback);

/* Do what is due, if it waits for answers. */
void job_run_advance(struct job_run *run);

/* --- job_wave.c ------------------------------------------------------------------------- */

/* Check the health of the wave's peels; then job_run_advance. */
void job_run_ask_gate(struct job_run *run);
/* Is it ready to write its end? False: job_run_end is called again. */
bool job_run_has_settled(struct job_run *run);
/* End the waves. */
void job_run_end_wave(struct job_run *run);

/* --- job_rescue.c ------------------------------------------------------------------------ */

/* End the rescue, if there is one. */
void job_run_rescued(struct job_run *run);
/* Drop the waiting ones. */
void job_rescues_drop(struct job_rescues *rescues);

/* --- job_replay.c ------------------------------------------------------------------------ */

/* Note acks and returns from the stream, when it is its turn, then job_run_go_on. */
void job_run_replay(struct job_run *run);
bool job_run_is_replaying(const struct job_run *run);
/* Stop it; job_run_go_on is not called. */
void job_run_end_replay(struct job_run *run);

#endif
