#include "kepler/supervise/proctree.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/supervise/treemark.h"
#include "core/sys/clock.h"
#include "core/sys/descendants.h"
#include "core/sys/fd.h"

struct proctree_member {
    struct proctree *tree;
    pid_t pid;
    int pidfd;
    struct watch watch;
};

/* Maximum time until ended strays are reaped. */
#define REAP_DELAY CLOCK_SECOND
/* Descriptors reserved for other uses: clients, logs, the state. */
#define SPARE_FILES 64
/* The kernel's list of children may skip one while another one ends. */
#define EMPTY_ROUNDS 2

static const struct process no_process = { .pidfd = -1, .in = -1, .out = -1, .err = -1 };

void proctree_init(struct proctree *tree, struct proctree_home *home, proctree_exited_fn *on_exited,
                   proctree_empty_fn *on_empty)
{
    *tree = (struct proctree){ .home = home,
                               .on_exited = on_exited,
                               .on_empty = on_empty,
                               .process = no_process,
                               .cgroup = CGROUP_NONE };
}

/* --- known processes --------------------------------------------------------------------- */

static struct str make_pid_key(const pid_t *pid)
{
    return str_bytes(pid, sizeof(*pid));
}

/* `pid` stays where it is until it is forgotten. */
static void remember_pid(struct proctree *tree, const pid_t *pid)
{
    (void)map_set(&tree->home->known, make_pid_key(pid), tree);
}

static void forget_pid(struct proctree *tree, pid_t *pid)
{
    struct map *known = &tree->home->known;

    if (*pid == 0)
        return;
    (void)map_remove(known, make_pid_key(pid));
    *pid = 0;
    if (map_count(known) == 0) {
        map_done(known);
        *known = (struct map)MAP_INIT;
    }
}

/* --- members: only without control groups ------------------------------------------------ */

static int send_to(int pidfd, int signo)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
}

static void free_member(struct proctree_member *member)
{
    forget_pid(member->tree, &member->pid);
    watch_stop(&member->watch);
    fd_close(&member->pidfd);
    free(member);
}

static void drop_member(struct proctree_member *member)
{
    struct proctree *tree = member->tree;

    for (size_t i = 0; i < tree->members.n; i++)
        if (tree->members.p[i] == member) {
            tree->members.p[i] = tree->members.p[--tree->members.n];
            break;
        }
    free_member(member);
}

static void check_tree_end(struct proctree *tree);

static void on_member(struct watch *watch, uint32_t events)
{
    struct proctree_member *member = container_of(watch, struct proctree_member, watch);
    struct proctree *tree = member->tree;
    struct process_status status;
    struct err ignored; /* not our child: its parent reaps it */
    bool ended;

    (void)events;
    (void)process_reap(member->pidfd, &ended, &status, &ignored);
    drop_member(member);
    check_tree_end(tree);
}

static void add_member(struct proctree *tree, pid_t pid)
{
    struct proctree_member *member;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct err ignored;

    if (pidfd < 0)
        return; /* it has ended */
    member = mem_zalloc(sizeof(*member));
    *member = (struct proctree_member){ .tree = tree, .pid = pid, .pidfd = pidfd };
    remember_pid(tree, &member->pid);
    if (watch_start(&member->watch, tree->home->loop, pidfd, WATCH_READ, on_member, &ignored) < 0) {
        free_member(member);
        return;
    }
    VEC_PUSH(&tree->members, member);
    if (tree->killing)
        (void)send_to(pidfd, SIGKILL);
}

/* The non-empty tree that our child's mark names. */
static struct proctree *find_busy(const struct proctree_home *home, uint64_t run)
{
    MAP_EACH (&home->known, entry) {
        struct proctree *tree = entry->value;

        if (tree->run == run && tree->busy)
            return tree;
    }
    return NULL;
}

/* An orphan belongs to its own tree, which looks for it itself. If that tree was considered empty,
 * it is killed, and reaped as a stray. */
static void take_orphan(struct proctree *tree, pid_t pid)
{
    struct proctree_home *home = tree->home;
    uint64_t run;

    if (home->mark == 0 || !treemark_find(pid, home->mark, &run) || run == tree->run)
        add_member(tree, pid);
    else if (!find_busy(home, run))
        (void)kill(pid, SIGKILL); /* our child: the pid is still its own */
}

