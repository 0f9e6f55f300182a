/*
 * job queue - requests come in, answers go out, and what may not wait does not.
 *
 * A request with a reply subject is answered there (direct); one without, with the id of a job, is
 * acknowledged and later has a return (job). A job runs once: fleet/peel/ledger.h; its return is on
 * disk until the stream has it: fleet/peel/outbox.h. So every job that was acknowledged has exactly
 * one return, also when the agent was killed meanwhile: then it says so.
 *
 * Lanes: what answers from memory, or about the agent itself (fleet/peel/schedule_admin.h), is
 * answered at once; what only reads runs beside everything else; so do dry runs, one after the
 * other; what may change the machine runs one after the other, too, and says what it waits for.
 * Each lane has a limit, and a request beyond it is refused.
 *
 *     job_queue_new -> job_queue_connect -> ... -> job_queue_stop -> job_queue_free
 *
 * Threads: the loop's; workers run what it begins.
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

/* Requests that wait in one lane. Nobody is there to repeat a reaction, so more of those may wait.
 */
#define JOB_QUEUE_QUEUE_MAX     64
#define JOB_QUEUE_REACTIONS_MAX 1024
#define JOB_QUEUE_BUSY          "peel busy: execution queue full"
/* What only reads, at once. */
#define JOB_QUEUE_READERS 8

/* How an execution ended. */
struct job_queue_end {
    bool success;
    int64_t duration;
    struct str outcome; /* of a run that was kept (lastrun_print_outcome); empty: there is none */
};

struct job_queue_options {
    struct loop *loop;
    struct pool *workers; /* NULL: of its own */
    const char *peel_id;
    const char *data_dir, *facts_file;
    const char *states_cache, *states_baked;
    bool loose_params;
    int child_registry; /* the list of programs that run (core/sys/child_registry.h); -1: none is
                           kept */
    size_t orphans;     /* programs of the agent before that still ran, and were killed */
    struct ledger *ledger;
    struct outbox *outbox;
    const struct maintenance_window
        *maintenance_window;       /* when the machine may be changed; NULL: always */
    struct basket *basket;         /* must outlive its workers */
    struct plan_cache *plan_cache; /* of plans; the same */
    /* What a job begins with; held by the job queue. Settings may be NULL: not known, `ret_why`
     * says so. */
    struct snapshot *(*facts)(void *self);
    struct snapshot *(*settings)(void *self, const char **ret_why);
    /* The account that requests must come from; NULL: anybody may ask. Itself NULL: any request is
     * accepted. */
    const struct nats_nkey *(*account)(void *self);
    /* Did the fleet send a request with this header? NULL: anybody may have. */
    bool (*is_from_fleet)(void *self, struct str header);
    /* Does the key of an operator no longer count? NULL: nobody knows. */
    bool (*is_revoked)(void *self, const char *key, int64_t issued);
    void (*refused)(void *self); /* one that it did not sign; for metrics */
    /* Functions of the agent itself (fleet/peel/schedule_admin.h); NULL: none. */
    void (*own)(void *self, struct arena *arena, struct schedule_admin_call *call,
                struct value *ret_result, const char **ret_error);
    /* A run of states is about to begin. False: not before job_queue_go_on. */
    bool (*catch_up)(void *self);
    /* A function that changes facts has ended. */
    void (*facts_changed)(void *self);
    /* One that may change the machine is about to begin. False: not before job_queue_looked. */
    bool (*look_first)(void *self);
    /* It begins. */
    void (*acts)(void *self, const struct exec_request *request);
    /* An execution has ended; for metrics, and for who tells others of runs. */
    void (*ended)(void *self, const struct exec_request *request, const struct job_queue_end *end);
    void *self;
};

struct job_queue *job_queue_new(const struct job_queue_options *options, struct err *err);
/* Accept nothing more; what runs is canceled, and its returns are kept. */
void job_queue_stop(struct job_queue *job_queue);
/* After the workers are done: waits for them. NULL is fine. */
void job_queue_free(struct job_queue *job_queue);

/* Requests come from this connection; NULL: there is none. */
int job_queue_connect(struct job_queue *job_queue, struct nats_conn *conn, struct err *err);

/* Work of our own: schedule and start. `fn` is called from the loop, once. */
/* `answer` has no results; they are in `response`, an ExecResponse as bytes. */
typedef void job_queue_fn(void *self, const struct perform_answer *answer, struct str response,
                          int64_t duration);
struct job_queue_task {
    const char *jid; /* for those who watch; "": none */
    const char *function, *id;
    struct value args;
    job_queue_fn *fn;
    void *self;
};
/* Fails with ERR_BUSY when the lane is full, ERR_INVALID for an unknown function. */
int job_queue_run(struct job_queue *job_queue, const struct job_queue_task *task, struct err *err);

/* Outside of the maintenance windows: it would change the machine, and is refused until `ret_next`
 * ((time_t)-1: nobody knows). */
bool job_queue_is_forbidden(const struct job_queue *job_queue, const char *function,
                            const struct value *args, time_t *ret_next);

/* What `catch_up` waited for is here. */
void job_queue_go_on(struct job_queue *job_queue);

/* What `look_first` waited for has ended. */
void job_queue_looked(struct job_queue *job_queue);

/* Send a message that the outbox has stored. Any thread. */
void job_queue_post(struct job_queue *job_queue, uint64_t number);

/* Does something run that may change the machine? */
bool job_queue_is_acting(const struct job_queue *job_queue);
/* How deep in a chain of reactions the jobs are that run now; 0: no reaction began them. */
int32_t job_queue_depth(const struct job_queue *job_queue);
/* Nothing runs, nothing waits. */
bool job_queue_is_idle(const struct job_queue *job_queue);
/* While it is idle: forget what ran. False: plans are kept, see states/local/plan_cache.h. */
bool job_queue_trim(struct job_queue *job_queue);

#endif
