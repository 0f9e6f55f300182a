/*
 * A child is born with CLONE_VM and CLONE_VFORK, on a separate stack: nothing is
 * copied, so the cost does not grow with our memory, and the parent is suspended
 * until exec or exit. Without a cgroup that is libc's clone. Only clone3 can give
 * birth into a cgroup, and libc has no function for it: a few instructions for
 * the processor that we know, and a copy of our memory on all others.
 *
 * The child makes raw system calls only: libc's setuid would signal the parent's other threads, and
 * sanitizers intercept libc's other wrappers.
 */
#include "core/sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/sys/cgroup.h"
#include "core/sys/fd.h"
#include "core/sys/inherited.h"
#include "core/sys/process.h"

#define STACK_SIZE 32768
/* The kernel's signal set: one word. */
#define SIGNAL_SET_SIZE 8
#define SIGNAL_COUNT    64
/* The kernel's action; zero is the default one. */
#define SIGNAL_ACTION_WORDS 8

/* Sanitizers must ignore code that runs on a borrowed stack in shared memory. */
#define IN_CHILD                                                                                   \
    __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined"),        \
                   noinline))

/* libc's clone by its second name: the thread sanitizer treats the first one as a fork, and would
 * mark the parent's memory as the child's. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

IN_CHILD static int enter_group(const struct child *child)
{
    switch (child->spec->group) {
    case PROCESS_GROUP_NEW: return (int)syscall(SYS_setpgid, 0, 0);
    case PROCESS_GROUP_SESSION: return (int)syscall(SYS_setsid);
    case PROCESS_GROUP_SAME: break;
    }
    return 0;
}

/* A parent that has already ended cannot send a signal. */
IN_CHILD static void follow_parent(const struct child *child, int signo)
{
    (void)syscall(SYS_prctl, PR_SET_PDEATHSIG, signo, 0, 0, 0);
    if (syscall(SYS_getppid) != child->parent)
        (void)syscall(SYS_exit_group, 127);
}

/* Until it is in the list it dies with us; afterwards a later process finds it. */
IN_CHILD static int note_birth(const struct child *child)
{
    struct process_birth birth;
    struct timespec now = { 0, 0 };
    int written;

    if (child->spec->child_registry <= 0) {
        if (child->spec->parent_death > 0)
            follow_parent(child, child->spec->parent_death);
        return 0;
    }
    follow_parent(child, SIGKILL);
    (void)syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    birth.pid = (int64_t)syscall(SYS_getpid);
    birth.time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    written = (int)syscall(SYS_write, child->spec->child_registry, &birth, sizeof(birth));
    if (written != (int)sizeof(birth)) {
        errno = written < 0 ? errno : ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_prctl, PR_SET_PDEATHSIG, child->spec->parent_death, 0, 0, 0);
}

/* exec resets handlers; ignored signals would stay ignored, which only nohup means for children,
 * too. */
IN_CHILD static int reset_signals(const struct child *child)
{
    static const uint64_t action[SIGNAL_ACTION_WORDS];

    for (int i = 1; i <= SIGNAL_COUNT; i++)
        if (i != SIGKILL && i != SIGSTOP && !(i == SIGHUP && child->keeps_hangup))
            (void)syscall(SYS_rt_sigaction, i, action, NULL, SIGNAL_SET_SIZE);
    return 0;
}

IN_CHILD static int set_limits(const struct child *child)
{
    for (size_t i = 0; i < child->limit_count; i++) {
        const struct process_limit *limit = &child->limits[i];
        const uint64_t pair[2] = { limit->soft, limit->hard };

        if (syscall(SYS_prlimit64, 0, limit->resource, pair, NULL) < 0)
            return -1;
    }
    if (child->spec->has_umask)
        (void)syscall(SYS_umask, child->spec->umask);
    return 0;
}