/* Finds descendants of the main process while it lives, and the orphans left to us afterwards. */
static void find_members(struct proctree *tree)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct descendants_pids pids;

    if (tree->exited)
        descendants_children(getpid(), &arena, &pids);
    else
        descendants_list(tree->process.pid, &arena, &pids);
    VEC_EACH (&pids.list, pid)
        if (map_has(&tree->home->known, make_pid_key(pid)))
            continue;
        else if (tree->exited)
            take_orphan(tree, *pid);
        else
            add_member(tree, *pid);
}

/* --- the end ------------------------------------------------------------------------------- */

static bool is_tree_empty(struct proctree *tree)
{
    bool populated = true;
    struct err ignored;

    if (!tree->exited)
        return false;
    if (tree->cgroup.path)
        return cgroup_is_populated(&tree->cgroup, &populated, &ignored) == 0 && !populated;
    for (int i = 0; i < EMPTY_ROUNDS && tree->members.n == 0; i++)
        find_members(tree);
    return tree->members.n == 0;
}

static void drop_group(struct proctree *tree)
{
    struct err ignored; /* the next start under that name deals with one that cannot be removed */

    if (tree->cgroup.path)
        (void)cgroup_remove(&tree->cgroup, &ignored);
    cgroup_done(&tree->cgroup);
    tree->stale = false;
}

/* Checks for the end, as the last action on a tree: the callback may start it again, in the same
 * group. An idle tree has no group, and no open file. */
static void check_tree_end(struct proctree *tree)
{
    if (!tree->busy || !is_tree_empty(tree))
        return;
    watch_stop(&tree->events);
    tree->busy = false;
    if (tree->stale)
        drop_group(tree);
    tree->on_empty(tree);
    if (!tree->busy)
        drop_group(tree);
}

static void on_cgroup(struct watch *watch, uint32_t events)
{
    struct proctree *tree = container_of(watch, struct proctree, events);
    struct err ignored;
    bool populated;

    (void)events;
    /* Reading clears the event, also while the main process lives; otherwise it would fire forever.
     */
    (void)cgroup_is_populated(&tree->cgroup, &populated, &ignored);
    check_tree_end(tree);
}

static void on_main(struct watch *watch, uint32_t events)
{
    struct proctree *tree = container_of(watch, struct proctree, main);
    struct process_status status = { .code = -1, .signo = SIGKILL };
    struct err ignored; /* reaped elsewhere: its exit status is lost */
    bool ended = true;

    (void)events;
    if (process_reap(tree->process.pidfd, &ended, &status, &ignored) == 0 && !ended)
        return; /* spurious wake-up */
    watch_stop(&tree->main);
    fd_close(&tree->process.pidfd);
    tree->exited = true;
    tree->process.pid = 0;
    forget_pid(tree, &tree->known);
    tree->on_exited(tree, status);
    check_tree_end(tree);
}

/* --- strays ---------------------------------------------------------------------------------- */

/* Children that we never started, and that belong to no tree. */
static void on_reap(struct timer *timer)
{
    struct proctree_home *home = container_of(timer, struct proctree_home, reap);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct descendants_pids pids;

    descendants_children(getpid(), &arena, &pids);
    VEC_EACH (&pids.list, pid)
        if (!map_has(&home->known, make_pid_key(pid)))
            (void)waitpid(*pid, NULL, WNOHANG);
}

static void on_child_exited(void *self, int signo)
{
    struct proctree_home *home = self;

    (void)signo;
    if (!timer_is_set(&home->reap))
        timer_set(loop_timers(home->loop), &home->reap, clock_after(clock_now(), REAP_DELAY),
                  on_reap);
}

int proctree_home_init(struct proctree_home *home, struct loop *loop, const char *cgroup,
                       struct err *err)
{
    *home = (struct proctree_home){ .loop = loop, .cgroup = cgroup };
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_sys(err, errno, "adopt orphaned processes");
    return loop_on_signal(loop, SIGCHLD, on_child_exited, home, err);
}

/* --- public ---------------------------------------------------------------------------------- */

static int open_tree_group(struct proctree *tree, const char *name, struct err *err)
{
    if (!tree->home->cgroup || tree->cgroup.path)
        return 0;
    return cgroup_create(&tree->cgroup, tree->home->cgroup, name, err);
}

static int watch_tree(struct proctree *tree, struct err *err)
{
    struct loop *loop = tree->home->loop;
    bool populated;

    if (watch_start(&tree->main, loop, tree->process.pidfd, WATCH_READ, on_main, err) < 0)
        return -1;
    if (!tree->cgroup.path)
        return 0;
    if (cgroup_is_populated(&tree->cgroup, &populated, err) < 0) /* arms the event */
        return -1;
    return watch_start(&tree->events, loop, tree->cgroup.events, WATCH_PRI, on_cgroup, err);
}

