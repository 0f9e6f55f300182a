/*
 * job_run - one job that this master drives; the steps of fleet/master/jobs/dispatcher.h.
 *
 *     claim: active.<jid>, then the record      mark: CAS to running      send: one request a
 * target watch: acks and returns, by fleet/jobs/job_counts.h  end: CAS to the final status
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
    struct job_run *first, *last; /* wait for their turn */
    size_t readers;               /* are being read */
    bool is_held;                 /* none is begun: one is just now, or this master ends */
};

/* Jobs of other masters, that are gone. */
struct job_rescues {
    struct map known; /* struct job_rescue by jid: waits, or is read */
    VEC(struct job_rescue *) waiting;
    size_t busy; /* are being read or taken over */
};

struct dispatcher {
    struct dispatcher_options options;
    struct nats_publisher *publisher; /* of events */
    struct nats_publisher *returns;   /* to their bucket */
    struct nats_listener listener;
    struct map runs; /* struct job_run by jid */
    struct job_replays replays;
    struct job_rescues rescues;
    uint64_t doubts; /* whether its jobs are still its own */
    struct dispatcher_counts counts;
};

enum job_run_step {
    JOB_RUN_CLAIMING,
    JOB_RUN_TAKING, /* over, from another master */
    JOB_RUN_MARKING,
    JOB_RUN_REPLAYING, /* what came before we took over */
    JOB_RUN_WATCHING,
    JOB_RUN_ENDING,
    JOB_RUN_LINGERING, /* ended; late returns are still corrected */
    JOB_RUN_GONE,      /* freed when nothing is under way */
};

struct job_replay {
    enum { JOB_REPLAY_NONE, JOB_REPLAY_WAITS, JOB_REPLAY_READS } state;
    struct job_run *next, *previous; /* that wait */
    size_t at;                       /* what is read next */
    bool is_due_again;               /* something may have been missed since it began */
    struct timer retry;
    struct nats_ordered *consumer; /* NULL: the last messages are read one by one */
};

/* Of a job that goes in waves. */
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
    dispatcher_fn *fn; /* NULL: nobody waits */
    void *self;

    struct job_counts *job_counts;
    bool is_batched;  /* a return may make room for the next target */
    struct map newer; /* by peel: the id of a job that replaces this one there, while it waits */
    struct job_counts_orders orders;
    struct nats_sub *acks, *returns;
    struct job_replay replay;
    struct job_wave wave;
    struct buf request;
    struct timer timer;
    size_t pending; /* calls that will call back */
    size_t writes;  /* of them, returns that are being stored */
    unsigned tries;
    uint64_t doubts;      /* of the dispatcher, when it was last known to be ours */
    uint64_t doubts_then; /* when the reading began that tells whether it is */
    bool is_verifying;    /* that is under way */
    bool corrected;       /* a late return changed the counts */
    bool is_writing;      /* the end */
    bool is_caught_up;    /* the stream was read up to now */
    bool has_conflict;    /* there was a record when it was claimed */
    bool is_rescue;       /* it is being taken over, and has neither ended nor waits for answers */
    bool has_dropped;     /* a message of somebody who has no say in it */
    bool has_unstored;    /* a return that it has noted is not in the bucket */
};

/* --- job_run.c: life, records and the end --------------------------------------------- */

struct timers *job_run_timers(const struct job_run *run);
struct job_run *job_run_new(struct dispatcher *dispatcher, const struct job *job);
/* Let go of it at once, as it is. */
void job_run_drop(struct job_run *run);
/* If it is work of this master, that need not go on. */
void job_run_end_own(struct job_run *run);
/* Tell who waits for the dispatch, once. */
void job_run_answer(struct job_run *run, enum dispatch_outcome outcome, const char *text);
/* A call has called back. False: the run is gone. */
bool job_run_came_back(struct job_run *run);
void job_run_arm(struct job_run *run, int64_t deadline, timer_fn *fn);
void job_run_disarm(struct job_run *run);
void job_run_copy(struct arena *arena, const struct job *from, struct job *to);

/* The key that signs what this master sends and records; NULL: nothing is signed. */
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
/* A real return took the place of a made-up one. */
void job_run_correct(struct job_run *run);
/* Let go of it: its record is another master's. */
void job_run_leave(struct job_run *run);

/* --- job_claim.c ------------------------------------------------------------------------ */

/* `is_again`: there may be a record. */
void job_run_claim(struct job_run *run, bool is_again);
/* From an entry of the record that was read. */
void job_run_take(struct job_run *run, uint64_t revision);

/* --- job_watch.c ------------------------------------------------------------------------ */

int job_run_subscribe(struct job_run *run, struct err *err);
void job_run_make_counts(struct job_run *run);
/* Send what is due, and wait for answers. */
void job_run_watch(struct job_run *run);
/* All that the stream had was noted. */
void job_run_go_on(struct job_run *run);
/* Is it under way, or has just ended, and has noted and stored a return of the peel's own? */
bool job_run_knows_return(const struct job_run *run, struct str peel);
/* A return that was read from the stream. False: not now. */
bool job_run_hand_return(struct job_run *run, struct str subject, struct str payload);
/* False: it does not wait for answers. */
bool job_run_cancel(struct job_run *run);
/* Another job was dispatched, or is on record: it may replace this one where both wait. */
void job_run_note_job(struct job_run *run, const struct job *other);
void job_run_note_gone(struct job_run *run, struct str peel);
void job_run_note_ack(void *self, const struct nats_msg *msg);
void job_run_note_return(struct job_run *run, struct str subject, struct str payload);
/* A number of the metadata. */
size_t job_run_number(const struct job *job, const char *key, size_t fallback);

/* Look what is due, if it waits for answers. */
void job_run_advance(struct job_run *run);

/* --- job_wave.c ------------------------------------------------------------------------- */

/* Ask the peels of the wave for their health; then job_run_advance. */
void job_run_ask_gate(struct job_run *run);
/* Nothing is left to do before its end is written. False: job_run_end is called again. */
bool job_run_has_settled(struct job_run *run);
/* No longer. */
void job_run_end_wave(struct job_run *run);

/* --- job_rescue.c ------------------------------------------------------------------------ */

/* If it was one: it has ended, or waits for answers. */
void job_run_rescued(struct job_run *run);
/* Let go of those that wait. */
void job_rescues_drop(struct job_rescues *rescues);

/* --- job_replay.c ------------------------------------------------------------------------ */

/* Note acks and returns from the stream, when it is its turn, then job_run_go_on. */
void job_run_replay(struct job_run *run);
bool job_run_is_replaying(const struct job_run *run);
/* No longer; job_run_go_on is not called. */
void job_run_end_replay(struct job_run *run);

#endif