/* First move every source out of the way of every target, then fill each target. */
IN_CHILD static int place_files(const struct child *child)
{
    int above = 3;

    for (size_t i = 0; i < child->fd_count; i++)
        if (child->fds[i].as >= above)
            above = child->fds[i].as + 1;
    for (size_t i = 0; i < child->fd_count; i++) {
        struct child_fd *file = &child->fds[i];

        if (file->fd >= above)
            continue;
        file->fd = (int)syscall(SYS_fcntl, file->fd, F_DUPFD_CLOEXEC, above);
        if (file->fd < 0)
            return -1;
    }
    if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        return -1;
    for (size_t i = 0; i < child->fd_count; i++)
        if (syscall(SYS_dup3, child->fds[i].fd, child->fds[i].as, 0) < 0)
            return -1;
    return 0;
}

IN_CHILD static int set_groups(const struct child *child)
{
    const struct process_user *user = child->spec->user;

    return user ? (int)syscall(SYS_setgroups, user->group_count, user->groups) : 0;
}

IN_CHILD static int set_gid(const struct child *child)
{
    const struct process_user *user = child->spec->user;

    return user ? (int)syscall(SYS_setresgid, user->gid, user->gid, user->gid) : 0;
}

IN_CHILD static int set_uid(const struct child *child)
{
    const struct process_user *user = child->spec->user;

    return user ? (int)syscall(SYS_setresuid, user->uid, user->uid, user->uid) : 0;
}

IN_CHILD static int enter_folder(const struct child *child)
{
    return child->spec->cwd ? (int)syscall(SYS_chdir, child->spec->cwd) : 0;
}

IN_CHILD static int give_up_privs(const struct child *child)
{
    return child->spec->no_new_privs ? (int)syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) : 0;
}

IN_CHILD static int become_reaper(const struct child *child)
{
    return child->spec->reaper ? (int)syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) : 0;
}

/* As execvp does: a candidate without permission is remembered, a missing one is not, and a file
 * that the kernel cannot run is a script for the shell. */
IN_CHILD static int exec_program(const struct child *child)
{
    static const uint64_t no_signals;
    int denied = 0;

    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL, SIGNAL_SET_SIZE);
    for (const char *const *path = child->candidates; *path; path++) {
        (void)syscall(SYS_execve, *path, child->argv, child->env);
        if (errno == ENOEXEC) {
            child->script[1] = *path;
            (void)syscall(SYS_execve, child->script[0], child->script, child->env);
            return -1;
        }
        if (errno == EACCES) /* a folder of PATH without search permission: unknown */
            denied |= child->candidates[0] == child->argv[0] ||
                      syscall(SYS_faccessat, AT_FDCWD, *path, F_OK) == 0;
        else if (errno != ENOENT && errno != ENOTDIR)
            return -1;
    }
    errno = denied ? EACCES : ENOENT;
    return -1;
}

typedef int step_fn(const struct child *child);

/* In this order: files before rights are lost, the folder with the rights of the new user. */
static step_fn *const steps[] = {
    [CHILD_GROUP] = enter_group,   [CHILD_BIRTH] = note_birth,     [CHILD_SIGNALS] = reset_signals,
    [CHILD_LIMITS] = set_limits,   [CHILD_STREAMS] = place_files,  [CHILD_GROUPS] = set_groups,
    [CHILD_GID] = set_gid,         [CHILD_UID] = set_uid,          [CHILD_CWD] = enter_folder,
    [CHILD_PRIVS] = give_up_privs, [CHILD_REAPER] = become_reaper, [CHILD_EXEC] = exec_program,
};
_Static_assert(ARRAY_LEN(steps) == CHILD_STEPS, "every step has its function");

/* The child's side: returns only on failure. */
IN_CHILD static int live(void *arg)
{
    const struct child *child = arg;

    for (int i = CHILD_NONE + 1; i < CHILD_STEPS; i++) {
        if (steps[i](child) < 0) {
            child->report->errnum = errno;
            child->report->step = (enum child_step)i;
            break;
        }
    }
    (void)syscall(SYS_exit_group, 127);
    return 127;
}

/* --- the parent ----------------------------------------------------------------- */

static pid_t start_sharing(struct child *child, int *ret_pidfd)
{
    char stack[STACK_SIZE] __attribute__((aligned(16)));
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;

    return __clone(live, stack + sizeof(stack), flags, child, ret_pidfd);
}

#ifdef __x86_64__
/* The child never returns to our frames: it continues with `live` on the stack that the kernel has
 * given it, which is empty, as the ABI requires before a call. */
