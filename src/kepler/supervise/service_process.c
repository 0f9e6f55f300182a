#include "kepler/supervise/service_process.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/fd.h"

/* --- waiting --------------------------------------------------------------------------- */

void service_process_waiter_join(struct service_process_waiter *waiter,
                                 struct service_process_waiter **list)
{
    waiter->next = *list;
    waiter->back = list;
    if (waiter->next)
        waiter->next->back = &waiter->next;
    *list = waiter;
}

void service_process_waiter_leave(struct service_process_waiter *waiter)
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
    struct service_process_pipe *pipe = self;
    const struct service_process_sink *sink = pipe->service_process->sink;

    if (bytes.n > 0)
        sink->add(sink->self, pipe->service_process->tag, pipe->stream, bytes);
}

static bool is_captured(const struct service_process_pipe *pipe)
{
    return pipe->stream == SERVICE_PROCESS_STDOUT && pipe->service_process->capturing;
}

static void end_pipe(struct service_process_pipe *pipe)
{
    const struct service_process_sink *sink = pipe->service_process->sink;

    if (pipe->fd < 0)
        return;
    service_process_waiter_leave(&pipe->waiter);
    watch_stop(&pipe->watch);
    fd_close(&pipe->fd);
    if (is_captured(pipe))
        output_end(&pipe->service_process->output, pass_to_sink, pipe);
    sink->add(sink->self, pipe->service_process->tag, pipe->stream, (struct str){ NULL, 0 });
}

/* Reads once; false when there is nothing more, now or ever. */
static bool read_pipe(struct service_process_pipe *pipe)
{
    char bytes[SERVICE_PROCESS_READ_SIZE];
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
        output_feed(&pipe->service_process->output, str_bytes(bytes, (size_t)n), pass_to_sink,
                    pipe);
    else
        pass_to_sink(pipe, str_bytes(bytes, (size_t)n));
    return true;
}

/* A sink without room: the pipe fills up, and its writers block. */
static void on_readable(struct watch *watch, uint32_t events)
{
    struct service_process_pipe *pipe = container_of(watch, struct service_process_pipe, watch);
    const struct service_process_sink *sink = pipe->service_process->sink;

    (void)events;
    if (sink->ask && !sink->ask(sink->self, &pipe->waiter))
        watch_stop(watch);
    else
        (void)read_pipe(pipe);
}

static void on_waiter_room(struct service_process_waiter *waiter)
{
    struct service_process_pipe *pipe = container_of(waiter, struct service_process_pipe, waiter);
    struct err ignored; /* only what it writes is lost */

    if (watch_start(&pipe->watch, pipe->service_process->tree.home->loop, pipe->fd, WATCH_READ,
                    on_readable, &ignored) < 0)
        end_pipe(pipe);
}

static int open_output_pipe(struct service_process_pipe *pipe, int *fd, struct err *err)
{
    struct service_process *service_process = pipe->service_process;
    const struct service_process_sink *sink = service_process->sink;

    if (!is_captured(pipe) && sink->take &&
        sink->take(sink->self, service_process->tag, pipe->stream, *fd)) {
        *fd = -1;
        return 0;
    }
    pipe->fd = fd_take(fd);
    pipe->waiter.fn = on_waiter_room;
    if (fcntl(pipe->fd, F_SETFL, O_NONBLOCK) < 0)
        return err_sys(err, errno, "read without waiting");
    return watch_start(&pipe->watch, service_process->tree.home->loop, pipe->fd, WATCH_READ,
                       on_readable, err);
}

/* --- ends ---------------------------------------------------------------------------------- */

static void on_tree_exited(struct proctree *tree, struct process_status status)
{
    struct service_process *service_process = container_of(tree, struct service_process, tree);

    service_process->on_exited(service_process, status);
}

/* No process of the tree can still write: the rest is in the pipes. */
static void on_empty(struct proctree *tree)
{
    struct service_process *service_process = container_of(tree, struct service_process, tree);

    for (int i = 0; i < SERVICE_PROCESS_STREAMS; i++) {
        while (service_process->pipes[i].fd >= 0 && read_pipe(&service_process->pipes[i]))
            continue;
        end_pipe(&service_process->pipes[i]);
    }
    service_process->on_done(service_process);
}

/* --- public ---------------------------------------------------------------------------------- */

void service_process_init(struct service_process *service_process, struct proctree_home *home,
                          const struct service_process_sink *sink,
                          service_process_exited_fn *on_exited_fn,
                          service_process_done_fn *on_done_fn)
{
    *service_process =
        (struct service_process){ .sink = sink, .on_exited = on_exited_fn, .on_done = on_done_fn };
    proctree_init(&service_process->tree, home, on_tree_exited, on_empty);
    for (int i = 0; i < SERVICE_PROCESS_STREAMS; i++)
        service_process->pipes[i] = (struct service_process_pipe){
            .service_process = service_process, .stream = (enum service_process_stream)i, .fd = -1
        };
}

static void set_capture(struct service_process *service_process, size_t capture)
{
    if (service_process->capturing)
        output_done(&service_process->output);
    service_process->capturing = capture > 0;
    if (service_process->capturing)
        output_init(&service_process->output, capture);
}

int service_process_start(struct service_process *service_process, const char *name,
                          const void *tag, const struct launch_program *program, size_t capture,
                          struct err *err)
{
    struct process_spec spec = { 0 };

    launch_program_spec(program, &spec);
    if (service_process->sink)
        spec.out.kind = spec.err.kind = PROCESS_PIPE;
    set_capture(service_process, capture);
    service_process->tag = tag;
    if (proctree_start(&service_process->tree, name, &spec, err) < 0)
        return -1;
    if (!service_process->sink)
        return 0;
    if (open_output_pipe(&service_process->pipes[SERVICE_PROCESS_STDOUT],
                         &service_process->tree.process.out, err) == 0 &&
        open_output_pipe(&service_process->pipes[SERVICE_PROCESS_STDERR],
                         &service_process->tree.process.err, err) == 0)
        return 0;
    /* It runs, and its end will be reported; only its output is lost. */
    process_done(&(struct process){ .pidfd = -1,
                                    .in = -1,
                                    .out = fd_take(&service_process->tree.process.out),
                                    .err = fd_take(&service_process->tree.process.err) });
    return 0;
}

void service_process_signal(struct service_process *service_process, int signo)
{
    proctree_signal(&service_process->tree, signo);
}

void service_process_kill(struct service_process *service_process)
{
    proctree_kill(&service_process->tree);
}

const struct output_capture *service_process_outputs(const struct service_process *service_process)
{
    return service_process->capturing ? &service_process->output : NULL;
}

void service_process_done(struct service_process *service_process)
{
    proctree_done(&service_process->tree);
    for (int i = 0; i < SERVICE_PROCESS_STREAMS; i++)
        end_pipe(&service_process->pipes[i]);
    set_capture(service_process, 0);
}
