#include "core/sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "core/sys/child.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/signals.h"

#define SHELL        "/bin/sh"
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum { STREAMS = 3 };

/* Descriptors that live only while the child is started. */
struct streams {
    int null;
    int theirs[STREAMS]; /* ends of pipes for the child */
    int ours[STREAMS];
};

/* --- the program ------------------------------------------------------------------ */

/* execve's parameters are not const, but it changes nothing. */
static char *const *as_exec(const char *const *list)
{
    union {
        const char *const *from;
        char *const *to;
    } cast = { .from = list };

    return cast.to;
}

static const char *find_search_path(const char *const *env)
{
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return DEFAULT_PATH;
}

static const char *const *list_candidates(struct arena *arena, const char *program,
                                          const char *const *env)
{
    struct str rest = str_from(find_search_path(env));
    VEC(const char *) list = VEC_INIT;

    if (strchr(program, '/')) {
        VEC_PUSH_IN(arena, &list, program);
        rest.p = NULL;
    }
    while (rest.p) {
        struct str folder = str_cut(&rest, ':');

        if (folder.n == 0)
            folder = STR("."); /* the traditional default */
        VEC_PUSH_IN(arena, &list, arena_printf(arena, "%.*s/%s", STR_ARG(folder), program));
    }
    VEC_PUSH_IN(arena, &list, NULL);
    return list.p;
}

/* The shell, room for the file that was found, and the arguments. */
static const char **script_line(struct arena *arena, const char *const *argv)
{
    const char **line;
    size_t count = 0;

    while (argv[count])
        count++;
    line = ARENA_ARRAY(arena, const char *, count + 2);
    line[0] = SHELL;
    for (size_t i = 1; i < count; i++)
        line[i + 1] = argv[i];
    return line;
}

static int set_program(struct child *child, struct arena *arena, struct err *err)
{
    const struct process_spec *spec = child->spec;
    const char *const *env = spec->env ? spec->env : (const char *const *)environ;
    const char *const *argv = spec->argv;

    if (!argv) {
        const char **line = ARENA_ARRAY(arena, const char *, 4);

        line[0] = spec->shell ? spec->shell : SHELL;
        line[1] = "-c";
        line[2] = spec->command;
        argv = line;
    }
    if (!argv[0] || !argv[0][0] || (!spec->argv && !spec->command)) {
        (void)err_set(err, ERR_INVALID, "start a process: no program given");
        return -1;
    }
    child->argv = as_exec(argv);
    child->env = as_exec(env);
    child->candidates = list_candidates(arena, argv[0], env);
    child->script = script_line(arena, argv);
    return 0;
}

/* The child gets the original limit of open files, not our raised one, unless the spec sets it. */
static void set_child_limits(struct child *child, struct arena *arena)
{
    const struct process_spec *spec = child->spec;
    struct process_limit *limits = ARENA_ARRAY(arena, struct process_limit, spec->limit_count + 1);
    struct rlimit files;

    if (fd_limit_before(&files))
        limits[child->limit_count++] =
            (struct process_limit){ RLIMIT_NOFILE, files.rlim_cur, files.rlim_max };
    for (size_t i = 0; i < spec->limit_count; i++)
        limits[child->limit_count++] = spec->limits[i];
    child->limits = limits;
}

/* --- streams ---------------------------------------------------------------------- */

static int open_stream_pipe(struct streams *streams, int stream, struct err *err)
{
    int ends[2];
    int theirs = stream == STDIN_FILENO ? 0 : 1;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, errno, "create a pipe");
    streams->theirs[stream] = ends[theirs];
    streams->ours[stream] = ends[1 - theirs];
    return 0;
}

static int open_null(struct streams *streams, struct err *err)
{
    if (streams->null < 0)
        streams->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (streams->null < 0)
        return err_sys(err, errno, "open '/dev/null'");
    return 0;
}

/* The descriptor that becomes the child's `stream`; -1: unchanged. */
static int find_stream_source(struct streams *streams, const struct process_spec *spec, int stream,
                              int *ret_fd, struct err *err)
{
    const struct process_stream *const all[STREAMS] = { &spec->in, &spec->out, &spec->err };

    switch (all[stream]->kind) {
    case PROCESS_INHERIT: *ret_fd = -1; return 0;
    case PROCESS_FD: *ret_fd = all[stream]->fd; return 0;
    case PROCESS_PIPE:
        if (open_stream_pipe(streams, stream, err) < 0)
            return -1;
        *ret_fd = streams->theirs[stream];
        return 0;
    case PROCESS_STDOUT: break;
    case PROCESS_NULL:
        if (open_null(streams, err) < 0)
            return -1;
        *ret_fd = streams->null;
        return 0;
    }
    return err_set(err, ERR_INVALID, "only standard error can be redirected to standard output");
}