static pid_t clone_into(struct clone_args args, struct child *child)
{
    char stack[STACK_SIZE] __attribute__((aligned(16)));
    long rc = SYS_clone3;

    args.flags |= CLONE_VM;
    args.stack = (uintptr_t)stack;
    args.stack_size = sizeof(stack);
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "mov %[child], %%rdi\n\t"
                     "call *%[live]\n\t"
                     "hlt\n"
                     "1:"
                     : "+a"(rc)
                     : "D"(&args), "S"(sizeof(args)), [live] "r"(live), [child] "r"(child)
                     : "rcx", "r11", "cc", "memory");
    if (rc >= 0)
        return (pid_t)rc;
    errno = (int)-rc;
    return -1;
}
#else
/* The child's copy of our stack is private, so it may simply continue here; its report is in shared
 * memory. */
__attribute__((no_sanitize("address"), no_sanitize("thread"))) static pid_t
clone_into(struct clone_args args, struct child *child)
{
    struct child_report *const told = child->report;
    pid_t pid;

    child->report =
        mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (child->report == MAP_FAILED)
        return -1;
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        (void)live(child);
    *told = *child->report;
    (void)munmap(child->report, sizeof(*told));
    child->report = told;
    return pid;
}
#endif

static pid_t start_in_cgroup(struct child *child, int *ret_pidfd)
{
    struct clone_args args = {
        .flags = (uint64_t)CLONE_VFORK | (uint64_t)CLONE_PIDFD | CLONE_INTO_CGROUP,
        .pidfd = (uintptr_t)ret_pidfd,
        .exit_signal = SIGCHLD,
        .cgroup = (__u64)(unsigned)child->spec->cgroup->fd,
    };

    return clone_into(args, child);
}

/* None of our handlers may run in the child: it could share our memory. */
static pid_t start_quietly(struct child *child, int *ret_pidfd)
{
    sigset_t all, before;
    pid_t pid;
    int errnum;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = child->spec->cgroup ? start_in_cgroup(child, ret_pidfd) : start_sharing(child, ret_pidfd);
    errnum = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = errnum;
    return pid;
}

static int report_step(const struct child *child, struct err *err)
{
    const struct process_spec *spec = child->spec;
    const char *program = child->argv[0];
    int errnum = child->report->errnum;

    switch (child->report->step) {
    case CHILD_GROUP: return err_sys(err, errnum, "start '%s': create a process group", program);
    case CHILD_BIRTH: return err_sys(err, errnum, "start '%s': record the process", program);
    case CHILD_LIMITS: return err_sys(err, errnum, "start '%s': set its limits", program);
    case CHILD_STREAMS: return err_sys(err, errnum, "start '%s': set up its files", program);
    case CHILD_GROUPS: return err_sys(err, errnum, "start '%s': set its groups", program);
    case CHILD_GID:
        return err_sys(err, errnum, "start '%s': change to group %u", program, spec->user->gid);
    case CHILD_UID:
        return err_sys(err, errnum, "start '%s': change to user %u", program, spec->user->uid);
    case CHILD_CWD:
        return err_sys(err, errnum, "start '%s': change to folder '%s'", program, spec->cwd);
    case CHILD_PRIVS: return err_sys(err, errnum, "start '%s': set no_new_privs", program);
    case CHILD_REAPER: return err_sys(err, errnum, "start '%s': become a subreaper", program);
    default: return err_sys(err, errnum, "start '%s'", program);
    }
}

int child_start(struct child *child, pid_t *ret_pid, int *ret_pidfd, struct err *err)
{
    struct child_report report = { 0 };
    int pidfd = -1;
    pid_t pid;

    child->report = &report;
    child->parent = getpid();
    child->keeps_hangup = inherited_is_ignored(SIGHUP);
    pid = start_quietly(child, &pidfd);
    if (pid < 0)
        return err_sys(err, errno, "start '%s': create a process", child->argv[0]);
    if (report.step != CHILD_NONE) {
        (void)waitid(P_PIDFD, (id_t)pidfd, NULL, WEXITED);
        fd_close(&pidfd);
        return report_step(child, err);
    }
    *ret_pid = pid;
    *ret_pidfd = pidfd;
    return 0;
}
