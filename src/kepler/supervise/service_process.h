/*
 * service process - a running program of a service: its tree and its two streams.
 *
 * Its output goes to a sink as it arrives: the logs. When outputs are captured, marked lines are
 * removed from standard output. Otherwise the sink may take over the pipe itself.
 *
 *     service_process_init -> service_process_start -> on_exited -> on_done ->
 * service_process_outputs -> service_process_start ...
 *
 * on_done comes when the tree is empty and all its output has been read.
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef KEPLER_SUPERVISE_SERVICE_PROCESS_H
#define KEPLER_SUPERVISE_SERVICE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "kepler/config/launch.h"
#include "kepler/supervise/output.h"
#include "kepler/supervise/proctree.h"

struct err;
struct service_process;

enum service_process_stream { SERVICE_PROCESS_STDOUT, SERVICE_PROCESS_STDERR };
#define SERVICE_PROCESS_STREAMS (SERVICE_PROCESS_STDERR + 1)

/* Maximum bytes per read. */
#define SERVICE_PROCESS_READ_SIZE ((size_t)64 << 10)

/* Waits for room in a sink; a zero one waits for nothing. */
struct service_process_waiter {
    void (*fn)(struct service_process_waiter *waiter);
    struct service_process_waiter *next, **back;
};

void service_process_waiter_join(struct service_process_waiter *waiter,
                                 struct service_process_waiter **list);
/* Not waiting is fine. */
void service_process_waiter_leave(struct service_process_waiter *waiter);

/* The destination of a service process's streams. `tag` was given to service_process_start. */
struct service_process_sink {
    void *self;
    /* Takes over the read end of a pipe; the new owner closes it. NULL, or false: we read. */
    bool (*take)(void *self, const void *tag, enum service_process_stream stream, int fd);
    /* Adds bytes that were read; no bytes: the stream has ended. */
    void (*add)(void *self, const void *tag, enum service_process_stream stream, struct str bytes);
    /* May more be read? False: the waiter has joined, and its `fn` is called when there is room.
     * NULL: always. */
    bool (*ask)(void *self, struct service_process_waiter *waiter);
};

typedef void service_process_exited_fn(struct service_process *service_process,
                                       struct process_status status);
typedef void service_process_done_fn(struct service_process *service_process);

struct service_process_pipe {
    struct service_process *service_process;
    enum service_process_stream stream;
    int fd;
    struct watch watch;
    struct service_process_waiter waiter;
};

struct service_process {
    struct proctree tree;
    const struct service_process_sink *sink;
    const void *tag;
    service_process_exited_fn *on_exited;
    service_process_done_fn *on_done;
    struct service_process_pipe pipes[SERVICE_PROCESS_STREAMS];
    bool capturing;
    struct output_capture output;
};

/* `sink` is kept; NULL: output is discarded. */
void service_process_init(struct service_process *service_process, struct proctree_home *home,
                          const struct service_process_sink *sink,
                          service_process_exited_fn *on_exited, service_process_done_fn *on_done);
/* `name` is its control group's. `capture`: maximum bytes of outputs; 0: none. */
int service_process_start(struct service_process *service_process, const char *name,
                          const void *tag, const struct launch_program *program, size_t capture,
                          struct err *err);
void service_process_signal(struct service_process *service_process, int signo);
void service_process_kill(struct service_process *service_process);
/* The outputs of the last run; NULL when nothing was captured. Valid until the next start. */
const struct output_capture *service_process_outputs(const struct service_process *service_process);
void service_process_done(struct service_process *service_process);

#endif
