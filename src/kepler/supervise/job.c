#include "kepler/supervise/job.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/fd.h"

/* --- waiting --------------------------------------------------------------------------- */

void job_waiter_join(struct job_waiter *waiter, struct job_waiter **list)
{
    waiter->next = *list;
    waiter->back = list;
    if (waiter->next)
        waiter->next->back = &waiter->next;
    *list = waiter;
}

void job_waiter_leave(struct job_waiter *waiter)
{
    if (!waiter->back)
        return;
    *waiter->back = waiter->next;
    if (waiter->next)
        waiter->next->back = waiter->back;
    waiter->back = NULL;
}

/* --- streams ---------------------------------------------------------------------------- */

static void pass_to_sink(void *self, struct str bytes)
{
    struct job_pipe *pipe = self;
    const struct job_sink *sink = pipe->job->sink;

    if (bytes.n > 0)
        sink->add(sink->self, pipe->job->tag, pipe->stream, bytes);
}

static bool is_captured(const struct job_pipe *pipe)
{
    return pipe->stream == JOB_STDOUT && pipe->job->capturing;
}

static void end_pipe(struct job_pipe *pipe)
{
    const struct job_sink *sink = pipe->job->sink;

    if (pipe->fd < 0)
        return;
    job_waiter_leave(&pipe->waiter);
    watch_stop(&pipe->watch);
    fd_close(&pipe->fd);
    if (is_captured(pipe))
        output_end(&pipe->job->output, pass_to_sink, pipe);
    sink->add(sink->self, pipe->job->tag, pipe->stream, (struct str){ NULL, 0 });
}

/* One read; false when there is nothing more, now or ever. */
static bool read_pipe(struct job_pipe *pipe)
{
    char bytes[JOB_READ_SIZE];
    ssize_t n = read(pipe->fd, bytes, sizeof(bytes));

    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        end_pipe(pipe);
        return false;
    }
    if (is_captured(pipe))
        output_feed(&pipe->job->output, str_bytes(bytes, (size_t)n), pass_to_sink, pipe);
    else
        pass_to_sink(pipe, str_bytes(bytes, (size_t)n));
    return true;
}

/* A sink without room: the pipe fills up, and its writers wait. */
static void on_readable(struct watch *watch, uint32_t events)
{
    struct job_pipe *pipe = container_of(watch, struct job_pipe, watch);
    const struct job_sink *sink = pipe->job->sink;

    (void)events;
    if (sink->ask && !sink->ask(sink->self, &pipe->waiter))
        watch_stop(watch);
    else
        (void)read_pipe(pipe);
}

static void on_room(struct job_waiter *waiter)
{
    struct job_pipe *pipe = container_of(waiter, struct job_pipe, waiter);
    struct err ignored; /* only what it writes is lost */

    if (watch_start(&pipe->watch, pipe->job->tree.home->loop, pipe->fd, WATCH_READ, on_readable,
                    &ignored) < 0)
        end_pipe(pipe);
}

static int open_pipe(struct job_pipe *pipe, int *fd, struct err *err)
{
    struct job *job = pipe->job;
    const struct job_sink *sink = job->sink;

    if (!is_captured(pipe) && sink->take && sink->take(sink->self, job->tag, pipe->stream, *fd)) {
        *fd = -1;
        return 0;
    }
    pipe->fd = fd_take(fd);
    pipe->waiter.fn = on_room;
    if (fcntl(pipe->fd, F_SETFL, O_NONBLOCK) < 0)
        return err_sys(err, errno, "read without waiting");
    return watch_start(&pipe->watch, job->tree.home->loop, pipe->fd, WATCH_READ, on_readable, err);
}

/* --- ends ---------------------------------------------------------------------------------- */

static void on_exited(struct proctree *tree, struct process_status status)
{
    struct job *job = container_of(tree, struct job, tree);

    job->on_exited(job, status);
}

/* No process of the tree can still write: the rest is in the pipes. */
static void on_empty(struct proctree *tree)
{
    struct job *job = container_of(tree, struct job, tree);

    for (int i = 0; i < JOB_STREAMS; i++) {
        while (job->pipes[i].fd >= 0 && read_pipe(&job->pipes[i]))
            continue;
        end_pipe(&job->pipes[i]);
    }
    job->on_done(job);
}

/* --- public ---------------------------------------------------------------------------------- */

void job_init(struct job *job, struct proctree_home *home, const struct job_sink *sink,
              job_exited_fn *on_exited_fn, job_done_fn *on_done_fn)
{
    *job = (struct job){ .sink = sink, .on_exited = on_exited_fn, .on_done = on_done_fn };
    proctree_init(&job->tree, home, on_exited, on_empty);
    for (int i = 0; i < JOB_STREAMS; i++)
        job->pipes[i] = (struct job_pipe){ .job = job, .stream = (enum job_stream)i, .fd = -1 };
}

static void set_capture(struct job *job, size_t capture)
{
    if (job->capturing)
        output_done(&job->output);
    job->capturing = capture > 0;
    if (job->capturing)
        output_init(&job->output, capture);
}

int job_start(struct job *job, const char *name, const void *tag,
              const struct launch_program *program, size_t capture, struct err *err)
{
    struct process_spec spec = { 0 };

    launch_program_spec(program, &spec);
    if (job->sink)
        spec.out.kind = spec.err.kind = PROCESS_PIPE;
    set_capture(job, capture);
    job->tag = tag;
    if (proctree_start(&job->tree, name, &spec, err) < 0)
        return -1;
    if (!job->sink)
        return 0;
    if (open_pipe(&job->pipes[JOB_STDOUT], &job->tree.process.out, err) == 0 &&
        open_pipe(&job->pipes[JOB_STDERR], &job->tree.process.err, err) == 0)
        return 0;
    /* It runs, and its end will be reported; only its output is lost. */
    process_done(&(struct process){ .pidfd = -1,
                                    .in = -1,
                                    .out = fd_take(&job->tree.process.out),
                                    .err = fd_take(&job->tree.process.err) });
    return 0;
}

void job_signal(struct job *job, int signo)
{
    proctree_signal(&job->tree, signo);
}

void job_kill(struct job *job)
{
    proctree_kill(&job->tree);
}

const struct output *job_outputs(const struct job *job)
{
    return job->capturing ? &job->output : NULL;
}

void job_done(struct job *job)
{
    proctree_done(&job->tree);
    for (int i = 0; i < JOB_STREAMS; i++)
        end_pipe(&job->pipes[i]);
    set_capture(job, 0);
}
