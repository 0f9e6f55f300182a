#include "kepler/daemon/stale_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/vec.h"
#include "kepler/supervise/treemark.h"
#include "core/sys/child_registry.h"
#include "core/sys/cgroup.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"

/* A killed process is gone soon, unless the kernel holds it. */
#define WAIT_MAX  (10 * CLOCK_SECOND)
#define WAIT_STEP (5 * CLOCK_MS)
#define LIST_MAX  ((size_t)256 << 20)
/* Hex digits in the name of a group. */
#define GROUP_HASH_LENGTH 16
#define OWN_TRIES         8
/* How long a process may be on its way into a program. */
#define HIDDEN_MAX (5 * CLOCK_SECOND)

struct list_head {
    char boot[CHILD_REGISTRY_BOOT_SIZE];
    uint64_t mark;
};
_Static_assert(sizeof(struct list_head) % sizeof(struct process_birth) == 0,
               "no birth lies across the border of a block");

struct sessions {
    VEC(struct process_birth) list;
    uint64_t mark; /* for the list; 0: no list from this boot */
};

/* --- finding -------------------------------------------------------------------------- */

/* A list from another boot, or none, is empty. A torn last line is ignored. */
static int load_births(struct arena *arena, const char *path, struct sessions *ret, struct err *err)
{
    struct list_head head;
    char boot[CHILD_REGISTRY_BOOT_SIZE];
    struct str text;

    if (fs_read(arena, path, LIST_MAX, &text, err) < 0)
        return -1;
    if (text.n < sizeof(head))
        return 0;
    memcpy(&head, text.p, sizeof(head));
    child_registry_read_boot(boot);
    if (memcmp(head.boot, boot, CHILD_REGISTRY_BOOT_SIZE) != 0)
        return 0;
    ret->mark = head.mark;
    for (size_t at = sizeof(head); at + sizeof(struct process_birth) <= text.n;
         at += sizeof(struct process_birth)) {
        struct process_birth birth;

        memcpy(&birth, text.p + at, sizeof(birth));
        if (child_registry_is_alive(&birth))
            VEC_PUSH_IN(arena, &ret->list, birth);
    }
    return 0;
}

static bool is_known_session(const struct sessions *sessions, pid_t session)
{
    VEC_EACH (&sessions->list, birth)
        if (birth->pid == session)
            return true;
    return false;
}

struct member {
    pid_t pid, parent, session;
    uint64_t start;
    bool ours;
};

struct members {
    VEC(struct member) list;
};

/* All live processes, and whether each is in one of the sessions. */
static void find_processes(struct arena *arena, const struct sessions *sessions,
                           struct members *ret)
{
    struct fs_names names = { 0 };
    struct err ignored;

    if (fs_list(arena, "/proc", &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name) {
        struct child_registry_stat stat;
        uint64_t pid;

        if (number_parse_uint(str_from(*name), &pid, &ignored) < 0 || pid > INT32_MAX ||
            !child_registry_read_stat((pid_t)pid, &stat) || stat.state == 'Z')
            continue;
        VEC_PUSH_IN(arena, &ret->list,
                    (struct member){ (pid_t)pid, stat.parent, stat.session, stat.start,
                                     is_known_session(sessions, stat.session) });
    }
}

static bool is_child_of_ours(const struct members *members, pid_t parent)
{
    VEC_EACH (&members->list, one)
        if (one->ours && one->pid == parent)
            return true;
    return false;
}

/* A main process owns its descendants, also those that left its session. */
static void add_descendants(struct members *members)
{
    bool more = true;

    while (more) {
        more = false;
        VEC_EACH (&members->list, one)
            if (!one->ours && is_child_of_ours(members, one->parent))
                one->ours = more = true;
    }
}

/* Adds processes that left their session and lost their parents: they forked twice, or their main
 * process has ended. Returns how many are still undecided. */
static size_t add_marked_processes(struct members *members, uint64_t mark)
{
    size_t hidden = 0;
    uint64_t tree;

    VEC_EACH (&members->list, one) {
        if (one->ours || one->pid == getpid())
            continue;
        one->ours = treemark_find(one->pid, mark, &tree);
        if (one->ours)
            continue;
        hidden += treemark_is_hidden(one->pid);
        one->ours = treemark_find(one->pid, mark, &tree); /* may have come out of hiding */
    }
    return hidden;
}

/* Holding it before the second check makes sure that we kill the right process. */
static bool kill_member(const struct member *member)
{
    AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, member->pid, 0);
    struct child_registry_stat stat;

    return pidfd >= 0 && child_registry_read_stat(member->pid, &stat) &&
           stat.start == member->start &&
           syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
}

/* Kills everything of ours; returns how many there were. */
static size_t kill_members(struct arena *arena, const struct sessions *sessions, size_t *ret_hidden)
{
    struct members members = { 0 };
    size_t count = 0;

    find_processes(arena, sessions, &members);
    *ret_hidden = add_marked_processes(&members, sessions->mark);
    add_descendants(&members);
    VEC_EACH (&members.list, one)
        if (one->ours && kill_member(one))
            count++;
    return count;
}

static void pause_briefly(void)
{
    const struct timespec step = { 0, WAIT_STEP };

    (void)nanosleep(&step, NULL);
}

int stale_process_kill(const char *path, size_t *ret_count, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    int64_t begun = clock_real();
    struct sessions sessions = { 0 };
    size_t left, hidden;

    *ret_count = 0;
    if (load_births(&arena, path, &sessions, err) < 0)
        return -1;
    if (sessions.mark == 0)
        return 0;
    for (;;) {
        left = kill_members(&arena, &sessions, &hidden);
        if (left > *ret_count)
            *ret_count = left;
        if (left == 0 && (hidden == 0 || clock_real() - begun > HIDDEN_MAX))
            return 0;
        if (left > 0 && clock_real() - begun > WAIT_MAX)
            return err_set(err, ERR_TIMEOUT, "%zu processes of an earlier daemon do not exit",
                           left);
        pause_briefly();
    }
}

