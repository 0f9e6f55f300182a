/*
 * job counts - tracks the answers of a job's targets, and what to send next.
 *
 * A target gets its request, acknowledges it and returns a result. A silent target gets the same
 * request again after JOB_COUNTS_RESEND_NS, and is unreachable after another JOB_COUNTS_GIVE_UP_NS.
 * After its ack it has the job's whole timeout. With a batch, only that many targets are busy at
 * once, each for at most `target_timeout`, so that a hanging one does not block the others; after
 * more than `failures_max` failures, the rest is not sent. With `has_waves`, a batch is a wave: the
 * next one is sent when every target has a result, the gate has passed, and the pause is over.
 * Targets that a gate finds unhealthy count as failed. With `ack_timeout`, each target has that
 * long after its ack. With a queue, a silent target waits until it is present, and gets the same
 * request again.
 *
 *     job_counts_new -> { job_counts_advance: send, resend, ...;
 *                         job_counts_ack, job_counts_return }... -> job_counts_free
 *
 * When the job ends, by its deadline or canceled, the orders name every target without a result, so
 * that a master answers for it. Those that may still return are not counted as returned.
 *
 * The first result of a target counts. Only a master's answer (unreachable) is replaced by the real
 * one.
 *
 * Pure: time is handed in, in nanoseconds of one clock. Memory: copies the ids. Threads: one.
 */
#ifndef FLEET_JOBS_JOB_COUNTS_H
#define FLEET_JOBS_JOB_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "fleet/wire/job.h"

struct job_counts;

#define JOB_COUNTS_RESEND_NS  (INT64_C(5) * 1000000000)
#define JOB_COUNTS_GIVE_UP_NS (INT64_C(5) * 1000000000)
/* Interval of checks whether a queued target is present. */
#define JOB_COUNTS_QUEUE_NS (INT64_C(1) * 1000000000)

struct job_counts_options {
    int64_t deadline;       /* of the job */
    size_t batch;           /* busy targets at a time; 0: all */
    size_t failures_max;    /* with a batch; SIZE_MAX: any number */
    int64_t target_timeout; /* with a batch, of each target; 0: the time of the job */
    bool has_waves;         /* with a batch: one after the other */
    bool has_gate;          /* with waves: job_counts_gate is called after each */
    int64_t pause;          /* with waves: between two of them */
    int64_t ack_timeout;    /* of each target since its ack; 0: the time of the job */
    int64_t queue_until;    /* queue silent targets until then; 0: do not */
    bool (*is_present)(void *self, const char *peel); /* with a queue */
    void *self;
};

struct job_counts *job_counts_new(const struct param_strs *targets,
                                  const struct job_counts_options *options);
/* NULL is fine. */
void job_counts_free(struct job_counts *job_counts);

enum job_counts_note {
    JOB_COUNTS_NOTED,
    JOB_COUNTS_KNOWN,    /* nothing new */
    JOB_COUNTS_STRANGER, /* not a target */
    JOB_COUNTS_LATE,
};

/* A target has acknowledged the request. */
enum job_counts_note job_counts_ack(struct job_counts *job_counts, struct str peel);
/* A target asks to get the request again at `due`. JOB_COUNTS_KNOWN: it has the request, or there
 * is no queue. JOB_COUNTS_LATE: `due` is after the end of the queue; a master answers for it. */
enum job_counts_note job_counts_defer(struct job_counts *job_counts, struct str peel, int64_t now,
                                      int64_t due);
/* A target has a result; `made_up`: by a master, without an answer. */
enum job_counts_note job_counts_return(struct job_counts *job_counts, struct str peel, bool success,
                                       bool made_up);
/* Result of the ordered gate: the number of unhealthy targets in the wave. */
void job_counts_gate(struct job_counts *job_counts, size_t unhealthy);
/* The job was canceled. */
void job_counts_cancel(struct job_counts *job_counts);

/* Due actions. Ids are valid as long as the job counts. */
struct job_counts_orders {
    VEC(const char *) send;     /* for the first time */
    VEC(const char *) resend;   /* once more */
    VEC(const char *) queued;   /* absent, queued */
    VEC(const char *) lost;     /* unreachable; already counted as failed */
    VEC(const char *) expired;  /* timed out; already counted as failed */
    VEC(const char *) unsent;   /* not sent because of other failures; counted, too */
    VEC(const char *) held;     /* of a batch, not sent before the deadline; counted */
    VEC(const char *) overdue;  /* acknowledged, without a result at the deadline */
    VEC(const char *) canceled; /* acknowledged, without a result when canceled */
    VEC(const char *) spared;   /* not acknowledged when canceled */
    bool gate; /* the wave has ended: run its gate, once (job_counts_wave, job_counts_gate) */
    bool ended;
    enum job_status status; /* of an ended job */
};
void job_counts_orders_done(struct job_counts_orders *orders);

/* Adds to `orders`, whose vectors it clears first. */
void job_counts_advance(struct job_counts *job_counts, int64_t now,
                        struct job_counts_orders *orders);
/* Time of the next job_counts_advance; INT64_MAX: not before the next answer. */
int64_t job_counts_next(const struct job_counts *job_counts);

/* Will job_counts_advance give up on a target, or end the job without an answer? Look for missed
 * answers first. */
bool job_counts_gives_up(const struct job_counts *job_counts, int64_t now);

struct job_counts_counts {
    size_t targets, returned, succeeded;
    size_t unhealthy; /* succeeded, but failed their gate */
};
struct job_counts_counts job_counts_counts(const struct job_counts *job_counts);
/* Status of an ended job after late returns. */
enum job_status job_counts_correct_status(enum job_status status, struct job_counts_counts counts);

/* Selects targets of a job with waves. */
enum job_counts_part {
    JOB_COUNTS_HEALTHY, /* succeeded, in the current or last wave */
    JOB_COUNTS_WAVE,    /* got the request, in the same wave */
    JOB_COUNTS_ALL,     /* got the request, in all waves */
};
struct job_counts_ids {
    VEC(const char *) list; /* valid as long as the job counts */
};
/* Appends their ids. */
void job_counts_list(const struct job_counts *job_counts, enum job_counts_part part,
                     struct job_counts_ids *ret);
/* The current or last wave; the first is 1. */
size_t job_counts_wave(const struct job_counts *job_counts);
/* Have too many failed? */
bool job_counts_is_stopped(const struct job_counts *job_counts);

/* Is it absent and queued? */
bool job_counts_is_queued(const struct job_counts *job_counts, struct str peel);
/* Has it not acknowledged the request? */
bool job_counts_is_silent(const struct job_counts *job_counts, struct str peel);
/* Has it returned a result itself? */
bool job_counts_has_returned(const struct job_counts *job_counts, struct str peel);

#endif
