/*
 * job counts - which targets of a job have answered, and what is due next.
 *
 * A target is sent its request, acknowledges it and returns a result. One that stays silent gets
 * the same request once more after JOB_COUNTS_RESEND_NS, and is given up as unreachable after
 * another JOB_COUNTS_GIVE_UP_NS. One that has acknowledged has the whole time of the job. With a
 * batch, only so many targets are busy at once, each for `target_timeout` at most, so that one that
 * hangs does not keep the others waiting; when more than `failures_max` have failed, the rest is
 * not sent. With `has_waves`, a batch is a wave: the next one is sent when every target of it has a
 * result, its gate has passed, and the pause is over. Targets that a gate finds unhealthy count as
 * failed. With `ack_timeout`, each has that long from its ack. With a queue, one that stays silent
 * waits until it is present, and gets the same request again.
 *
 *     job_counts_new -> { job_counts_advance: send, resend, ...;
 *                         job_counts_ack, job_counts_return }... -> job_counts_free
 *
 * When the job ends, by its deadline or because it was stopped, every target without a result is
 * named in the orders, so that a master answers for it. Those that may still bring their own are
 * not counted as returned.
 *
 * The first result of a target counts. Only an answer that a master made up (unreachable) is
 * replaced, by the real one.
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
/* How often it is checked whether a queued target is present. */
#define JOB_COUNTS_QUEUE_NS (INT64_C(1) * 1000000000)

struct job_counts_options {
    int64_t deadline;       /* of the whole job */
    size_t batch;           /* targets that are busy at once; 0: all */
    size_t failures_max;    /* with a batch; SIZE_MAX: any number */
    int64_t target_timeout; /* with a batch, of each target; 0: the time of the job */
    bool has_waves;         /* with a batch: one after the other */
    bool has_gate;          /* with waves: job_counts_gate is called after each */
    int64_t pause;          /* with waves: between two of them */
    int64_t ack_timeout;    /* of each target since its ack; 0: the time of the job */
    int64_t queue_until;    /* silent targets are kept for later; 0: they are not */
    bool (*is_present)(void *self, const char *peel); /* with a queue */
    void *self;
};

struct job_counts *job_counts_new(const struct param_strs *targets,
                                  const struct job_counts_options *options);
/* NULL is fine. */
void job_counts_free(struct job_counts *job_counts);

enum job_counts_note {
    JOB_COUNTS_NOTED,
    JOB_COUNTS_KNOWN,    /* it says nothing new */
    JOB_COUNTS_STRANGER, /* not a target */
    JOB_COUNTS_LATE,
};

/* A target has the request. */
enum job_counts_note job_counts_ack(struct job_counts *job_counts, struct str peel);
/* A target asks for the request again at `due`, and not before. JOB_COUNTS_KNOWN: it has the
 * request; or nothing is kept for later. JOB_COUNTS_LATE: that is after the time for which it is
 * kept, and its answer is made up. */
enum job_counts_note job_counts_defer(struct job_counts *job_counts, struct str peel, int64_t now,
                                      int64_t due);
/* A target has a result; `made_up` by a master that got no answer. */
enum job_counts_note job_counts_return(struct job_counts *job_counts, struct str peel, bool success,
                                       bool made_up);
/* What came of the gate that was ordered: so many targets of the wave are not healthy. */
void job_counts_gate(struct job_counts *job_counts, size_t unhealthy);
/* Somebody stopped the job. */
void job_counts_cancel(struct job_counts *job_counts);

/* What is due. Ids are valid as long as the job counts. */
struct job_counts_orders {
    VEC(const char *) send;    /* for the first time */
    VEC(const char *) resend;  /* the same once more */
    VEC(const char *) queued;  /* are absent, and kept for later */
    VEC(const char *) lost;    /* are unreachable: counted as failed already */
    VEC(const char *) expired; /* had their time; counted as failed already */
    VEC(const char *) unsent;  /* the failures of others kept them from being sent; counted, too */
    VEC(const char *) held; /* of a batch, whose turn did not come before the deadline; counted */
    VEC(const char *) overdue;  /* have acknowledged, without a result at the deadline */
    VEC(const char *) canceled; /* have acknowledged, without a result when it was stopped */
    VEC(const char *) spared;   /* have not acknowledged when it was stopped */
    bool gate; /* the wave has ended: ask for its health, once (job_counts_wave, job_counts_gate) */
    bool ended;
    enum job_status status; /* when it has ended */
};
void job_counts_orders_done(struct job_counts_orders *orders);

/* Adds to `orders`, whose vectors it clears first. */
void job_counts_advance(struct job_counts *job_counts, int64_t now,
                        struct job_counts_orders *orders);
/* When job_counts_advance may have something to do; INT64_MAX: not before the next answer. */
int64_t job_counts_next(const struct job_counts *job_counts);

/* Will job_counts_advance give up on a target, or end the job without an answer? What may have been
 * missed is worth a look before. */
bool job_counts_gives_up(const struct job_counts *job_counts, int64_t now);

struct job_counts_counts {
    size_t targets, returned, succeeded;
    size_t unhealthy; /* succeeded, and failed at their gate */
};
struct job_counts_counts job_counts_counts(const struct job_counts *job_counts);
/* What an ended job is when returns have come late. */
enum job_status job_counts_correct_status(enum job_status status, struct job_counts_counts counts);

/* Which targets of a job with waves. */
enum job_counts_part {
    JOB_COUNTS_HEALTHY, /* of the wave that is under way, or was the last: those that have succeeded
                         */
    JOB_COUNTS_WAVE,    /* the same: those that have had the request */
    JOB_COUNTS_ALL,     /* of all waves: those that have had the request */
};
struct job_counts_ids {
    VEC(const char *) list; /* valid as long as the job counts */
};
/* Appends their ids. */
void job_counts_list(const struct job_counts *job_counts, enum job_counts_part part,
                     struct job_counts_ids *ret);
/* The wave that is under way, or was the last; the first is 1. */
size_t job_counts_wave(const struct job_counts *job_counts);
/* Have more failed than may? */
bool job_counts_is_stopped(const struct job_counts *job_counts);

/* Is it absent, and kept for later? */
bool job_counts_is_queued(const struct job_counts *job_counts, struct str peel);
/* Has it given no sign of having the request? */
bool job_counts_is_silent(const struct job_counts *job_counts, struct str peel);
/* Has it given a result itself? */
bool job_counts_has_returned(const struct job_counts *job_counts, struct str peel);

#endif
