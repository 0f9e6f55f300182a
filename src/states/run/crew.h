/*
 * crew - runs the tasks of a level at once and reports when each begins and ends.
 *
 * The calling thread takes one task after the other; when it waits for something, or the tasks
 * take long, workers go on with the rest. So a few quick tasks need no worker, many need as many as
 * there are cores, and slow ones as many as there are tasks. Where `tell` is called meanwhile,
 * workers do all of it.
 *
 *     crew_new -> crew_run... -> crew_free
 *
 * Threads: one calls; `run` is called there and in workers, `tell` in the calling thread.
 */
#ifndef STATES_RUN_CREW_H
#define STATES_RUN_CREW_H

#include <stdbool.h>
#include <stddef.h>

#include "states/run/lane.h"
#include "core/sys/mailbox.h"

struct crew;
struct crew_task;
struct err;

struct crew_mail {
    struct mail mail;
    struct crew_task *task;
    bool ended;
};

/* Embedded in a task. */
struct crew_task {
    const char *lane; /* those of one lane run one after the other; NULL */
    struct lane_ticket ticket;
    struct crew_mail begin, end;
};

struct crew_options {
    unsigned limit; /* tasks at once; 0: no limit of ours */
    void (*run)(void *user, struct crew_task *task);
    void (*tell)(void *user, struct crew_task *task, bool ended); /* NULL: none */
    void *user;
};

struct crew *crew_new(const struct crew_options *options, struct err *err);
void crew_free(struct crew *crew);

/* Run all of them; returns when all are done. Where the system allows no more threads the calling
 * one runs them, one after the other. */
void crew_run(struct crew *crew, struct crew_task *const *tasks, size_t count);

#endif
