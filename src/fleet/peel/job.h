/*
 * job - one request from its arrival to its answer, and the part of it that a worker does.
 *
 * For job_queue.c, which decides when it runs. Threads: the loop's, except job_work.
 */
#ifndef FLEET_PEEL_JOB_H
#define FLEET_PEEL_JOB_H

#include <stdatomic.h>

#include "core/base/arena.h"
#include "states/local/perform.h"
#include "fleet/peel/job_queue.h"
#include "core/sys/cancel.h"
#include "core/sys/background_task.h"
#include "core/sys/timers.h"
#include "fleet/wire/exec.h"

struct peel_job {
    struct background_task background_task;
    struct job_queue *job_queue;
    const struct job_queue_options *options;
    struct peel_job *next; /* in its lane */
    struct arena arena;
    struct exec_request request;
    enum perform_class class;
    bool is_job;       /* has a return, not a reply */
    const char *reply; /* of a direct request; or NULL */
    job_queue_fn *fn;  /* of our own; or NULL */
    void *self;
    struct cancel cancel;
    struct timer limit;     /* of its request.timeout */
    atomic_bool is_expired; /* that is over */
    struct snapshot *facts, *settings;
    const char *settings_error;
    size_t reply_max;
    int64_t began;
    bool is_running, fell_back;
    bool is_old_plan;  /* its plan was compiled for a job before */
    bool is_caught_up; /* files were waited for */
    bool is_announced; /* beacons were asked to look before it */
    struct session *session;
    struct perform_answer answer;
    int64_t duration;
    struct str message;     /* the response or return */
    struct str outcome;     /* of a run that was kept; empty: there is none */
    uint64_t outbox_number; /* 0: the outbox could not store it */
    const char *trouble;    /* what went wrong beside the answer, for the log; or NULL */
};

/* Memory of the request is copied. */
struct peel_job *job_new(struct job_queue *job_queue, const struct job_queue_options *options,
                         const struct exec_request *request);
void job_free(struct peel_job *job);

/* Everything up to the kept return; posts progress through `sink`, which may be NULL. */
void job_work(struct peel_job *job, const struct run_sink *sink);
/* Why it was canceled at the end of its own time. */
const char *job_describe_expiry(struct peel_job *job);
/* The answer without doing it. */
void job_refuse(struct peel_job *job, const char *why);
/* For what the job queue does itself: begun, then answered with one result. False: that it has
 * begun cannot be written down, and it has its answer. */
bool job_begin(struct peel_job *job);
void job_say(struct peel_job *job, const struct value *result, const char *error);

#endif
