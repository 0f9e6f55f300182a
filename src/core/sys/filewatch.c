#include "core/sys/filewatch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"
#include "core/sys/rights.h"

#define CHANGES                                                                                    \
    (IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR |    \
     IN_DONT_FOLLOW)
#define READ_SIZE ((size_t)64 << 10)

/* A watch on a folder, and its path to it. */
struct watched_path {
    struct filewatch *watch;
    char *path;
};

/* A watched folder. The kernel knows it by its inode, so watches with different paths to it share
 * it. */
struct filewatch_folder {
    int wd;
    VEC(struct watched_path) wanted;
};

/* --- changes -------------------------------------------------------------------------------- */

static void on_window_over(struct timer *timer)
{
    struct filewatch *watch = container_of(timer, struct filewatch, timer);

    watch->fn(watch, watch->path);
}

static void note_watched_change(struct filewatch *watch, const char *path)
{
    if (timer_is_set(&watch->timer))
        return;
    watch->path = arena_strdup(&watch->arena, path);
    timer_set(loop_timers(watch->hub->loop), &watch->timer,
              clock_after(clock_now(), FILEWATCH_WINDOW), on_window_over);
}

static void try_path(struct filewatch *watch, const char *path)
{
    if (pathglob_match(&watch->globs, str_from(path)))
        note_watched_change(watch, path);
}

/* --- folders --------------------------------------------------------------------------------- */

static struct str make_watch_key(const int *wd)
{
    return str_bytes(wd, sizeof(*wd));
}

static struct filewatch_folder *find_watched_folder(const struct filewatch_hub *hub, int wd)
{
    return map_find(&hub->folders, make_watch_key(&wd));
}

static void free_folder(struct filewatch_folder *folder)
{
    VEC_EACH (&folder->wanted, one)
        free(one->path);
    vec_done(&folder->wanted);
    free(folder);
}

static void drop_folder(struct filewatch_hub *hub, struct filewatch_folder *folder, bool unwatch)
{
    if (unwatch)
        (void)inotify_rm_watch(hub->fd, folder->wd);
    (void)map_remove(&hub->folders, make_watch_key(&folder->wd));
    free_folder(folder);
}

/* A folder that a watch already has may have moved: update the path. */
static void attach_watch(struct filewatch_folder *folder, struct filewatch *watch, const char *path)
{
    struct watched_path one = { watch, mem_strdup(path) };

    VEC_EACH (&folder->wanted, known)
        if (known->watch == watch) {
            free(known->path);
            known->path = one.path;
            return;
        }
    VEC_PUSH(&folder->wanted, one);
}