static void add_child_file(struct child *child, int fd, int as)
{
    if (fd >= 0)
        child->fds[child->fd_count++] = (struct child_fd){ fd, as };
}

static int set_files(struct child *child, struct streams *streams, struct arena *arena,
                     struct err *err)
{
    const struct process_spec *spec = child->spec;
    int out = -1;

    child->fds = ARENA_ARRAY(arena, struct child_fd, spec->fd_count + STREAMS);
    for (int i = 0; i < STREAMS; i++) {
        int fd = -1;

        if (i == STDERR_FILENO && spec->err.kind == PROCESS_STDOUT)
            fd = out < 0 ? STDOUT_FILENO : out;
        else if (find_stream_source(streams, spec, i, &fd, err) < 0)
            return err_wrap(err, "start '%s'", child->argv[0]);
        if (i == STDOUT_FILENO)
            out = fd;
        add_child_file(child, fd, i);
    }
    for (size_t i = 0; i < spec->fd_count; i++)
        add_child_file(child, spec->fds[i].fd, spec->fds[i].as);
    return 0;
}

static void close_all(int *fds)
{
    for (int i = 0; i < STREAMS; i++)
        fd_close(&fds[i]);
}

/* --- public ------------------------------------------------------------------------ */

int process_start(const struct process_spec *spec, struct process *ret_process, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct streams streams = { -1, { -1, -1, -1 }, { -1, -1, -1 } };
    struct child child = { .spec = spec };
    int rc, pidfd;
    pid_t pid;

    if (set_program(&child, &arena, err) < 0)
        return -1;
    set_child_limits(&child, &arena);
    rc = set_files(&child, &streams, &arena, err);
    if (rc == 0)
        rc = child_start(&child, &pid, &pidfd, err);
    close_all(streams.theirs);
    fd_close(&streams.null);
    if (rc < 0) {
        close_all(streams.ours);
        return -1;
    }
    *ret_process = (struct process){ .pid = pid,
                                     .pidfd = pidfd,
                                     .in = streams.ours[STDIN_FILENO],
                                     .out = streams.ours[STDOUT_FILENO],
                                     .err = streams.ours[STDERR_FILENO] };
    return 0;
}

static struct process_status convert_wait_status(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (struct process_status){ .code = info->si_status };
    return (struct process_status){ .code = -1, .signo = info->si_status };
}

int process_reap(int pidfd, bool *ret_ended, struct process_status *ret_status, struct err *err)
{
    siginfo_t info = { 0 };

    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) < 0)
        if (errno != EINTR)
            return err_sys(err, errno, "wait for a process");
    *ret_ended = info.si_pid != 0;
    if (*ret_ended)
        *ret_status = convert_wait_status(&info);
    return 0;
}

int process_wait(const struct process *process, int64_t deadline, struct process_status *ret_status,
                 struct err *err)
{
    struct pollfd poll = { .fd = process->pidfd, .events = POLLIN };
    struct timespec room;
    bool ended = false;

    for (;;) {
        if (process_reap(process->pidfd, &ended, ret_status, err) < 0)
            return -1;
        if (ended)
            return 0;
        if (deadline != CLOCK_NEVER && clock_real() >= deadline)
            return err_set(err, ERR_TIMEOUT, "process %d did not end in time", process->pid);
        if (ppoll(&poll, 1, clock_left(deadline, &room), NULL) < 0 && errno != EINTR)
            return err_sys(err, errno, "wait for process %d", process->pid);
    }
}

int process_signal(const struct process *process, int signo, struct err *err)
{
    if (syscall(SYS_pidfd_send_signal, process->pidfd, signo, NULL, 0) < 0 && errno != ESRCH)
        return err_sys(err, errno, "send signal %d to process %d", signo, process->pid);
    return 0;
}

void process_done(struct process *process)
{
    fd_close(&process->pidfd);
    fd_close(&process->in);
    fd_close(&process->out);
    fd_close(&process->err);
}

void process_status_print(struct process_status status, struct buf *out)
{
    if (status.signo == 0) {
        buf_printf(out, "exit status %d", status.code);
        return;
    }
    buf_add_text(out, "killed by ");
    signal_print(status.signo, out);
}
