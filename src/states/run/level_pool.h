/*
 * level pool - runs the tasks of a level at once and reports when each begins and ends.
 *
 * The calling thread takes one task after the other; when it waits for something, or the tasks
 * take long, workers go on with the rest. So a few quick tasks need no worker, many need as many as
 * there are cores, and slow ones as many as there are tasks. Where `tell` is called meanwhile,
 * workers do all of it.
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
    const char *named_lock; /* those of one named lock run one after the other; NULL */
    struct named_lock_ticket ticket;
    struct level_pool_mail begin, end;
};

struct level_pool_options {
    unsigned limit; /* tasks at once; 0: no limit of ours */
    void (*run)(void *user, struct level_pool_task *task);
    void (*tell)(void *user, struct level_pool_task *task, bool ended); /* NULL: none */
    void *user;
};

struct level_pool *level_pool_new(const struct level_pool_options *options, struct err *err);
void level_pool_free(struct level_pool *level_pool);

/* Run all of them; returns when all are done. Where the system allows no more threads the calling
 * one runs them, one after the other. */
void level_pool_run(struct level_pool *level_pool, struct level_pool_task *const *tasks,
                    size_t count);

#endif