/* Is any process in the session? */
static bool is_alive(const struct members *members, const struct process_birth *birth)
{
    VEC_EACH (&members->list, one)
        if (one->session == birth->pid)
            return true;
    return false;
}

static void fill_head(struct list_head *head, uint64_t mark)
{
    child_registry_read_boot(head->boot);
    for (head->mark = mark; head->mark == 0;)
        head->mark = chance_number();
}

/* A failure here means a full disk, which the next birth reports. */
static void reserve_record_space(int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0)
        (void)fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, (off_t)STALE_PROCESS_RESERVE);
}

int stale_process_open(const char *path, int *ret_fd, uint64_t *ret_mark, struct err *err)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(LIST_MAX);
    struct sessions sessions = { 0 };
    struct members members = { 0 };
    struct list_head head;

    if (load_births(&arena, path, &sessions, err) < 0)
        return -1;
    find_processes(&arena, &sessions, &members);
    fill_head(&head, sessions.mark);
    buf_add(&text, &head, sizeof(head));
    VEC_EACH (&sessions.list, birth)
        if (is_alive(&members, birth))
            buf_add(&text, birth, sizeof(*birth));
    if (sessions.mark == 0 && fs_unlink(path, err) < 0) /* it is empty, and takes space */
        return -1;
    if (fs_replace(path, buf_view(&text), &how, err) < 0 &&
        (sessions.mark == 0 || (err->errnum != ENOSPC && err->errnum != EDQUOT)))
        return -1; /* on a full disk the old list stays in use */
    *ret_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (*ret_fd < 0)
        return err_sys(err, errno, "open '%s'", path);
    reserve_record_space(*ret_fd);
    *ret_mark = head.mark;
    return 0;
}

static bool is_same_folder(int fd, const char *path)
{
    struct stat ours, there;

    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

/* A sweep that has this folder open removes it by name: that must not hit the next folder of the
 * same name. */
static int lock_group(const struct cgroup *group, struct err *err)
{
    const int64_t begun = clock_real();

    while (flock(group->fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_sys(err, errno, "lock '%s'", group->path);
        if (clock_real() - begun > WAIT_MAX)
            return err_set(err, ERR_TIMEOUT, "control group '%s' is in use", group->path);
        pause_briefly();
    }
    return 0;
}

static int end_group(const struct cgroup *group, struct err *err)
{
    if (lock_group(group, err) < 0)
        return -1;
    if (!is_same_folder(group->fd, group->path))
        return 0; /* a sweep has removed it, so it was empty */
    if (cgroup_kill(group, err) < 0 ||
        cgroup_wait(group, clock_after(clock_real(), WAIT_MAX), err) < 0)
        return -1;
    return cgroup_remove(group, err);
}

int stale_process_kill_group(const char *path, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct cgroup group = CGROUP_NONE;
    struct fs_info info;
    struct str name = path_basename(path);
    int result;

    if (fs_stat(path, &info, err) < 0 || info.kind == FS_NONE)
        return 0;
    if (cgroup_create(&group, path_dirname(&arena, path), arena_strndup(&arena, name.p, name.n),
                      err) < 0)
        return -1;
    result = end_group(&group, err);
    cgroup_done(&group);
    return result;
}

/* --- groups of other daemons ------------------------------------------------------------------ */

/* A sweep may have removed it before it was locked: then it is created again. */
int stale_process_own_group(struct cgroup *group, const char *parent, const char *name,
                            struct err *err)
{
    for (int tries = 0; tries < OWN_TRIES; tries++) {
        if (cgroup_create(group, parent, name, err) < 0)
            return -1;
        if (flock(group->fd, LOCK_SH) < 0) {
            (void)err_sys(err, errno, "lock '%s'", group->path);
            cgroup_done(group);
            return -1;
        }
        if (is_same_folder(group->fd, group->path))
            return 0;
        cgroup_done(group);
    }
    return err_set(err, ERR_BUSY, "make the control group '%s/%s': it was removed %d times", parent,
                   name, OWN_TRIES);
}

static bool is_group_name(const char *name)
{
    struct str text = str_from(name), prefix = STR(STALE_PROCESS_GROUP_PREFIX);

    return str_starts(text, prefix) &&
           strspn(name + prefix.n, "0123456789abcdef") == GROUP_HASH_LENGTH &&
           text.n == prefix.n + GROUP_HASH_LENGTH;
}

static bool sweep_group(const char *parent, const char *name)
{
    struct cgroup group = CGROUP_NONE;
    bool populated = true, removed = false;
    struct err ignored; /* the next daemon tries again */

    if (cgroup_create(&group, parent, name, &ignored) < 0)
        return false;
    /* another sweep may have removed this one, and its daemon created it again under the same name
     */
    if (flock(group.fd, LOCK_EX | LOCK_NB) == 0 && is_same_folder(group.fd, group.path) &&
        cgroup_is_populated(&group, &populated, &ignored) == 0 && !populated)
        removed = cgroup_remove(&group, &ignored) == 0;
    cgroup_done(&group);
    return removed;
}

size_t stale_process_sweep_groups(const char *parent)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_names names = { 0 };
    struct err ignored;
    size_t count = 0;

    (void)fs_list(&arena, parent, &names, &ignored); /* a folder that cannot be listed has none */
    VEC_EACH (&names.list, name)
        count += is_group_name(*name) && sweep_group(parent, *name);
    return count;
}
