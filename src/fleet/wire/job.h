/*
 * job - work for several peels, as it is stored and sent.
 *
 *     pending -> claimed -> running -> complete | partial | timeout | failed | canceled
 *
 * A claimed job has provably not been published to any peel. A running job may have been.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_JOB_H
#define FLEET_WIRE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/params.h"
#include "core/data/record.h"

struct arena;

/* Bytes of an id: a KSUID, or the longer id of a reaction's job. */
#define JOB_ID_MAX 64

enum job_status {
    JOB_PENDING,
    JOB_CLAIMED,
    JOB_RUNNING,
    JOB_COMPLETE, /* every target returned, and all succeeded */
    JOB_PARTIAL,  /* the deadline passed, some returned */
    JOB_TIMEOUT,  /* the deadline passed, none returned */
    JOB_FAILED,   /* every target returned, some failed */
    JOB_CANCELED,
};
#define JOB_STATUSES (JOB_CANCELED + 1)
const char *job_status_name(enum job_status status);
bool job_status_is_final(enum job_status status);

struct job {
    const char *jid, *function;
    struct value args; /* a map; null: none */
    struct param_strs targets;
    int64_t timeout; /* nanoseconds */
    enum job_status status;
    struct value_time created, updated;
    const char *user, *owner;
    uint64_t epoch;      /* the revision of the claim */
    uint64_t sent_epoch; /* epoch of its requests; 0: the record's revision */
    struct value_time deadline;
    int32_t reclaim_count;
    struct param_strs offline_at_dispatch;
    const char *state_id, *target_expr;
    int32_t return_count, success_count;
    int32_t v;
    struct value metadata; /* a map of texts; null: none */
    const char *signature; /* by the account (fleet/wire/signature.h); "": none */
    /* Secret arguments, sealed for masters (fleet/bus/secret_args.h): a map of paths to boxes;
     * null: none. */
    struct value sealed;
};
extern const struct record_type job_type;
/* The record for people and other programs: readable names, no secrets. */
struct value job_describe(struct arena *arena, const struct job *job);
bool job_has_secrets(const struct job *job);
/* An orchestration: a master applies a tree of states whose steps are jobs. Its one target is
 * JOB_TARGET_MASTER, not a valid peel name; the master that owns the job runs it. */
#define JOB_ORCHESTRATE   "state.orchestrate"
#define JOB_TARGET_MASTER "_master"
bool job_is_orchestration(const struct job *job);
/* Metadata: the job whose dry run this one must match. */
#define JOB_PLAN "plan"
/* Metadata: its creator, if not an operator. */
#define JOB_SOURCE          "source"
#define JOB_SOURCE_SCHEDULE "schedule"
/* Metadata: the number of targets at a time, and the number of failures that stops the rest. */
#define JOB_BATCH          "batch"
#define JOB_BATCH_FAILURES "batch_failures"
/* Metadata of a job with a batch (fleet/jobs/rollout.h): seconds between two waves; the check that
 * must succeed on a wave's peels, "FUNCTION" or "FUNCTION ARGUMENT"; the part to revert after too
 * many failures, "wave" or "all". */
#define JOB_PAUSE  "pause"
#define JOB_GATE   "gate"
#define JOB_REVERT "revert"
/* Metadata: seconds to keep it queued for absent peels. */
#define JOB_QUEUE     "queue"
#define JOB_QUEUE_MAX (INT64_C(6) * 86400)
/* 0: not queued. -1: not a number, or over JOB_QUEUE_MAX. */
int64_t job_queue_seconds(const struct job *job);

/* Metadata: per-peel time limit, as a duration ("30s"). */
#define JOB_NODE_TIMEOUT     "node_timeout"
#define JOB_NODE_TIMEOUT_MAX (INT64_C(86400) * 1000000000)
/* Nanoseconds; 0: the job's timeout. -1: not a duration, or over JOB_NODE_TIMEOUT_MAX. */
int64_t job_node_timeout(const struct job *job);

/* Metadata: an EXEC_WINDOW (fleet/wire/exec.h). */
#define JOB_WINDOW "window"

enum job_event_kind {
    JOB_EVENT_DISPATCHED,
    JOB_EVENT_ACKED,
    JOB_EVENT_RETURNED,
    JOB_EVENT_COMPLETED,
    JOB_EVENT_CANCELED,
    JOB_EVENT_TIMEOUT,
    JOB_EVENT_FAILED,
};
#define JOB_EVENT_KINDS (JOB_EVENT_FAILED + 1)

struct job_event {
    const char *jid;
    enum job_event_kind type;
    const char *peel_id;
    struct value data; /* any; null: none */
    struct value_time timestamp;
};
extern const struct record_type job_event_type;

/* The master that owns an unfinished job, under active.<jid>. */
struct job_active {
    const char *owner;
    struct value_time updated;
};
extern const struct record_type job_active_type;

/* Result of a run of the peel's own schedule. */
struct job_scheduled {
    const char *jid, *entry, *module;
    struct value args;
    bool success;
    const char *error;
    struct value return_data;
    int64_t duration;
    struct value_time timestamp;
};
extern const struct record_type job_scheduled_type;

/* Answer to a dispatch: the job id, or an error. */
struct job_reply {
    const char *jid, *error;
    bool pending; /* claimed by another master: ask again */
    bool waits;   /* needs a second person's approval (fleet/wire/approval.h) */
};
extern const struct record_type job_reply_type;

#endif
