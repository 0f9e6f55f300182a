/*
 * dispatcher - the jobs that this master drives, each from its claim to its end.
 *
 *     dispatcher_new -> { dispatcher_send, dispatcher_recover }... -> dispatcher_free
 *
 * A job is claimed by creating its record, set running by CAS, and only then sent to its targets;
 * the revision of the claim is the epoch that peels compare. Before the record there is an
 * entry active.<jid>, so that other masters find a job whose owner ends at any moment. Returns are
 * stored as they come; at the end the record has the status and the counts, and a return that comes
 * later corrects them.
 *
 * Every call calls back exactly once. A job is freed when its end is on record, when another master
 * has taken it over, or with the dispatcher: then it stays running, for others to take over.
 *
 * Memory: jobs and their texts are copied. To be freed before its connection. Threads: the loop's.
 */
#ifndef FLEET_MASTER_JOBS_DISPATCHER_H
#define FLEET_MASTER_JOBS_DISPATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/js.h"
#include "fleet/wire/job.h"

struct dispatcher;
struct err;
struct nats_nkey;
struct roster;

/* Of a job that comes from outside. */
#define DISPATCHER_FUNCTION_MAX 128
#define DISPATCHER_TARGETS_MAX  100000
#define DISPATCHER_TIMEOUT_NS   (INT64_C(60) * 1000000000)
#define DISPATCHER_TIMEOUT_MAX  (INT64_C(86400) * 1000000000)

/* Metadata that the dispatcher reads. */
#define DISPATCHER_DEPTH "reactor_depth"

/* Why an ack or a return of a job does not count. */
enum dispatcher_drop {
    DISPATCHER_MALFORMED, /* it cannot be read */
    DISPATCHER_SPOOF,     /* it names another peel than its subject */
    DISPATCHER_STRANGER,  /* from a peel that is not a target */
    DISPATCHER_DROPS,
};
const char *dispatcher_drop_name(enum dispatcher_drop reason);

/* What was counted since the start. */
struct dispatcher_counts {
    uint64_t ended[JOB_STATUSES];
    uint64_t dropped[DISPATCHER_DROPS];
    uint64_t reclaims, resends, late;
};

struct dispatcher_options {
    struct nats_js js;
    const char *master_id; /* borrowed */
    struct roster *roster; /* must outlive it */
    /* The key that opens secret arguments; for jobs that have some. */
    const struct nats_nkey *(*account)(void *self);
    /* A job was sent to its targets for the first time; may be NULL. */
    void (*on_sent)(void *self, const struct job *job);
    /* A job has ended; may be NULL. `seconds` is how long it took. */
    void (*on_end)(void *self, const struct job *job, double seconds);
    void (*on_reclaim)(void *self); /* a job was taken over; may be NULL */
    /* Work of this master itself (job_is_orchestration): begin it, unless it has begun; the result
     * is published as a return. And: its result is no longer needed, or is here. */
    void (*begin_own)(void *self, const struct job *job);
    void (*end_own)(void *self, const char *jid);
    /* The key that signs requests and records now; NULL: none does. May be NULL itself. */
    const struct nats_nkey *(*signer)(void *self);
    /* A message about a job was dropped; may be NULL. */
    void (*on_drop)(void *self, enum dispatcher_drop reason);
    void *self;
};

struct dispatcher *dispatcher_new(const struct dispatcher_options *options, struct err *err);
/* NULL is fine. */
void dispatcher_free(struct dispatcher *dispatcher);

enum dispatch_outcome {
    DISPATCH_SENT,
    DISPATCH_DUPLICATE, /* the same work was sent already */
    DISPATCH_PENDING,   /* another master has claimed it and has not sent it yet: try again */
    DISPATCH_CONFLICT,  /* other work under the same id */
    DISPATCH_INVALID,   /* it makes no sense; the text says why */
    DISPATCH_FAILED,    /* the bus did not take it; the text says why */
};
typedef void dispatcher_fn(void *self, enum dispatch_outcome outcome, const char *text);

/* Claim a job and send it. `is_again`: there may be a record of it, which is read first, since a
 * claim that is refused costs the cluster more. */
void dispatcher_send(struct dispatcher *dispatcher, const struct job *job, bool is_again,
                     dispatcher_fn *fn, void *self);
/* Take over a job whose owner is gone, if it is still that owner's. */
void dispatcher_recover(struct dispatcher *dispatcher, const char *jid);
/* Other masters may have thought that this one is gone, for the `doubts`-th time: let go of jobs
 * that they have taken over. To be called again with the same number, for what could not be read.
 */
void dispatcher_verify(struct dispatcher *dispatcher, uint64_t doubts);
/* Stop a job. False: it is not one of ours, or has ended. */
bool dispatcher_cancel(struct dispatcher *dispatcher, struct str jid);
/* Is it one of ours? */
bool dispatcher_has(const struct dispatcher *dispatcher, struct str jid);
/* Is it under way here, or has just ended, and the return of this peel noted and stored? */
bool dispatcher_knows_return(const struct dispatcher *dispatcher, struct str jid, struct str peel);
/* A return that was found in the stream, for the case that it was missed. False when the job is not
 * one that is under way here. */
bool dispatcher_hand_return(struct dispatcher *dispatcher, struct str jid, struct str subject,
                            struct str payload);

/* Appends the ids of all jobs under way. */
void dispatcher_list(const struct dispatcher *dispatcher, struct arena *arena,
                     struct param_strs *ret_jids);
const struct dispatcher_counts *dispatcher_counts(const struct dispatcher *dispatcher);

/* Can it be the id of a job? */
bool dispatcher_is_jid(const char *jid);
/* And the name of a function: family.name? */
bool dispatcher_is_function(const char *name);
/* Is the work itself sound? Fails with ERR_INVALID. */
int dispatcher_check(const struct job *job, struct err *err);

/* A job was dispatched, by any master: it may replace what waits here for absent peels. */
void dispatcher_note_job(struct dispatcher *dispatcher, const struct job *job);
/* A peel has left the fleet: what waits for it is not sent. */
void dispatcher_note_gone(struct dispatcher *dispatcher, struct str peel);

#endif
