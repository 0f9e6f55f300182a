/*
 * child - a process between clone and exec.
 *
 * The parent prepares everything: every text, number and table that the child
 * needs is in a struct child before it is born. The child makes system calls
 * and nothing else, because it may share the parent's memory (as after vfork) and
 * because other threads of the parent may have held locks when it was born.
 *
 * Only core/sys/process.c uses this.
 */
#ifndef CORE_SYS_CHILD_H
#define CORE_SYS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct process_spec;

/* The step at which a child failed; named in the parent's error. */
enum child_step {
    CHILD_NONE,
    CHILD_GROUP,
    CHILD_BIRTH,
    CHILD_SIGNALS,
    CHILD_LIMITS,
    CHILD_STREAMS,
    CHILD_GROUPS,
    CHILD_GID,
    CHILD_UID,
    CHILD_CWD,
    CHILD_PRIVS,
    CHILD_REAPER,
    CHILD_EXEC,
    CHILD_STEPS,
};

struct child_report {
    enum child_step step;
    int errnum;
};

/* `fd` of the parent becomes `as` in the child. */
struct child_fd {
    int fd, as;
};

struct child {
    const struct process_spec *spec;
    pid_t parent;
    bool keeps_hangup; /* SIGHUP was ignored when we began, and stays so */
    char *const *argv;
    char *const *env;
    const char *const *candidates; /* paths to try for the program; ends in NULL */
    const char **script; /* for a script without "#!": the shell, room for a path, the arguments */
    struct child_fd *fds;
    size_t fd_count;
    const struct process_limit *limits;
    size_t limit_count;
    struct child_report *report; /* in memory that both see; the step is set on failure only */
};

/* Start it, in the spec's cgroup if there is one, and wait until the program runs. On failure the
 * child is gone and reaped. */
int child_start(struct child *child, pid_t *ret_pid, int *ret_pidfd, struct err *err);

#endif
