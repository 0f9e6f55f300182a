#include "core/sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/pool.h"
#include "core/sys/quota.h"

#define SHELL "/bin/sh"
#define CHUNK 16384
/* This many reads empty a pipe of the usual size: they return everything that the program wrote
 * before its end, even if a background process never stops writing. */
#define LATE_TURNS (65536 / CHUNK + 1)

enum { SLOT_OUT, SLOT_ERR, SLOT_IN, SLOT_CHILD, SLOT_CANCEL, SLOTS };

/* One output stream. */
struct sink {
    int *fd;
    struct buf text;
    size_t dropped;
};

struct run {
    struct process process;
    struct fence fence;
    const struct cancel *cancel;
    struct sink out, err;
    struct str input; /* the rest of it */
    int64_t deadline;
    enum { RUNNING, LET_BE, SIGNALED } stop_step;
    int stop_signal;
    int64_t stop_time;
    bool ended, killed;
    unsigned late_turns; /* after the deadline of a program that has ended */
    struct process_result result;
};

/* --- streams -------------------------------------------------------------------------- */

static void keep_output(struct sink *sink, const char *bytes, size_t n)
{
    size_t room = sink->text.max - sink->text.n;
    size_t kept = n < room ? n : room;

    buf_add(&sink->text, bytes, kept);
    sink->dropped += n - kept;
}

/* One read; poll has said that it does not block. */
static void drain_output(struct sink *sink)
{
    char chunk[CHUNK];
    ssize_t n = read(*sink->fd, chunk, sizeof(chunk));

    if (n > 0)
        keep_output(sink, chunk, (size_t)n);
    else if (n == 0 || errno != EINTR)
        fd_close(sink->fd);
}

/* A program need not read all of its input. SIGPIPE is blocked in this thread by
 * process_run. */
static void feed_input(struct run *run)
{
    ssize_t n = write(run->process.in, run->input.p, run->input.n);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0)
        run->input = str_from_offset(run->input, (size_t)n);
    if (n < 0 || run->input.n == 0)
        fd_close(&run->process.in);
}

/* --- waiting --------------------------------------------------------------------------- */

static void set_polls(const struct run *run, struct pollfd *polls)
{
    polls[SLOT_OUT] = (struct pollfd){ .fd = run->process.out, .events = POLLIN };
    polls[SLOT_ERR] = (struct pollfd){ .fd = run->process.err, .events = POLLIN };
    polls[SLOT_IN] = (struct pollfd){ .fd = run->process.in, .events = POLLOUT };
    polls[SLOT_CHILD] =
        (struct pollfd){ .fd = run->ended ? -1 : run->process.pidfd, .events = POLLIN };
    polls[SLOT_CANCEL] =
        (struct pollfd){ .fd = run->ended || run->stop_step > RUNNING ? -1 : cancel_fd(run->cancel),
                         .events = POLLIN };
}

static int learn_end(struct run *run, struct err *err)
{
    if (process_reap(run->process.pidfd, &run->ended, &run->result.status, err) < 0)
        return -1;
    if (run->ended) {
        fd_close(&run->process.in); /* no longer read */
        run->deadline = clock_after(clock_real(), PROCESS_DRAIN_NS);
    }
    return 0;
}

static int handle_ready_streams(struct run *run, const struct pollfd *polls, struct err *err)
{
    if (polls[SLOT_OUT].revents)
        drain_output(&run->out);
    if (polls[SLOT_ERR].revents)
        drain_output(&run->err);
    if (polls[SLOT_IN].revents)
        feed_input(run);
    if (polls[SLOT_CHILD].revents)
        return learn_end(run, err);
    return 0;
}

/* Kill everything: the rest of the output follows, then the end of the process. */
static int kill_run_processes(struct run *run, struct err *err)
{
    run->killed = true;
    fd_close(&run->process.in);
    if (fence_kill(&run->fence, &run->process, err) < 0)
        return -1;
    if (process_wait(&run->process, CLOCK_NEVER, &run->result.status, err) < 0)
        return -1;
    run->ended = true;
    run->deadline = clock_real(); /* the pipes will get nothing more */
    return 0;
}

