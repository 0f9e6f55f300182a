/*
 * job queue - accepts requests, runs them in pools, and sends their answers.
 *
 * A request with a reply subject is answered there (direct). One without, but with a job id, is
 * acknowledged and later gets a return (job). A job runs once (fleet/peel/ledger.h); its return is
 * on disk until it is stored in the stream (fleet/peel/outbox.h). So every acknowledged job has
 * exactly one return, which says so if the agent was killed meanwhile.
 *
 * Lanes: functions that answer from memory, or about the agent itself
 * (fleet/peel/schedule_admin.h), are answered at once. Reading functions run in parallel with
 * everything else, and so do dry runs, one at a time. Functions that may change the machine run one
 * at a time and report what they wait for. Each pool has a limit, beyond which requests are
 * refused.
 *
 *     job_queue_new -> job_queue_connect -> ... -> job_queue_stop -> job_queue_free
 *
 * Threads: the loop's; workers run the jobs.
 */
#ifndef FLEET_PEEL_JOB_QUEUE_H
#define FLEET_PEEL_JOB_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/base/str.h"
#include "core/data/value.h"

struct arena;
struct err;
struct basket;
struct maintenance_window;
struct job_queue;
struct exec_request;
struct ledger;
struct loop;
struct nats_conn;
struct nats_nkey;
struct outbox;
struct pool;
struct perform_answer;
struct schedule_admin_call;
struct snapshot;

/* Waiting requests in one pool. No user can repeat a reaction, so more of those may wait. */
#define JOB_QUEUE_QUEUE_MAX     64
#define JOB_QUEUE_REACTIONS_MAX 1024
#define JOB_QUEUE_BUSY          "peel busy: execution queue full"
/* Reading functions in parallel. */
#define JOB_QUEUE_READERS 8

/* How an execution ended. */
struct job_queue_end {
    bool success;
    int64_t duration;
    struct str outcome; /* of a stored run (lastrun_print_outcome); empty: none */
};

struct job_queue_options {
    struct loop *loop;
    struct pool *workers; /* NULL: its own */
    const char *peel_id;
    const char *data_dir, *facts_file;
    const char *states_cache, *states_baked;
    bool loose_params;
    int child_registry; /* the list of running programs (core/sys/child_registry.h); -1: none */
    size_t orphans; /* programs of the previous agent that were still running, and were killed */
    struct ledger *ledger;
    struct outbox *outbox;
    const struct maintenance_window *maintenance_window; /* times for changes; NULL: always */
    struct basket *basket;                               /* must outlive its workers */
    struct plan_cache *plan_cache;                       /* of plans; the same */
    /* Facts and settings for a job, held by the job queue. Settings may be NULL, with the reason in
     * `ret_why`. */
    struct snapshot *(*facts)(void *self);
    struct snapshot *(*settings)(void *self, const char **ret_why);
    /* The account that must sign requests; a NULL result or NULL function: any request is accepted.
     * */
    const struct nats_nkey *(*account)(void *self);
    /* Did the fleet send a request with this header? NULL: not checked. */
    bool (*is_from_fleet)(void *self, struct str header);
    /* Is an operator's key revoked? NULL: not known. */
    bool (*is_revoked)(void *self, const char *key, int64_t issued);
    void (*refused)(void *self); /* refused an unsigned request; for metrics */
    /* Functions of the agent itself (fleet/peel/schedule_admin.h); NULL: none. */
    void (*own)(void *self, struct arena *arena, struct schedule_admin_call *call,
                struct value *ret_result, const char **ret_error);
    /* A run of states is about to begin. False: wait for job_queue_go_on. */
    bool (*catch_up)(void *self);
    /* A function that changes facts has ended. */
    void (*facts_changed)(void *self);
    /* A job that may change the machine is about to begin. False: wait for job_queue_looked. */
    bool (*look_first)(void *self);
    /* That job begins. */
    void (*acts)(void *self, const struct exec_request *request);
    /* An execution has ended; for metrics and reports. */
    void (*ended)(void *self, const struct exec_request *request, const struct job_queue_end *end);
    void *self;
};

struct job_queue *job_queue_new(const struct job_queue_options *options, struct err *err);
/* Accepts nothing more, cancels running jobs, and stores their returns. */
void job_queue_stop(struct job_queue *job_queue);
/* Waits for the workers. NULL is fine. */
void job_queue_free(struct job_queue *job_queue);

/* Takes requests from this connection; NULL: none. */
int job_queue_connect(struct job_queue *job_queue, struct nats_conn *conn, struct err *err);

/* Internal jobs, of schedule and startup. `fn` is called from the loop, once. */
/* `answer` has no results; they are in `response`, an ExecResponse as bytes. */
typedef void job_queue_fn(void *self, const struct perform_answer *answer, struct str response,
                          int64_t duration);
struct job_queue_task {
    const char *jid; /* for observers; "": none */
    const char *function, *id;
    struct value args;
    const char *user; /* for the list of runs: "schedule:nightly" */
    job_queue_fn *fn;
    void *self;
};
/* Fails with ERR_BUSY when the pool is full, ERR_INVALID for an unknown function. */
int job_queue_run(struct job_queue *job_queue, const struct job_queue_task *task, struct err *err);

/* Would it change the machine outside of the maintenance windows? Then it is refused until
 * `ret_next` ((time_t)-1: not known). */
bool job_queue_is_forbidden(const struct job_queue *job_queue, const char *function,
                            const struct value *args, time_t *ret_next);

/* Ends the wait of `catch_up`. */
void job_queue_go_on(struct job_queue *job_queue);

/* Ends the wait of `look_first`. */
void job_queue_looked(struct job_queue *job_queue);

/* Send a message that the outbox has stored. Any thread. */
void job_queue_post(struct job_queue *job_queue, uint64_t number);

/* Is a job running that may change the machine? */
bool job_queue_is_acting(const struct job_queue *job_queue);
/* Depth of the running jobs in a chain of reactions; 0: none. */
int32_t job_queue_depth(const struct job_queue *job_queue);
/* Is nothing running or waiting? */
bool job_queue_is_idle(const struct job_queue *job_queue);
/* While idle: frees memory of past jobs. False: plans are kept, see states/local/plan_cache.h. */
bool job_queue_trim(struct job_queue *job_queue);

#endif