/* Is `path` below `folder`, or the same? */
static bool is_below(const char *path, const char *top)
{
    size_t n = strlen(top);

    if (n == 1)
        return true; /* the root of all */
    return strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* Detach the watch from everything below `top`; NULL: from all. */
static void detach_watch(struct filewatch_hub *hub, const struct filewatch *watch, const char *top)
{
    MAP_EACH (&hub->folders, entry) {
        struct filewatch_folder *folder = entry->value;

        for (size_t i = folder->wanted.n; i-- > 0;) {
            struct watched_path *one = &folder->wanted.p[i];

            if (one->watch != watch || (top && !is_below(one->path, top)))
                continue;
            free(one->path);
            *one = folder->wanted.p[--folder->wanted.n];
        }
        if (folder->wanted.n == 0)
            drop_folder(hub, folder, true);
    }
}

static int add_watched_folder(struct filewatch *watch, const char *path, struct err *err)
{
    struct filewatch_hub *hub = watch->hub;
    int wd = inotify_add_watch(hub->fd, path, CHANGES);
    struct filewatch_folder *folder;

    if (wd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0; /* removed meanwhile */
    if (wd < 0)
        return err_sys(err, errno, "watch the folder '%s'", path);
    folder = find_watched_folder(hub, wd);
    if (!folder) {
        if (map_count(&hub->folders) >= FILEWATCH_FOLDERS_MAX) {
            (void)inotify_rm_watch(hub->fd, wd);
            return err_set(err, ERR_LIMIT, "watch the folder '%s': more than %d folders", path,
                           FILEWATCH_FOLDERS_MAX);
        }
        folder = mem_zalloc(sizeof(*folder));
        folder->wd = wd;
        (void)map_set(&hub->folders, make_watch_key(&folder->wd), folder);
    }
    attach_watch(folder, watch, path);
    return 0;
}

static bool is_folder_at(int folder, const struct dirent *entry)
{
    struct stat info;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

static void look_at_entry(struct filewatch *watch, const struct filewatch_task *in, DIR *folder,
                          const struct dirent *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, in->path, entry->d_name);

    if (in->is_new)
        try_path(watch, path);
    if (is_folder_at(dirfd(folder), entry))
        VEC_PUSH(&watch->todo, ((struct filewatch_task){ mem_strdup(path), in->is_new }));
}

/* Watch a folder, then read its content; its folders are queued. In this order nothing made
 * meanwhile is missed. Each name uses one of the budget. */
static int look_at_folder(struct filewatch *watch, const struct filewatch_task *task,
                          size_t *budget, struct err *err)
{
    const struct dirent *entry;
    DIR *folder;
    int fd;

    if (add_watched_folder(watch, task->path, err) < 0)
        return -1;
    fd = open(task->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        err_sys(err, errno, "look at '%s'", task->path);
        fd_close(&fd);
        return -1;
    }
    while ((entry = readdir(folder))) {
        *budget -= *budget > 0;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            look_at_entry(watch, task, folder, entry);
    }
    (void)closedir(folder);
    return 0;
}

/* It was removed meanwhile, or is another file now. */
static bool is_no_folder(const struct err *err)
{
    return err->errnum == ENOENT || err->errnum == ENOTDIR || err->errnum == ELOOP;
}

static int work_off(struct filewatch *watch, size_t *budget, struct err *err)
{
    while (watch->todo.n > 0 && *budget > 0) {
        struct filewatch_task task = watch->todo.p[--watch->todo.n];
        int rc = look_at_folder(watch, &task, budget, err);

        free(task.path);
        if (rc < 0 && !is_no_folder(err))
            return -1;
    }
    return 0;
}

static void drop_todo(struct filewatch *watch)
{
    VEC_EACH (&watch->todo, task)
        free(task->path);
    vec_done(&watch->todo);
    timer_clear(loop_timers(watch->hub->loop), &watch->more);
}

static void on_more(struct timer *timer)
{
    struct filewatch *watch = container_of(timer, struct filewatch, more);
    size_t budget = FILEWATCH_SLICE;
    struct rights_held held;
    struct err err;
    int rc = rights_take(&watch->rights, &held, &err);

    if (rc == 0) {
        rc = work_off(watch, &budget, &err);
        rights_drop(&held);
    }
    if (rc < 0) {
        drop_todo(watch);
        if (watch->fail)
            watch->fail(watch, &err);
    } else if (watch->todo.n > 0) {
        timer_set(loop_timers(watch->hub->loop), timer, clock_now(), on_more);
    }
}

static int add_watched_tree(struct filewatch *watch, const char *path, bool is_new, struct err *err)
{
    AUTO_FREE char *copy = mem_strdup(path);
    const struct filewatch_task top = { copy, is_new };
    size_t budget = FILEWATCH_SLICE;
    struct rights_held held;
    int rc;

    if (rights_take(&watch->rights, &held, err) < 0)
        return -1;
    rc = look_at_folder(watch, &top, &budget, err);
    if (rc < 0 && is_no_folder(err) && err->errnum != ENOENT)
        rc = 0;
    if (rc == 0)
        rc = work_off(watch, &budget, err);
    rights_drop(&held);
    if (watch->todo.n > 0 && !timer_is_set(&watch->more))
        timer_set(loop_timers(watch->hub->loop), &watch->more, clock_now(), on_more);
    return rc;
}

/* Watch the folders on the way to `root` (from the base folder, or else from its parent), without
 * their other content, so that a root which goes, or is still missing, is seen when it comes.
 * Folders that cannot be watched are left out. */
static void add_way(struct filewatch *watch, const char *root)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *path = arena_strdup(&arena, root);
    const char *top = watch->folder;
    struct rights_held held;
    struct err ignored;
    char *slash;

    if (!is_below(root, top))
        top = path_dirname(&arena, root);
    if (rights_take(&watch->rights, &held, &ignored) < 0)
        return;
    while ((slash = strrchr(path, '/')) && slash > path) {
        *slash = '\0';
        if (!is_below(path, top))
            break;
        (void)add_watched_folder(watch, path, &ignored);
    }
    rights_drop(&held);
}

static int add_watched_root(struct filewatch *watch, const char *root, bool is_new, struct err *err)
{
    add_way(watch, root);
    if (add_watched_tree(watch, root, is_new, err) == 0)
        return 0;
    return err->errnum == ENOENT && is_below(root, watch->folder) ? 0 : -1;
}

/* A new folder: below a root it is scanned, above one only the way there. */
static void add_new(struct filewatch *watch, const char *path)
{
    struct err ignored; /* a folder that cannot be watched is as one without changes */
    bool is_inside = false;

    VEC_EACH (&watch->globs.roots, root) {
        is_inside = is_inside || is_below(path, *root);
        if (is_below(*root, path) && strcmp(*root, path) != 0)
            (void)add_watched_root(watch, *root, true, &ignored);
    }
    if (is_inside)
        (void)add_watched_tree(watch, path, true, &ignored);
}

/* --- what the kernel says ---------------------------------------------------------------- */

static void tell_one(struct filewatch *watch, const char *path, uint32_t mask)
{
    bool is_folder = (mask & IN_ISDIR) != 0;

    if (is_folder && (mask & IN_ATTRIB))
        return; /* for files a signal without a write: touch */
    /* a folder that was moved away keeps its watches: remove them, with those below it */
    if (is_folder && (mask & (IN_MOVED_FROM | IN_DELETE)))
        detach_watch(watch->hub, watch, path);
    try_path(watch, path);
    if (is_folder && (mask & (IN_CREATE | IN_MOVED_TO)))
        add_new(watch, path);
}

/* Callbacks may change the list of watches and free the folder: walk a copy. */
static void tell_watches(struct filewatch_folder *folder, const struct inotify_event *event)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    size_t count = folder->wanted.n;
    struct filewatch **watches = ARENA_ARRAY(&arena, struct filewatch *, count + 1);
    const char **paths = ARENA_ARRAY(&arena, const char *, count + 1);

    for (size_t i = 0; i < count; i++) {
        const struct watched_path *one = &folder->wanted.p[i];
        const char *base = strcmp(one->path, "/") == 0 ? "" : one->path;

        watches[i] = one->watch;
        paths[i] = arena_printf(&arena, "%s/%s", base, event->name);
    }
    for (size_t i = 0; i < count; i++)
        tell_one(watches[i], paths[i], event->mask);
}

