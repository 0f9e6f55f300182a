/*
 * job - one request from arrival to answer, including the worker's part.
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
    struct peel_job *next; /* in its pool */
    struct arena arena;
    struct exec_request request;
    enum perform_class class;
    bool is_job;       /* has a return, not a reply */
    const char *reply; /* of a direct request; or NULL */
    job_queue_fn *fn;  /* of an internal job; or NULL */
    void *self;
    struct cancel cancel;
    struct timer limit;     /* of its request.timeout */
    atomic_bool is_expired; /* the limit has passed */
    struct snapshot *facts, *settings;
    const char *settings_error;
    size_t reply_max;
    int64_t began;
    bool is_running, fell_back;
    bool is_old_plan;  /* its plan was compiled for an earlier job */
    bool is_caught_up; /* has waited for files */
    bool is_announced; /* beacons have been told about it */
    struct session *session;
    struct perform_answer answer;
    int64_t duration;
    struct str message;     /* the response or return */
    struct str outcome;     /* of a run that was kept; empty: there is none */
    uint64_t outbox_number; /* 0: the outbox could not store it */
    const char *trouble;    /* a problem besides the answer, for the log; or NULL */
};

/* Memory of the request is copied. */
struct peel_job *job_new(struct job_queue *job_queue, const struct job_queue_options *options,
                         const struct exec_request *request);
void job_free(struct peel_job *job);

/* Runs the job, up to the stored return; posts progress through `sink`, which may be NULL. */
void job_work(struct peel_job *job, const struct run_sink *sink);
/* Describes the time limit that canceled it. */
const char *job_describe_expiry(struct peel_job *job);
/* Answers without running it. */
void job_refuse(struct peel_job *job, const char *why);
/* For jobs that the job queue runs itself: begin, then answer with one result. False: the beginning
 * could not be recorded; it is already answered. */
bool job_begin(struct peel_job *job);
void job_say(struct peel_job *job, const struct value *result, const char *error);

#endif
