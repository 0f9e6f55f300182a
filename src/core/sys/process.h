/*
 * process - start a program, watch it, end it.
 *
 * A spec describes the child; zero fields have a safe default: our environment and folder,
 * /dev/null for all three streams, no other open file. The child starts with default signal actions
 * and no blocked signal; only a SIGHUP that nohup made us ignore stays ignored
 * (core/sys/inherited.h).
 *
 *     process_start -> { poll or loop on pidfd, process_signal } -> process_wait
 *                   -> process_done
 *     process_run    all of that at once, with captured output
 *
 * A child is identified by its pidfd, so a reused process number is never mistaken for it. A
 * failure before the program runs (no such program, no such folder, no permission to change the
 * user) is an error of process_start that names the step. Threads: any may start; one at a time for
 * each process.
 */
#ifndef CORE_SYS_PROCESS_H
#define CORE_SYS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/str.h"
#include "core/sys/fence.h"

struct arena;
struct buf;
struct cancel;
struct cgroup;
struct err;

enum process_stream_kind {
    PROCESS_NULL,    /* /dev/null */
    PROCESS_INHERIT, /* our own stream */
    PROCESS_PIPE,    /* our end is in struct process */
    PROCESS_FD,      /* `fd`, which stays ours */
    PROCESS_STDOUT,  /* standard error joins standard output */
};

struct process_stream {
    enum process_stream_kind kind;
    int fd;
};

/* Our `fd` becomes the child's `as`, which must be above 2. */
struct process_fd {
    int fd, as;
};

struct process_limit {
    int resource; /* RLIMIT_... */
    uint64_t soft, hard;
};

/* All ids at once, and exactly these supplementary groups. */
struct process_user {
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t group_count;
};

enum process_group {
    PROCESS_GROUP_SAME,
    PROCESS_GROUP_NEW,     /* leads a new process group */
    PROCESS_GROUP_SESSION, /* leads a new session, without a terminal */
};

struct process_spec {
    const char *const
        *argv;              /* ends in NULL; argv[0] without '/' is looked up in the child's PATH */
    const char *command;    /* instead of argv: text for the shell */
    const char *shell;      /* NULL: /bin/sh */
    const char *const *env; /* all of it, "NAME=value", ends in NULL; NULL: ours */
    const char *cwd;        /* entered with the rights of the new user */
    const struct process_user *user;
    struct process_stream in, out, err;
    const struct process_fd *fds;
    size_t fd_count;
    const struct process_limit *limits;
    size_t limit_count;
    enum process_group group;
    const struct cgroup *cgroup; /* the cgroup it starts in */
    bool has_umask;
    mode_t umask;
    bool no_new_privs;
    int child_registry; /* an open list to which the child adds itself before it runs; 0: none */
    bool reaper;        /* orphans below the child become its children, not init's */
    int parent_death;   /* the signal it gets when its parent thread ends; 0: none */
};

/* One line of such a list. A child that is not yet in it dies with us, so a later process can find
 * all our children. */
struct process_birth {
    int64_t pid;
    int64_t time; /* nanoseconds since boot, sleep included */
};

struct process {
    pid_t pid;
    int pidfd;        /* readable once the process has ended */
    int in, out, err; /* our ends of pipes; -1: none */
};

/* The end of a process. */
struct process_status {
    int code;  /* exit status, or -1 */
    int signo; /* signal that killed it, or 0 */
};

/* Returns once the program runs. */
int process_start(const struct process_spec *spec, struct process *ret_process, struct err *err);

/* Has it ended? Never blocks; an end is reported once. */
int process_reap(int pidfd, bool *ret_ended, struct process_status *ret_status, struct err *err);
/* Wait for the end; fails with ERR_TIMEOUT at `deadline` of clock_real. */
int process_wait(const struct process *process, int64_t deadline, struct process_status *ret_status,
                 struct err *err);

/* Signal the process alone. One that has ended is not an error. */
int process_signal(const struct process *process, int signo, struct err *err);

/* Close its descriptors; does not end the child. */
void process_done(struct process *process);

/* --- start, capture, wait ------------------------------------------------------------ */

/* Limits of a run. Zero means a safe default. */
struct process_bounds {
    int64_t timeout;   /* nanoseconds; 0: none */
    size_t output_max; /* kept of each stream; 0: PROCESS_OUTPUT_MAX */
    enum fence_kind fence;
    struct str input; /* for standard input; a NULL view leaves spec->in as it is */
    /* For a program that must not be interrupted, such as a package manager: on cancel and timeout
     * it has a moment to end by itself, then it alone gets this signal, and after `stop_time` all
     * processes are killed. 0: at once. */
    int stop_signal;
    int64_t stop_time; /* nanoseconds */
};

#define PROCESS_OUTPUT_MAX ((size_t)16 << 20)
/* The moment before a stop_signal: most programs that change a system finish sooner. */
#define PROCESS_STOP_WAIT_NS (300 * INT64_C(1000000))
/* How long to wait for the end of the output after the program has ended, while a background
 * process holds the pipes. */
#define PROCESS_DRAIN_NS (50 * INT64_C(1000000))

struct process_result {
    struct process_status status;
    struct str out, err;             /* the first `output_max` bytes */
    size_t out_dropped, err_dropped; /* bytes read and dropped */
    bool timed_out, canceled; /* either: the whole tree was killed and is gone, or ended after a
                                 stop_signal, or was never started */
    int64_t duration;
};

/* Run to the end. Both output streams are captured unless the spec says PROCESS_STDOUT or gives
 * them an fd; the child leads a new session. Blocks; a pool worker is marked as blocked meanwhile.
 * Background processes that the program leaves on purpose keep running. Timeout and cancel are
 * results, not errors. Texts are in the arena. */
int process_run(const struct process_spec *spec, const struct process_bounds *bounds,
                const struct cancel *cancel, struct arena *arena, struct process_result *ret_result,
                struct err *err);

/* "exit status 3", "killed by SIGKILL" */
void process_status_print(struct process_status status, struct buf *out);
static inline bool process_status_ok(struct process_status status)
{
    return status.code == 0 && status.signo == 0;
}

#endif
