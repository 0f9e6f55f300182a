/*
 * pool - worker threads for code that blocks; no more of them than needed.
 *
 * A few workers (one for each core) run jobs. When a worker announces that it will
 * block, another may run in its place, so a thousand jobs that each wait for a
 * command run all at once, and a thousand that compute run a few at a time. There
 * are never more than `limit` workers; idle ones end after a while.
 *
 *     pool_new -> pool_submit... -> pool_drain -> pool_free
 *
 * In a job: pool_block_begin, wait, pool_block_end. process_run does so itself.
 *
 * Threads: any may submit, jobs too; one drains and frees.
 */
#ifndef CORE_SYS_POOL_H
#define CORE_SYS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct pool;

#define POOL_LIMIT      2048
#define POOL_STACK_SIZE ((size_t)2 << 20) /* address space; only the used part takes memory */
#define POOL_IDLE_NS    (5 * INT64_C(1000000000))

/* Zero means the default. */
struct pool_options {
    unsigned limit;    /* workers, blocked ones included */
    unsigned active;   /* maximum of unblocked ones; default: one for each core */
    size_t stack_size; /* for each worker */
    int64_t idle;      /* nanoseconds without work before a worker ends */
    bool lazy;         /* no worker without work, for occasional work of a daemon */
};

typedef void pool_fn(void *arg);

/* One worker starts at once and stays, so that submitting never fails. With `lazy` there is none
 * until there is work; if none can be started, the submitter does the work itself. */
struct pool *pool_new(const struct pool_options *options, struct err *err);
/* Waits for running jobs; queued ones are dropped. NULL is fine. */
void pool_free(struct pool *pool);

/* `fn(arg)` will run in a worker; jobs start in the order of submission. */
void pool_submit(struct pool *pool, pool_fn *fn, void *arg);
/* Wait until every job is done, including jobs submitted by jobs. Must not be called by a job. */
void pool_drain(struct pool *pool);

/* The calling thread takes part in the work and counts as a running worker, except while it blocks,
 * until it leaves. It may be a worker of another pool. Leaving without having joined is fine. */
void pool_join(struct pool *pool);
void pool_leave(void);

/* This worker waits, and needs no core, between begin and end. Pairs may nest; outside of a pool
 * they do nothing. */
void pool_block_begin(void);
void pool_block_end(void);
/* Call `fn` whenever this thread is about to block, until it is called with NULL. */
void pool_watch_blocks(pool_fn *fn, void *arg);

/* The current number of workers, and the highest so far. */
struct pool_count {
    unsigned workers, blocked, idle, peak;
};
struct pool_count pool_count(struct pool *pool);

#endif
