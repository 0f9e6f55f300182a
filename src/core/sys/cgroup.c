#include "core/sys/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"

#define PROC_FILE_MAX ((size_t)4 << 20)
#define EVENTS_SIZE   256
/* Rounds of reading and killing where the kernel has no cgroup.kill. */
#define KILL_ROUNDS 1000

/* --- where we are ------------------------------------------------------------------- */

/* "device folder type options": cgroup folders contain no octal escapes. */
static const char *find_cgroup_mount(struct arena *arena, struct str mounts)
{
    while (mounts.p) {
        struct str line = str_cut(&mounts, '\n');

        (void)str_cut(&line, ' ');
        struct str folder = str_cut(&line, ' ');
        struct str type = str_cut(&line, ' ');

        if (str_is(type, "cgroup2"))
            return arena_strndup(arena, folder.p, folder.n);
    }
    return NULL;
}

/* The line "0::/path" is the unified hierarchy's. */
static const char *find_own(struct arena *arena, struct str groups)
{
    while (groups.p) {
        struct str line = str_cut(&groups, '\n');

        if (str_starts(line, STR("0::/")))
            return arena_strndup(arena, line.p + 3, line.n - 3);
    }
    return NULL;
}

/* A group outside of our namespace ("/../x") cannot be reached through the mount. */
static bool is_usable(struct arena *arena, const char *path, const char *own)
{
    return !strstr(own, "/..") && access(path, W_OK | X_OK) == 0 &&
           access(path_join(arena, path, "cgroup.procs"), W_OK) == 0;
}

int cgroup_home(struct arena *arena, const char **ret_path, struct err *err)
{
    struct str mounts, groups;
    const char *mount, *own, *path;

    if (fs_read(arena, "/proc/self/mounts", PROC_FILE_MAX, &mounts, err) < 0 ||
        fs_read(arena, "/proc/self/cgroup", PROC_FILE_MAX, &groups, err) < 0)
        return err_wrap(err, "find the control group of this process");
    *ret_path = NULL;
    mount = find_cgroup_mount(arena, mounts);
    own = find_own(arena, groups);
    if (!mount || !own)
        return 0;
    path = strcmp(own, "/") == 0 ? mount : path_join(arena, mount, own + 1);
    if (is_usable(arena, path, own))
        *ret_path = path;
    return 0;
}

/* --- a group ------------------------------------------------------------------------ */

int cgroup_create(struct cgroup *cgroup, const char *parent, const char *name, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, parent, name);
    AUTO_FD int fd = -1;
    int events;

    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return err_sys(err, errno, "make the control group '%s'", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "open the control group '%s'", path);
    events = openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (events < 0)
        return err_sys(err, errno, "open the events of control group '%s'", path);
    *cgroup = (struct cgroup){ .path = mem_strdup(path), .fd = fd_take(&fd), .events = events };
    return 0;
}

void cgroup_done(struct cgroup *cgroup)
{
    fd_close(&cgroup->fd);
    fd_close(&cgroup->events);
    free(cgroup->path);
    cgroup->path = NULL;
}

int cgroup_get(const struct cgroup *cgroup, struct arena *arena, const char *file,
               struct str *ret_text, struct err *err)
{
    return fs_read(arena, path_join(arena, cgroup->path, file), PROC_FILE_MAX, ret_text, err);
}

int cgroup_set(const struct cgroup *cgroup, const char *file, const char *text, struct err *err)
{
    AUTO_FD int fd = openat(cgroup->fd, file, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, errno, "open '%s/%s'", cgroup->path, file);
    if (fd_write(fd, text, strlen(text), err) < 0)
        return err_wrap(err, "set '%s/%s' to '%s'", cgroup->path, file, text);
    return 0;
}

int cgroup_list(const struct cgroup *cgroup, struct arena *arena, struct cgroup_pids *ret_pids,
                struct err *err)
{
    struct cgroup_pids pids = { VEC_INIT };
    struct str text;

    if (cgroup_get(cgroup, arena, "cgroup.procs", &text, err) < 0)
        return -1;
    while (text.p) {
        struct str line = str_cut(&text, '\n');

        if (line.n > 0)
            VEC_PUSH_IN(arena, &pids.list, (pid_t)strtol(line.p, NULL, 10));
    }
    *ret_pids = pids;
    return 0;
}

/* --- the end ------------------------------------------------------------------------- */

/* Before Linux 5.14: processes that fork faster than we read are killed in the next round. */
static int kill_one_by_one(const struct cgroup *cgroup, struct err *err)
{
    for (int i = 0; i < KILL_ROUNDS; i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct cgroup_pids pids;
        bool populated;

        if (cgroup_list(cgroup, &arena, &pids, err) < 0)
            return -1;
        VEC_EACH (&pids.list, pid)
            (void)kill(*pid, SIGKILL);
        if (cgroup_is_populated(cgroup, &populated, err) < 0)
            return -1;
        if (!populated || pids.list.n == 0)
            return 0;
    }
    return err_set(err, ERR_LIMIT, "kill control group '%s': it forks faster than it can be killed",
                   cgroup->path);
}

int cgroup_kill(const struct cgroup *cgroup, struct err *err)
{
    if (faccessat(cgroup->fd, "cgroup.kill", F_OK, 0) < 0)
        return kill_one_by_one(cgroup, err);
    return cgroup_set(cgroup, "cgroup.kill", "1", err);
}

int cgroup_is_populated(const struct cgroup *cgroup, bool *ret_populated, struct err *err)
{
    char text[EVENTS_SIZE];
    ssize_t n = pread(cgroup->events, text, sizeof(text) - 1, 0);

    if (n < 0 && errno == ENODEV) { /* removed */
        *ret_populated = false;
        return 0;
    }
    if (n < 0)
        return err_sys(err, errno, "read the events of control group '%s'", cgroup->path);
    text[n] = '\0';
    *ret_populated = strstr(text, "populated 1") != NULL;
    return 0;
}

int cgroup_wait(const struct cgroup *cgroup, int64_t deadline, struct err *err)
{
    struct pollfd poll = { .fd = cgroup->events, .events = POLLPRI };
    struct timespec room;
    bool populated;

    for (;;) {
        /* the read also arms the next POLLPRI */
        if (cgroup_is_populated(cgroup, &populated, err) < 0)
            return -1;
        if (!populated)
            return 0;
        if (deadline != CLOCK_NEVER && clock_real() >= deadline)
            return err_set(err, ERR_TIMEOUT, "control group '%s' did not become empty in time",
                           cgroup->path);
        if (ppoll(&poll, 1, clock_left(deadline, &room), NULL) < 0 && errno != EINTR)
            return err_sys(err, errno, "wait for control group '%s'", cgroup->path);
    }
}

/* The files of a group cannot be removed and need not be: only folders are. */
static int remove_group(void *self, enum tree_step step, const struct tree_entry *entry,
                        struct err *err)
{
    (void)self;
    if (step == TREE_LEAVE && unlinkat(entry->folder, entry->name, AT_REMOVEDIR) < 0 &&
        errno != ENOENT)
        return err_sys(err, errno, "remove the control group '%s'", entry->path);
    return 0;
}

int cgroup_remove(const struct cgroup *cgroup, struct err *err)
{
    if (rmdir(cgroup->path) == 0 || errno == ENOENT)
        return 0;
    if (errno != EBUSY)
        return err_sys(err, errno, "remove the control group '%s'", cgroup->path);
    return tree_walk(cgroup->path, remove_group, NULL, err);
}
