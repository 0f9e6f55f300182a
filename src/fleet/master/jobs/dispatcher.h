/*
 * dispatcher - the jobs that this master drives, each from its claim to its end.
 *
 *     dispatcher_new -> { dispatcher_send, dispatcher_recover }... -> dispatcher_free
 *
 * A job is claimed by creating its record, set running by CAS, and only then sent to its targets;
 * the revision of the claim is the epoch that peels compare. The entry active.<jid> is written
 * before the record, so that other masters find the job even if its owner dies in between. Returns
 * are stored as they arrive; at the end the record gets status and counts, which late returns
 * correct.
 *
 * Every call calls back exactly once. A job is freed when its end is recorded, when another master
 * has taken it over, or with the dispatcher: then it stays running, for others to take over.
 *
 * Memory: jobs and their texts are copied. Free it before its connection. Threads: the loop's.
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

/* Limits for jobs from outside. */
#define DISPATCHER_FUNCTION_MAX 128
#define DISPATCHER_TARGETS_MAX  100000
#define DISPATCHER_TIMEOUT_NS   (INT64_C(60) * 1000000000)
#define DISPATCHER_TIMEOUT_MAX  (INT64_C(86400) * 1000000000)

/* Metadata keys read by the dispatcher. */
#define DISPATCHER_DEPTH "reactor_depth"

/* Why an ack or return is dropped. */
enum dispatcher_drop {
    DISPATCHER_MALFORMED, /* malformed */
    DISPATCHER_SPOOF,     /* peel does not match the subject */
    DISPATCHER_STRANGER,  /* sender is not a target */
    DISPATCHER_DROPS,
};
const char *dispatcher_drop_name(enum dispatcher_drop reason);

/* Counters since the start. */
struct dispatcher_counts {
    uint64_t ended[JOB_STATUSES];
    uint64_t dropped[DISPATCHER_DROPS];
    uint64_t reclaims, resends, late;
};

struct dispatcher_options {
    struct nats_js js;
    const char *master_id; /* borrowed */
    struct roster *roster; /* must outlive it */
    /* The key that decrypts secret arguments. */
    const struct nats_nkey *(*account)(void *self);
    /* A job was first sent to its targets; may be NULL. */
    void (*on_sent)(void *self, const struct job *job);
    /* A job has ended, after `seconds`; may be NULL. */
    void (*on_end)(void *self, const struct job *job, double seconds);
    void (*on_reclaim)(void *self); /* a job was taken over; may be NULL */
    /* The master's own jobs (job_is_orchestration). Begin one, unless it has begun; its result is
     * published as a return. End it: its result has arrived, or is no longer needed. */
    void (*begin_own)(void *self, const struct job *job);
    void (*end_own)(void *self, const char *jid);
    /* The current signing key for requests and records; may return NULL, or be NULL. */
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
    DISPATCH_DUPLICATE, /* already sent */
    DISPATCH_PENDING,   /* claimed by another master, not sent yet: try again */
    DISPATCH_CONFLICT,  /* a different job has this id */
    DISPATCH_INVALID,   /* invalid; the text says why */
    DISPATCH_FAILED,    /* bus error; the text says why */
};
typedef void dispatcher_fn(void *self, enum dispatch_outcome outcome, const char *text);

/* Claim a job and send it. `is_again`: a record may exist, so read it first: a refused claim costs
 * the cluster more. */
void dispatcher_send(struct dispatcher *dispatcher, const struct job *job, bool is_again,
                     dispatcher_fn *fn, void *self);
/* Take over a job, if its owner is still the one that is gone. */
void dispatcher_recover(struct dispatcher *dispatcher, const char *jid);
/* Other masters may have considered this one gone, for the `doubts`-th time: release the jobs that
 * they have taken over. Call it again with the same number for records that could not be read. */
void dispatcher_verify(struct dispatcher *dispatcher, uint64_t doubts);
/* Cancel a job. False: not ours, or ended. */
bool dispatcher_cancel(struct dispatcher *dispatcher, struct str jid);
/* Is the job ours? */
bool dispatcher_has(const struct dispatcher *dispatcher, struct str jid);
/* Is the job running here, or has just ended, with the return of this peel stored? */
bool dispatcher_knows_return(const struct dispatcher *dispatcher, struct str jid, struct str peel);
/* Hands over a return from the stream, in case it was missed. False: the job does not run here. */
bool dispatcher_hand_return(struct dispatcher *dispatcher, struct str jid, struct str subject,
                            struct str payload);

/* Append the ids of all running jobs. */
void dispatcher_list(const struct dispatcher *dispatcher, struct arena *arena,
                     struct param_strs *ret_jids);
const struct dispatcher_counts *dispatcher_counts(const struct dispatcher *dispatcher);

/* Is it a valid job id? */
bool dispatcher_is_jid(const char *jid);
/* Is it a valid function name, family.name? */
bool dispatcher_is_function(const char *name);
/* Validate a job. Fails with ERR_INVALID. */
int dispatcher_check(const struct job *job, struct err *err);

/* Any master dispatched a job: it may replace requests that wait here for absent peels. */
void dispatcher_note_job(struct dispatcher *dispatcher, const struct job *job);
/* A peel has left the fleet: drop its waiting requests. */
void dispatcher_note_gone(struct dispatcher *dispatcher, struct str peel);

#endif
