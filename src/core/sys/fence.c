#include "core/sys/fence.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/cgroup.h"
#include "core/sys/clock.h"
#include "core/sys/descendants.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"

#define NAME_SIZE 32
#define PREFIX    "zester-"
/* How long a killed group may take to become empty, for example with a stuck disk. */
#define DEATH_MAX (30 * CLOCK_SECOND)

struct fence_group {
    struct cgroup cgroup;
    struct fence_group *next;
    bool killed; /* some kernels then kill processes started in it later: never reused */
};

/* The groups of this process, all below one. */
static struct {
    pthread_mutex_t mutex;
    pid_t owner;        /* the process that opened the groups; 0: none yet */
    struct cgroup base; /* path is NULL when there is no place for groups */
    struct fence_group *idle;
    struct fence_group *lingering; /* not empty when their run ended */
    unsigned count;
} groups = { .mutex = PTHREAD_MUTEX_INITIALIZER, .base = CGROUP_NONE };

static void remove_list(struct fence_group **list)
{
    struct err ignored; /* groups still in use stay; a later process sweeps them */

    for (struct fence_group *group = *list, *next; group; group = next) {
        next = group->next;
        (void)cgroup_remove(&group->cgroup, &ignored);
        cgroup_done(&group->cgroup);
        free(group);
    }
    *list = NULL;
}

/* At exit: no lock, since no other thread runs and a lock could be held forever. */
static void remove_fence_groups(void)
{
    if (groups.owner != getpid())
        return; /* a fork of the owner: not our groups */
    remove_list(&groups.idle);
    remove_list(&groups.lingering);
    if (groups.base.path)
        (void)rmdir(groups.base.path);
    cgroup_done(&groups.base);
}

/* Remove groups of dead processes. */
static void sweep_stale_groups(const char *home)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_names names;
    struct err ignored;

    if (fs_list(&arena, home, &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name) {
        const char *digits = *name + strlen(PREFIX);
        struct cgroup old = { .path = path_join(&arena, home, *name) };

        if (strncmp(*name, PREFIX, strlen(PREFIX)) == 0 && digits[0] &&
            digits[strspn(digits, "0123456789")] == '\0' &&
            kill((pid_t)strtol(digits, NULL, 10), 0) < 0 && errno == ESRCH)
            (void)cgroup_remove(&old, &ignored);
    }
}

static void open_groups(void)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *home = NULL;
    char name[NAME_SIZE];
    struct err ignored;

    groups.owner = getpid();
    groups.base = (struct cgroup)CGROUP_NONE;
    groups.idle = groups.lingering = NULL;
    if (cgroup_home(&arena, &home, &ignored) < 0 || !home)
        return;
    sweep_stale_groups(home);
    (void)snprintf(name, sizeof(name), PREFIX "%d", getpid());
    if (cgroup_create(&groups.base, home, name, &ignored) == 0)
        (void)atexit(remove_fence_groups);
}

/* An idle group, or one that has become empty. */
static struct fence_group *take_old(void)
{
    struct fence_group *group = groups.idle;

    if (group) {
        groups.idle = group->next;
        return group;
    }
    for (struct fence_group **at = &groups.lingering; *at; at = &(*at)->next) {
        bool populated = true;
        struct err ignored;

        group = *at;
        if (cgroup_is_populated(&group->cgroup, &populated, &ignored) == 0 && !populated) {
            *at = group->next;
            return group;
        }
    }
    return NULL;
}

static struct fence_group *make_new(struct err *err)
{
    struct fence_group *group = mem_zalloc(sizeof(*group));
    char name[NAME_SIZE];

    (void)snprintf(name, sizeof(name), "run-%u", groups.count++);
    if (cgroup_create(&group->cgroup, groups.base.path, name, err) == 0)
        return group;
    free(group);
    return NULL;
}

static int take_group(struct fence_group **ret_group, struct err *err)
{
    struct fence_group *group = NULL;

    (void)pthread_mutex_lock(&groups.mutex);
    if (groups.owner != getpid())
        open_groups();
    if (!groups.base.path)
        err_set(err, ERR_UNSUPPORTED, "cannot create a control group here");
    else if (!(group = take_old()))
        group = make_new(err);
    (void)pthread_mutex_unlock(&groups.mutex);
    if (!group)
        return -1;
    *ret_group = group;
    return 0;
}

int fence_open(struct fence *fence, enum fence_kind kind, struct err *err)
{
    struct fence_group *group;

    *fence = (struct fence){ .kind = kind };
    if (kind == FENCE_REAPER)
        return 0;
    if (take_group(&group, err) < 0)
        return -1;
    fence->group = group;
    return 0;
}

void fence_apply(const struct fence *fence, struct process_spec *spec)
{
    if (fence->group)
        spec->cgroup = &fence->group->cgroup;
    else
        spec->reaper = true;
}

int fence_kill(const struct fence *fence, const struct process *process, struct err *err)
{
    if (!fence->group)
        return descendants_kill(process, err);
    fence->group->killed = true;
    if (cgroup_kill(&fence->group->cgroup, err) < 0)
        return -1;
    return cgroup_wait(&fence->group->cgroup, clock_after(clock_real(), DEATH_MAX), err);
}

void fence_close(struct fence *fence)
{
    struct fence_group **list = &groups.idle;
    bool populated = true;
    struct err ignored;

    if (!fence->group)
        return;
    if (fence->group->killed) {
        fence->group->next = NULL;
        remove_list(&fence->group);
        return;
    }
    if (cgroup_is_populated(&fence->group->cgroup, &populated, &ignored) < 0 || populated)
        list = &groups.lingering;
    (void)pthread_mutex_lock(&groups.mutex);
    fence->group->next = *list;
    *list = fence->group;
    (void)pthread_mutex_unlock(&groups.mutex);
    fence->group = NULL;
}