/* The next step towards the end. */
static int stop_next_step(struct run *run, struct err *err)
{
    if (run->stop_step == SIGNALED || run->stop_signal == 0)
        return kill_run_processes(run, err);
    run->stop_step++;
    run->deadline =
        clock_after(clock_real(), run->stop_step == LET_BE ? PROCESS_STOP_WAIT_NS : run->stop_time);
    return run->stop_step == LET_BE ? 0 : process_signal(&run->process, run->stop_signal, err);
}

static bool is_run_over(const struct run *run)
{
    return run->ended && run->process.out < 0 && run->process.err < 0;
}

/* One turn of the wait; sets `ret_over` when there is nothing left to wait for. */
static int poll_run_once(struct run *run, bool *ret_over, struct err *err)
{
    struct pollfd polls[SLOTS];
    struct timespec room;
    int n;

    set_polls(run, polls);
    n = ppoll(polls, SLOTS, clock_left(run->deadline, &room), NULL);
    if (n < 0 && errno != EINTR)
        return err_sys(err, errno, "wait for process %d", run->process.pid);
    if (!run->ended && run->stop_step == RUNNING && cancel_is_raised(run->cancel)) {
        run->result.canceled = true;
        return stop_next_step(run, err);
    }
    if (n > 0 && handle_ready_streams(run, polls, err) < 0)
        return -1;
    if (n == 0 && !run->ended) {
        run->result.timed_out |= run->stop_step == RUNNING;
        return stop_next_step(run, err);
    }
    if (run->ended && clock_real() >= run->deadline)
        run->late_turns++;
    *ret_over = is_run_over(run) || (n == 0 && run->ended) || run->late_turns > LATE_TURNS;
    return 0;
}

static int wait_for_run_end(struct run *run, struct err *err)
{
    bool over = false;

    while (!over)
        if (poll_run_once(run, &over, err) < 0)
            return -1;
    return 0;
}

/* --- a run ------------------------------------------------------------------------------ */

static void choose_streams(const struct process_bounds *bounds, struct process_spec *spec)
{
    const struct process_stream pipe = { .kind = PROCESS_PIPE };

    if (spec->out.kind != PROCESS_FD)
        spec->out = pipe;
    if (spec->err.kind != PROCESS_FD && spec->err.kind != PROCESS_STDOUT)
        spec->err = pipe;
    if (bounds->input.p)
        spec->in = pipe;
    if (spec->group == PROCESS_GROUP_SAME)
        spec->group = PROCESS_GROUP_SESSION;
}

static int start_fenced(struct run *run, const struct process_spec *spec,
                        const struct process_bounds *bounds, struct err *err)
{
    struct process_spec chosen = *spec;

    choose_streams(bounds, &chosen);
    if (run->cancel)
        chosen.child_registry = run->cancel->child_registry;
    if (fence_open(&run->fence, bounds->fence, err) < 0)
        return -1;
    fence_apply(&run->fence, &chosen);
    if (process_start(&chosen, &run->process, err) < 0) {
        fence_close(&run->fence);
        return -1;
    }
    if (run->process.in >= 0)
        (void)fcntl(run->process.in, F_SETFL, O_NONBLOCK);
    if (run->process.in >= 0 && run->input.n == 0)
        fd_close(&run->process.in);
    return 0;
}

/* A background process still holds the output, and its next line would kill it with SIGPIPE. So a
 * reader stays behind that discards the output and ends with the last writer. It is a child of
 * init, since we may end first; without it (no shell, no memory) the writer ends as in 'command |
 * true'. */
static void leave_reader(int pipe, const struct process_spec *spec)
{
    static const char *const argv[] = { SHELL, "-c", "cat <&3 >/dev/null 2>&1 3<&- &", NULL };
    static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", NULL };
    const struct process_fd fds[] = { { pipe, 3 } };
    const struct process_spec reader = {
        .argv = argv,
        .env = env,
        .cwd = "/",
        .user = spec->user,
        .fds = fds,
        .fd_count = ARRAY_LEN(fds),
        .group = PROCESS_GROUP_SESSION,
    };
    struct process_status status;
    struct process process;
    struct err ignored;

    if (process_start(&reader, &process, &ignored) < 0)
        return;
    (void)process_wait(&process, CLOCK_NEVER, &status, &ignored);
    process_done(&process);
}