/* Only without a group; the environment of others is unchanged. */
static void mark_tree(struct proctree *tree, struct process_spec *spec, struct arena *arena)
{
    const struct proctree_home *home = tree->home;
    const char *const *env = spec->env ? spec->env : (const char *const *)environ;

    if (!tree->cgroup.path && home->mark != 0)
        spec->env = treemark_add(arena, env, (struct treemark){ home->mark, tree->run });
}

static int explain_limit(struct err *err)
{
    struct rlimit limit = { 0 };

    if (err->code != ERR_SYSTEM || err->errnum != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -1;
    return err_wrap(err,
                    "the %llu files that this process may open are not enough for all services "
                    "(raise the hard limit: 'ulimit -Hn', 'LimitNOFILE=')",
                    (unsigned long long)limit.rlim_max);
}

/* Creates group and process; opens all files of the tree. */
static int make_process_tree(struct proctree *tree, const char *name, struct process_spec *spec,
                             struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (open_tree_group(tree, name, err) < 0)
        return -1;
    spec->group = PROCESS_GROUP_SESSION;
    spec->cgroup = tree->cgroup.path ? &tree->cgroup : NULL;
    spec->reaper = !tree->cgroup.path;
    spec->child_registry = tree->cgroup.path ? 0 : tree->home->child_registry;
    tree->run = ++tree->home->started;
    mark_tree(tree, spec, &arena);
    if (process_start(spec, &tree->process, err) == 0)
        return 0;
    drop_group(tree);
    return -1;
}

int proctree_start(struct proctree *tree, const char *name, struct process_spec *spec,
                   struct err *err)
{
    int rc;

    fd_limit_spare(SPARE_FILES);
    rc = make_process_tree(tree, name, spec, err);
    fd_limit_spare(0);
    if (rc < 0)
        return explain_limit(err);
    tree->exited = tree->killing = false;
    tree->busy = true;
    tree->known = tree->process.pid;
    remember_pid(tree, &tree->known);
    if (watch_tree(tree, err) == 0)
        return 0;
    /* its end would go unnoticed */
    watch_stop(&tree->main);
    proctree_kill(tree);
    (void)process_wait(&tree->process, INT64_MAX, &(struct process_status){ 0 },
                       &(struct err){ 0 });
    process_done(&tree->process);
    forget_pid(tree, &tree->known);
    drop_group(tree);
    tree->busy = false;
    return -1;
}

static void signal_group(struct proctree *tree, int signo)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct cgroup_pids pids;
    struct err ignored;

    if (cgroup_list(&tree->cgroup, &arena, &pids, &ignored) < 0)
        return;
    VEC_EACH (&pids.list, pid) {
        AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, *pid, 0);

        if (pidfd >= 0)
            (void)send_to(pidfd, signo);
    }
}

static void signal_members(struct proctree *tree, int signo)
{
    find_members(tree);
    if (!tree->exited)
        (void)send_to(tree->process.pidfd, signo);
    VEC_EACH (&tree->members, member)
        (void)send_to((*member)->pidfd, signo);
}

void proctree_signal(struct proctree *tree, int signo)
{
    if (!tree->busy)
        return;
    if (tree->cgroup.path)
        signal_group(tree, signo);
    else
        signal_members(tree, signo);
}

/* Some kernels remember that a group was killed and kill who is born into it later, so the group
 * is not used again. */
static void kill_group(struct proctree *tree)
{
    bool populated = true;
    struct err ignored;

    if (cgroup_is_populated(&tree->cgroup, &populated, &ignored) == 0 && !populated)
        return;
    tree->stale = true;
    if (cgroup_kill(&tree->cgroup, &ignored) < 0)
        signal_group(tree, SIGKILL);
}

/* Without a group the main process is stopped first, so that it neither forks nor ends before its
 * descendants are known. */
void proctree_kill(struct proctree *tree)
{
    if (!tree->busy)
        return;
    tree->killing = true;
    if (tree->cgroup.path) {
        kill_group(tree);
        return;
    }
    if (!tree->exited)
        (void)send_to(tree->process.pidfd, SIGSTOP);
    signal_members(tree, SIGKILL);
}

void proctree_done(struct proctree *tree)
{
    watch_stop(&tree->main);
    watch_stop(&tree->events);
    VEC_EACH (&tree->members, member)
        free_member(*member);
    vec_done(&tree->members);
    forget_pid(tree, &tree->known);
    tree->busy = false;
    process_done(&tree->process);
    drop_group(tree);
}
