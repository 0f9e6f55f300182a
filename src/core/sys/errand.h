/*
 * errand - a function call sent to the loop of another thread.
 *
 *     struct job { struct errand errand; ... };
 *     errands_open(&errands, loop);                 in the thread of the loop
 *     errand_send(&errands, &job->errand, fn);      from any thread: fn(&job->errand) there
 *
 * Errands run in the order in which they were sent, from the loop. fn owns the memory of its
 * errand; sending allocates nothing.
 *
 * Threads: any may send; the rest is for the thread of the loop.
 */
#ifndef CORE_SYS_ERRAND_H
#define CORE_SYS_ERRAND_H

#include "core/sys/loop.h"
#include "core/sys/mailbox.h"

struct err;
struct errand;

typedef void errand_fn(struct errand *errand);

struct errand {
    struct mail mail;
    errand_fn *fn;
};

struct errands {
    struct mailbox box;
    struct watch watch;
};

int errands_open(struct errands *errands, struct loop *loop, struct err *err);
/* Runs what is queued; nobody may send after it. */
void errands_close(struct errands *errands);

void errand_send(struct errands *errands, struct errand *errand, errand_fn *fn);
/* Run those that are there now, instead of waiting for the loop. */
void errands_run(struct errands *errands);

#endif
