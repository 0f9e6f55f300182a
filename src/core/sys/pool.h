/*
 * pool - workers for code that blocks; as many as that needs, and no more.
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
#define POOL_STACK_SIZE ((size_t)2 << 20) /* address space; what is used takes memory */
#define POOL_IDLE_NS    (5 * INT64_C(1000000000))

/* Zero is the default of each. */
struct pool_options {
    unsigned limit;    /* workers, blocked ones included */
    unsigned active;   /* of those, how many may run at once; default: one for each core */
    size_t stack_size; /* of a worker */
    int64_t idle;      /* nanoseconds without work before a worker ends */
    bool lazy;         /* no worker without work: for what a daemon does now and then */
};

typedef void pool_fn(void *arg);

/* One worker is started at once and stays, so that submitting never fails. With `lazy` there is
 * none until there is work, and where none can be started the work is done by who submits it. */
struct pool *pool_new(const struct pool_options *options, struct err *err);
/* Waits for jobs that have begun; those that have not are dropped. NULL is fine. */
void pool_free(struct pool *pool);

/* `fn(arg)` will run in a worker, in the order of submission as far as workers are free. */
void pool_submit(struct pool *pool, pool_fn *fn, void *arg);
/* Wait until every job is done, those that jobs submit included. Not for a job to call. */
void pool_drain(struct pool *pool);

/* The calling thread does a part of the same work, and counts as one of those that run at once,
 * while it does not block, until it leaves. It may be a worker of another pool. Leaving without
 * having joined is fine. */
void pool_join(struct pool *pool);
void pool_leave(void);

/* This worker waits for something that needs no core, until the end. Pairs may nest; outside of a
 * pool they do nothing. */
void pool_block_begin(void);
void pool_block_end(void);
/* Call `fn` whenever this thread is about to block, until it is called with NULL. */
void pool_watch_blocks(pool_fn *fn, void *arg);

/* Workers there are now, and the most there have been. */
struct pool_count {
    unsigned workers, blocked, idle, peak;
};
struct pool_count pool_count(struct pool *pool);

#endif
