/*
 * job - a program of a service that runs: its tree and its two streams.
 *
 * What it writes goes, as it comes, to a sink: the logs. When outputs are captured,
 * marked lines of standard output are taken out on the way. When nothing is
 * captured the sink may take the pipe itself and read it as it likes.
 *
 *     job_init -> job_start -> on_exited -> on_done -> job_outputs -> job_start ...
 *
 * on_done comes when the tree is empty and all that it wrote has been read.
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef KEPLER_SUPERVISE_JOB_H
#define KEPLER_SUPERVISE_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "kepler/config/launch.h"
#include "kepler/supervise/output.h"
#include "kepler/supervise/proctree.h"

struct err;
struct job;

enum job_stream { JOB_STDOUT, JOB_STDERR };
#define JOB_STREAMS (JOB_STDERR + 1)

/* Bytes of one read. */
#define JOB_READ_SIZE ((size_t)64 << 10)

/* One that waits for a sink; zero waits for nothing. */
struct job_waiter {
    void (*fn)(struct job_waiter *waiter);
    struct job_waiter *next, **back;
};

void job_waiter_join(struct job_waiter *waiter, struct job_waiter **list);
/* Not waiting is fine. */
void job_waiter_leave(struct job_waiter *waiter);

/* Where the streams of a job go. `tag` is what job_start was given. */
struct job_sink {
    void *self;
    /* Take over the reading end of a pipe; its new owner closes it. NULL, or false: we read. */
    bool (*take)(void *self, const void *tag, enum job_stream stream, int fd);
    /* What was read; nothing at all: the stream has ended. */
    void (*add)(void *self, const void *tag, enum job_stream stream, struct str bytes);
    /* May more be read? False: the waiter has joined, and its `fn` is called when there is room.
     * NULL: always. */
    bool (*ask)(void *self, struct job_waiter *waiter);
};

typedef void job_exited_fn(struct job *job, struct process_status status);
typedef void job_done_fn(struct job *job);

struct job_pipe {
    struct job *job;
    enum job_stream stream;
    int fd;
    struct watch watch;
    struct job_waiter waiter;
};

struct job {
    struct proctree tree;
    const struct job_sink *sink;
    const void *tag;
    job_exited_fn *on_exited;
    job_done_fn *on_done;
    struct job_pipe pipes[JOB_STREAMS];
    bool capturing;
    struct output output;
};

/* `sink` is kept; NULL: what the programs write is thrown away. */
void job_init(struct job *job, struct proctree_home *home, const struct job_sink *sink,
              job_exited_fn *on_exited, job_done_fn *on_done);
/* `name` is that of its control group. `capture`: bytes of outputs to take; 0: none. */
int job_start(struct job *job, const char *name, const void *tag,
              const struct launch_program *program, size_t capture, struct err *err);
void job_signal(struct job *job, int signo);
void job_kill(struct job *job);
/* What the last run gave; NULL when nothing was captured. Until the next start. */
const struct output *job_outputs(const struct job *job);
void job_done(struct job *job);

#endif
