/*
 * The root process is stopped first, so that it neither ends (its descendants would scatter) nor
 * reaps (their PIDs stay taken). Then rounds: find the living, kill them, wait until they are dead.
 * A process that forked in time is found in the next round, as a child of the root if not of
 * another. It ends after two rounds that find none: the kernel's list of children may skip one
 * while another exits.
 */
#include "core/sys/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/process.h"

#define PROC_FILE_MAX ((size_t)1 << 20)
#define PROC_PATH_MAX 64
/* More rounds than processes that do nothing but fork can keep up with. */
#define ROUNDS_MAX   10000
#define EMPTY_ROUNDS 2
/* How long a killed process may take to disappear, for example with a stuck disk. */
#define DEATH_MAX (30 * CLOCK_SECOND)

struct kin {
    pid_t pid, parent;
};

/* All processes, for kernels without lists of children. */
struct process_table {
    VEC(struct kin) all;
    bool loaded;
};

/* Fields of /proc/PID/stat after the name, which may hold anything but is followed by the last
 * ')'. */
static bool read_parent(struct arena *arena, pid_t pid, pid_t *ret_parent)
{
    char path[PROC_PATH_MAX];
    struct str text;
    struct err err;
    const char *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (fs_read(arena, path, PROC_FILE_MAX, &text, &err) < 0 || !text.p)
        return false; /* gone */
    at = strrchr(text.p, ')');
    if (!at || at[1] != ' ' || !at[2])
        return false;
    *ret_parent = (pid_t)strtol(at + 3, NULL, 10);
    return true;
}

static void add_pids(struct arena *arena, struct str text, struct descendants_pids *pids)
{
    while (text.p) {
        struct str word = str_cut(&text, ' ');

        if (word.n > 0)
            VEC_PUSH_IN(arena, &pids->list, (pid_t)strtol(word.p, NULL, 10));
    }
}

/* Kernels without lists of children: read all processes, once a round. */
static void load_process_table(struct arena *arena, struct process_table *table)
{
    struct fs_names names;
    struct err err;

    table->loaded = true;
    if (fs_list(arena, "/proc", &names, &err) < 0)
        return;
    VEC_EACH (&names.list, name) {
        struct kin kin = { .pid = (pid_t)strtol(*name, NULL, 10) };

        if (kin.pid > 0 && read_parent(arena, kin.pid, &kin.parent))
            VEC_PUSH_IN(arena, &table->all, kin);
    }
}

static void scan_children(struct arena *arena, pid_t parent, struct process_table *table,
                          struct descendants_pids *pids)
{
    if (!table->loaded)
        load_process_table(arena, table);
    VEC_EACH (&table->all, kin)
        if (kin->parent == parent)
            VEC_PUSH_IN(arena, &pids->list, kin->pid);
}

/* Each thread has its own list. */
static void read_children(struct arena *arena, pid_t parent, struct descendants_pids *pids)
{
    char folder[PROC_PATH_MAX];
    struct fs_names threads;
    struct err err;

    (void)snprintf(folder, sizeof(folder), "/proc/%d/task", parent);
    if (fs_list(arena, folder, &threads, &err) < 0)
        return; /* gone */
    VEC_EACH (&threads.list, thread) {
        const char *path = arena_printf(arena, "%s/%s/children", folder, *thread);
        struct str text;

        if (fs_read(arena, path, PROC_FILE_MAX, &text, &err) == 0 && text.p)
            add_pids(arena, text, pids);
    }
}

static void add_children(struct arena *arena, pid_t parent, struct process_table *table,
                         struct descendants_pids *pids)
{
    if (access("/proc/thread-self/children", F_OK) == 0)
        read_children(arena, parent, pids);
    else
        scan_children(arena, parent, table, pids);
}

/* All descendants of `root`; the list is its own queue. */
static void find_family(struct arena *arena, pid_t root, struct descendants_pids *pids)
{
    struct process_table table = { 0 };

    add_children(arena, root, &table, pids);
    for (size_t i = 0; i < pids->list.n; i++)
        add_children(arena, pids->list.p[i], &table, pids);
}

static int wait_for_death(int pidfd, pid_t pid, struct err *err)
{
    struct pollfd poll = { .fd = pidfd, .events = POLLIN };
    int64_t deadline = clock_after(clock_real(), DEATH_MAX);
    struct timespec room;

    while (ppoll(&poll, 1, clock_left(deadline, &room), NULL) <= 0)
        if (clock_real() >= deadline)
            return err_set(err, ERR_TIMEOUT, "process %d cannot be killed", pid);
    return 0;
}

/* Check all of its threads: a process is shown as a zombie when its first thread has ended, though
 * others may still run. */
static bool has_ended(int pidfd)
{
    struct pollfd look = { .fd = pidfd, .events = POLLIN };

    return poll(&look, 1, 0) > 0;
}

static int kill_one(pid_t pid, bool *found, struct err *err)
{
    AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (pidfd < 0 && errno == ESRCH)
        return 0;
    if (pidfd < 0)
        return err_sys(err, errno, "kill process %d", pid);
    if (has_ended(pidfd))
        return 0;
    *found = true;
    if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
        return err_sys(err, errno, "kill process %d", pid);
    return wait_for_death(pidfd, pid, err);
}

static int kill_round(pid_t root, bool *ret_found, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct descendants_pids pids = { VEC_INIT };
    bool found = false;

    find_family(&arena, root, &pids);
    VEC_EACH (&pids.list, pid)
        if (kill_one(*pid, &found, err) < 0)
            return -1;
    *ret_found = found;
    return 0;
}

static int kill_descendants(pid_t root, struct err *err)
{
    int empty = 0;

    for (int i = 0; i < ROUNDS_MAX && empty < EMPTY_ROUNDS; i++) {
        bool found;

        if (kill_round(root, &found, err) < 0)
            return -1;
        empty = found ? 0 : empty + 1;
    }
    if (empty < EMPTY_ROUNDS)
        return err_set(err, ERR_LIMIT, "process %d forks faster than it can be killed", root);
    return 0;
}

void descendants_list(pid_t root, struct arena *arena, struct descendants_pids *ret_pids)
{
    *ret_pids = (struct descendants_pids){ VEC_INIT };
    find_family(arena, root, ret_pids);
}

void descendants_children(pid_t parent, struct arena *arena, struct descendants_pids *ret_pids)
{
    struct process_table table = { 0 };

    *ret_pids = (struct descendants_pids){ VEC_INIT };
    add_children(arena, parent, &table, ret_pids);
}

int descendants_kill(const struct process *root, struct err *err)
{
    struct err ignored;
    int rc;

    if (process_signal(root, SIGSTOP, err) < 0)
        return -1;
    rc = kill_descendants(root->pid, err);
    if (process_signal(root, SIGKILL, rc < 0 ? &ignored : err) < 0)
        return -1;
    if (rc < 0)
        return -1;
    return wait_for_death(root->pidfd, root->pid, err);
}
