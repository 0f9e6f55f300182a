/*
 * tally - which targets of a job have answered, and what is due next.
 *
 * A target is sent its request, acknowledges it and returns a result. One that stays silent gets
 * the same request once more after TALLY_RESEND_NS, and is given up as unreachable after another
 * TALLY_GIVE_UP_NS. One that has acknowledged has the whole time of the job. With a batch, only so
 * many targets are busy at once, each for `target_timeout` at most, so that one that hangs does not
 * keep the others waiting; when more than `failures_max` have failed, the rest is not sent.
 * With `has_waves`, a batch is a wave: the next one is sent when every target of it has a result,
 * its gate has passed, and the pause is over. Targets that a gate finds unhealthy count as failed.
 * With `ack_timeout`, each has that long from its ack. With a queue, one that stays silent waits
 * until it is present, and gets the same request again.
 *
 *     tally_new -> { tally_advance: send, resend, ...; tally_ack, tally_return }... -> tally_free
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
#ifndef FLEET_JOBS_TALLY_H
#define FLEET_JOBS_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "fleet/wire/job.h"

struct tally;

#define TALLY_RESEND_NS  (INT64_C(5) * 1000000000)
#define TALLY_GIVE_UP_NS (INT64_C(5) * 1000000000)
/* How often it is checked whether a queued target is present. */
#define TALLY_QUEUE_NS (INT64_C(1) * 1000000000)

struct tally_options {
    int64_t deadline;       /* of the whole job */
    size_t batch;           /* targets that are busy at once; 0: all */
    size_t failures_max;    /* with a batch; SIZE_MAX: any number */
    int64_t target_timeout; /* with a batch, of each target; 0: the time of the job */
    bool has_waves;         /* with a batch: one after the other */
    bool has_gate;          /* with waves: tally_gate is called after each */
    int64_t pause;          /* with waves: between two of them */
    int64_t ack_timeout;    /* of each target since its ack; 0: the time of the job */
    int64_t queue_until;    /* silent targets are kept for later; 0: they are not */
    bool (*is_present)(void *self, const char *peel); /* with a queue */
    void *self;
};

struct tally *tally_new(const struct param_strs *targets, const struct tally_options *options);
/* NULL is fine. */
void tally_free(struct tally *tally);

enum tally_note {
    TALLY_NOTED,
    TALLY_KNOWN,    /* it says nothing new */
    TALLY_STRANGER, /* not a target */
    TALLY_LATE,
};

/* A target has the request. */
enum tally_note tally_ack(struct tally *tally, struct str peel);
/* A target asks for the request again at `due`, and not before. TALLY_KNOWN: it has the request; or
 * nothing is kept for later. TALLY_LATE: that is after the time for which it is kept, and its
 * answer is made up. */
enum tally_note tally_defer(struct tally *tally, struct str peel, int64_t now, int64_t due);
/* A target has a result; `made_up` by a master that got no answer. */
enum tally_note tally_return(struct tally *tally, struct str peel, bool success, bool made_up);
/* What came of the gate that was ordered: so many targets of the wave are not healthy. */
void tally_gate(struct tally *tally, size_t unhealthy);
/* Somebody stopped the job. */
void tally_cancel(struct tally *tally);

/* What is due. Ids are valid as long as the tally. */
struct tally_orders {
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
    bool gate; /* the wave has ended: ask for its health, once (tally_wave, tally_gate) */
    bool ended;
    enum job_status status; /* when it has ended */
};
void tally_orders_done(struct tally_orders *orders);

/* Adds to `orders`, whose vectors it clears first. */
void tally_advance(struct tally *tally, int64_t now, struct tally_orders *orders);
/* When tally_advance may have something to do; INT64_MAX: not before the next answer. */
int64_t tally_next(const struct tally *tally);

/* Will tally_advance give up on a target, or end the job without an answer? What may have been
 * missed is worth a look before. */
bool tally_gives_up(const struct tally *tally, int64_t now);

struct tally_counts {
    size_t targets, returned, succeeded;
    size_t unhealthy; /* succeeded, and failed at their gate */
};
struct tally_counts tally_counts(const struct tally *tally);
/* What an ended job is when returns have come late. */
enum job_status tally_correct_status(enum job_status status, struct tally_counts counts);

/* Which targets of a job with waves. */
enum tally_part {
    TALLY_HEALTHY, /* of the wave that is under way, or was the last: those that have succeeded */
    TALLY_WAVE,    /* the same: those that have had the request */
    TALLY_ALL,     /* of all waves: those that have had the request */
};
struct tally_ids {
    VEC(const char *) list; /* valid as long as the tally */
};
/* Appends their ids. */
void tally_list(const struct tally *tally, enum tally_part part, struct tally_ids *ret);
/* The wave that is under way, or was the last; the first is 1. */
size_t tally_wave(const struct tally *tally);
/* Have more failed than may? */
bool tally_is_stopped(const struct tally *tally);

/* Is it absent, and kept for later? */
bool tally_is_queued(const struct tally *tally, struct str peel);
/* Has it given no sign of having the request? */
bool tally_is_silent(const struct tally *tally, struct str peel);
/* Has it given a result itself? */
bool tally_has_returned(const struct tally *tally, struct str peel);

#endif
