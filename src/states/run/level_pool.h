/*
 * level pool - runs the tasks of a level concurrently and reports start and end of each.
 *
 * The calling thread runs one task after the other; when it blocks, or the tasks take long,
 * workers take over the rest. So a few quick tasks need no worker, many need one per core, and
 * slow ones one per task. When `tell` is set, workers do all of the work.
 *
 *     level_pool_new -> level_pool_run... -> level_pool_free
 *
 * Threads: one calls; `run` is called there and in workers, `tell` in the calling thread.
 */
#ifndef STATES_RUN_LEVEL_POOL_H
#define STATES_RUN_LEVEL_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "states/run/named_lock.h"
#include "core/sys/mailbox.h"

struct level_pool;
struct level_pool_task;
struct err;

struct level_pool_mail {
    struct mail mail;
    struct level_pool_task *task;
    bool ended;
};

/* Embedded in a task. */
struct level_pool_task {
    const char *named_lock; /* tasks with the same lock name run one at a time; or NULL */
    struct named_lock_ticket ticket;
    struct level_pool_mail begin, end;
};

struct level_pool_options {
    unsigned limit; /* concurrent tasks; 0: no limit */
    void (*run)(void *user, struct level_pool_task *task);
    void (*tell)(void *user, struct level_pool_task *task, bool ended); /* NULL: none */
    void *user;
};

struct level_pool *level_pool_new(const struct level_pool_options *options, struct err *err);
void level_pool_free(struct level_pool *level_pool);

/* Run all tasks; returns when all are done. If no thread can be created, the calling thread runs
 * them one by one. */
void level_pool_run(struct level_pool *level_pool, struct level_pool_task *const *tasks,
                    size_t count);

#endif