static void leave_stream_readers(const struct run *run, const struct process_spec *spec)
{
    const int pipes[] = { run->process.out, run->process.err };

    for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
        if (pipes[i] >= 0 && !run->killed)
            leave_reader(pipes[i], spec);
}

/* When waiting fails, no child may be left behind. */
static void abandon_run(struct run *run)
{
    struct process_status status;
    struct err ignored;

    if (run->ended)
        return;
    (void)process_signal(&run->process, SIGKILL, &ignored);
    (void)process_wait(&run->process, CLOCK_NEVER, &status, &ignored);
}

/* Writing to a program that has closed its input must not kill us: SIGPIPE is blocked here, and
 * consumed if it came. */
static void hold_pipe_signal(sigset_t *before)
{
    sigset_t pipe;

    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, before);
}

static void release_pipe_signal(const sigset_t *before)
{
    const struct timespec none = { 0 };
    sigset_t pipe;

    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    if (!sigismember(before, SIGPIPE))
        (void)sigtimedwait(&pipe, NULL, &none);
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int wait_marked(struct run *run, struct err *err)
{
    bool feeds = run->process.in >= 0;
    sigset_t before;
    int rc;

    if (feeds)
        hold_pipe_signal(&before);
    pool_block_begin();
    rc = wait_for_run_end(run, err);
    pool_block_end();
    if (feeds)
        release_pipe_signal(&before);
    if (rc < 0)
        abandon_run(run);
    return rc;
}

/* When the system's limits are reached, wait for running programs to end. */
static int start_in_turn(struct run *run, const struct process_spec *spec,
                         const struct process_bounds *bounds, struct err *err)
{
    const int64_t began = clock_real();

    if (quota_enter(run->cancel, err) < 0)
        return -1;
    while (start_fenced(run, spec, bounds, err) < 0)
        if (!quota_retry(run->cancel, began, err)) {
            quota_leave();
            return -1;
        }
    return 0;
}

static int run_bounded(const struct process_spec *spec, const struct process_bounds *b,
                       const struct cancel *cancel, struct arena *arena,
                       struct process_result *ret_result, struct err *err)
{
    size_t max = b->output_max > 0 ? b->output_max : PROCESS_OUTPUT_MAX;
    int64_t began;
    struct run run = { .cancel = cancel,
                       .input = b->input,
                       .stop_signal = b->stop_signal,
                       .stop_time = b->stop_time,
                       .out = { .fd = &run.process.out, .text = BUF_INIT(max) },
                       .err = { .fd = &run.process.err, .text = BUF_INIT(max) } };
    int rc;

    if (cancel_is_raised(cancel)) {
        *ret_result = (struct process_result){ .status.code = -1, .canceled = true };
        return 0;
    }
    rc = start_in_turn(&run, spec, b, err);
    if (rc < 0)
        return -1;
    began = clock_real();
    run.deadline = b->timeout > 0 ? clock_after(began, b->timeout) : CLOCK_NEVER;
    rc = wait_marked(&run, err);
    if (rc == 0) {
        leave_stream_readers(&run, spec);
        *ret_result = run.result;
        ret_result->out = buf_copy(&run.out.text, arena);
        ret_result->err = buf_copy(&run.err.text, arena);
        ret_result->out_dropped = run.out.dropped;
        ret_result->err_dropped = run.err.dropped;
        ret_result->duration = clock_real() - began;
    }
    fence_close(&run.fence);
    process_done(&run.process);
    quota_leave();
    buf_done(&run.out.text);
    buf_done(&run.err.text);
    return rc;
}

int process_run(const struct process_spec *spec, const struct process_bounds *bounds,
                const struct cancel *cancel, struct arena *arena, struct process_result *ret_result,
                struct err *err)
{
    static const struct process_bounds none;
    /* killing a tree of processes needs walks and reads, which the token would stop */
    const struct cancel *before = cancel_heed(NULL);
    const int rc = run_bounded(spec, bounds ? bounds : &none, cancel, arena, ret_result, err);

    (void)cancel_heed(before);
    return rc;
}