static void look_at_all(struct filewatch_hub *hub)
{
    VEC_EACH (&hub->watches, watch)
        VEC_EACH (&(*watch)->globs.roots, root) {
            struct err ignored;

            (void)add_watched_root(*watch, *root, false, &ignored);
            note_watched_change(*watch, *root);
        }
}

static void handle_event(struct filewatch_hub *hub, const struct inotify_event *event)
{
    struct filewatch_folder *folder = find_watched_folder(hub, event->wd);

    if (event->mask & IN_Q_OVERFLOW)
        look_at_all(hub);
    else if (folder && event->mask & IN_IGNORED)
        drop_folder(hub, folder, false);
    else if (folder && event->len > 0)
        tell_watches(folder, event);
}

static void on_events(struct watch *file, uint32_t events)
{
    struct filewatch_hub *hub = container_of(file, struct filewatch_hub, watch);
    _Alignas(struct inotify_event) char bytes[READ_SIZE];
    ssize_t n = read(hub->fd, bytes, sizeof(bytes));

    (void)events;
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const void *)(bytes + at);

        handle_event(hub, event);
        at += (ssize_t)(sizeof(*event) + event->len);
    }
}

/* --- public ------------------------------------------------------------------------------ */

void filewatch_hub_init(struct filewatch_hub *hub, struct loop *loop)
{
    *hub = (struct filewatch_hub){ .loop = loop, .fd = -1 };
}

static int open_hub(struct filewatch_hub *hub, struct err *err)
{
    if (hub->fd >= 0)
        return 0;
    hub->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (hub->fd < 0)
        return err_sys(err, errno, "watch files");
    if (watch_start(&hub->watch, hub->loop, hub->fd, WATCH_READ, on_events, err) == 0)
        return 0;
    fd_close(&hub->fd);
    return -1;
}

void filewatch_hub_done(struct filewatch_hub *hub)
{
    if (hub->fd >= 0)
        watch_stop(&hub->watch);
    fd_close(&hub->fd);
    MAP_EACH (&hub->folders, entry)
        free_folder(entry->value);
    map_done(&hub->folders);
    vec_done(&hub->watches);
}

int filewatch_start(struct filewatch *watch, struct filewatch_hub *hub,
                    const struct filewatch_wish *wish, struct err *err)
{
    if (open_hub(hub, err) < 0)
        return -1;
    *watch = (struct filewatch){
        .hub = hub, .fn = wish->fn, .fail = wish->fail, .rights = { .own = true }
    };
    if (wish->rights)
        watch->rights = rights_copy(&watch->arena, wish->rights);
    watch->folder = arena_strdup(&watch->arena, wish->folder);
    watch->globs.arena = &watch->arena;
    VEC_PUSH(&hub->watches, watch);
    for (size_t i = 0; i < wish->count; i++)
        if (pathglob_add(&watch->globs, wish->folder, str_from(wish->patterns[i]), err) < 0)
            goto fail;
    VEC_EACH (&watch->globs.roots, root)
        if (add_watched_root(watch, *root, false, err) < 0)
            goto fail;
    return 0;

fail:
    filewatch_stop(watch);
    return -1;
}

void filewatch_stop(struct filewatch *watch)
{
    struct filewatch_hub *hub = watch->hub;

    if (!hub)
        return;
    drop_todo(watch);
    detach_watch(hub, watch, NULL);
    for (size_t i = hub->watches.n; i-- > 0;)
        if (hub->watches.p[i] == watch)
            hub->watches.p[i] = hub->watches.p[--hub->watches.n];
    timer_clear(loop_timers(hub->loop), &watch->timer);
    arena_done(&watch->arena);
    *watch = (struct filewatch){ 0 };
}
