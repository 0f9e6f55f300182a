#include "supervise/filewatch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/tree.h"

#define CHANGES                                                                                    \
    (IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW)
#define READ_SIZE ((size_t)64 << 10)

/* A folder that is watched, and for whom. */
struct filewatch_folder {
    int wd;
    char *path;
    VEC(struct filewatch *) wanted;
};

/* --- changes -------------------------------------------------------------------------------- */

static void on_window_over(struct timer *timer)
{
    struct filewatch *watch = container_of(timer, struct filewatch, timer);

    watch->fn(watch, watch->path);
}

static void hit(struct filewatch *watch, const char *path)
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
        hit(watch, path);
}

/* --- folders --------------------------------------------------------------------------------- */

static struct str key_of(const int *wd)
{
    return str_bytes(wd, sizeof(*wd));
}

static struct filewatch_folder *find_folder(const struct filewatch_hub *hub, int wd)
{
    return map_find(&hub->folders, key_of(&wd));
}

static void free_folder(struct filewatch_folder *folder)
{
    vec_done(&folder->wanted);
    free(folder->path);
    free(folder);
}

static void drop_folder(struct filewatch_hub *hub, struct filewatch_folder *folder, bool unwatch)
{
    if (unwatch)
        (void)inotify_rm_watch(hub->fd, folder->wd);
    (void)map_remove(&hub->folders, key_of(&folder->wd));
    free_folder(folder);
}

static bool is_wanted(const struct filewatch_folder *folder, const struct filewatch *watch)
{
    VEC_EACH (&folder->wanted, known)
        if (*known == watch)
            return true;
    return false;
}

static int add_folder(struct filewatch *watch, const char *path, struct err *err)
{
    struct filewatch_hub *hub = watch->hub;
    int wd = inotify_add_watch(hub->fd, path, CHANGES);
    struct filewatch_folder *folder;

    if (wd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0; /* it went meanwhile */
    if (wd < 0)
        return err_sys(err, errno, "watch the folder '%s'", path);
    folder = find_folder(hub, wd);
    if (!folder) {
        if (map_count(&hub->folders) >= FILEWATCH_FOLDERS_MAX) {
            (void)inotify_rm_watch(hub->fd, wd);
            return err_set(err, ERR_LIMIT, "watch the folder '%s': more than %d folders", path,
                           FILEWATCH_FOLDERS_MAX);
        }
        folder = mem_zalloc(sizeof(*folder));
        folder->wd = wd;
        (void)map_set(&hub->folders, key_of(&folder->wd), folder);
    }
    free(folder->path); /* it may have moved */
    folder->path = mem_strdup(path);
    if (!is_wanted(folder, watch))
        VEC_PUSH(&folder->wanted, watch);
    return 0;
}

/* What to do with a tree of folders. */
struct walk {
    struct filewatch *watch;
    bool is_new; /* files in it were made just now */
};

static int visit(void *self, enum tree_step tree_step, const struct tree_entry *entry,
                 struct err *err)
{
    struct walk *walk = self;

    if (walk->is_new && entry->depth > 0 && tree_step != TREE_LEAVE)
        try_path(walk->watch, entry->path);
    return tree_step == TREE_ENTER ? add_folder(walk->watch, entry->path, err) : 0;
}

static int add_tree(struct filewatch *watch, const char *path, bool is_new, struct err *err)
{
    struct walk walk = { watch, is_new };

    return tree_walk(path, visit, &walk, err);
}

/* A folder that was moved away keeps its watches: take them off, with those below it. */
static void drop_below(struct filewatch_hub *hub, const char *path)
{
    size_t n = strlen(path);

    MAP_EACH (&hub->folders, entry) {
        struct filewatch_folder *folder = entry->value;

        if (strncmp(folder->path, path, n) == 0 &&
            (folder->path[n] == '\0' || folder->path[n] == '/'))
            drop_folder(hub, folder, true);
    }
}

/* --- what the kernel says ----------------------------------------------------------------------
 */

/* The list of those who want the folder may change while a tree is added: a copy is walked. */
static void tell(struct filewatch_hub *hub, struct filewatch_folder *folder,
                 const struct inotify_event *event)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *base = strcmp(folder->path, "/") == 0 ? "" : folder->path;
    const char *path = arena_printf(&arena, "%s/%s", base, event->name);
    size_t count = folder->wanted.n;
    struct filewatch **wanted = ARENA_ARRAY(&arena, struct filewatch *, count + 1);
    bool is_folder = (event->mask & IN_ISDIR) != 0;
    struct err ignored; /* a folder that cannot be watched is as one without changes */

    memcpy(wanted, folder->wanted.p, count * sizeof(struct filewatch *));
    if (is_folder && (event->mask & (IN_MOVED_FROM | IN_DELETE)))
        drop_below(hub, path);
    for (size_t i = 0; i < count; i++) {
        try_path(wanted[i], path);
        if (is_folder && (event->mask & (IN_CREATE | IN_MOVED_TO)))
            (void)add_tree(wanted[i], path, true, &ignored);
    }
}

static void look_at_all(struct filewatch_hub *hub)
{
    VEC_EACH (&hub->watches, watch)
        VEC_EACH (&(*watch)->globs.roots, root) {
            struct err ignored;

            (void)add_tree(*watch, *root, false, &ignored);
            hit(*watch, *root);
        }
}

static void handle(struct filewatch_hub *hub, const struct inotify_event *event)
{
    struct filewatch_folder *folder = find_folder(hub, event->wd);

    if (event->mask & IN_Q_OVERFLOW)
        look_at_all(hub);
    else if (folder && event->mask & IN_IGNORED)
        drop_folder(hub, folder, false);
    else if (folder && event->len > 0)
        tell(hub, folder, event);
}

static void on_events(struct watch *file, uint32_t events)
{
    struct filewatch_hub *hub = container_of(file, struct filewatch_hub, watch);
    _Alignas(struct inotify_event) char bytes[READ_SIZE];
    ssize_t n = read(hub->fd, bytes, sizeof(bytes));

    (void)events;
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const void *)(bytes + at);

        handle(hub, event);
        at += (ssize_t)(sizeof(*event) + event->len);
    }
}

/* --- public --------------------------------------------------------------------------------------
 */

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

int filewatch_start(struct filewatch *watch, struct filewatch_hub *hub, const char *folder,
                    const char *const *patterns, size_t count, filewatch_fn *fn, struct err *err)
{
    if (open_hub(hub, err) < 0)
        return -1;
    *watch = (struct filewatch){ .hub = hub, .fn = fn };
    watch->globs.arena = &watch->arena;
    VEC_PUSH(&hub->watches, watch);
    for (size_t i = 0; i < count; i++)
        if (pathglob_add(&watch->globs, folder, str_from(patterns[i]), err) < 0)
            goto fail;
    VEC_EACH (&watch->globs.roots, root)
        if (add_tree(watch, *root, false, err) < 0)
            goto fail;
    return 0;

fail:
    filewatch_stop(watch);
    return -1;
}

static void forget(struct filewatch_folder *folder, const struct filewatch *watch)
{
    for (size_t i = folder->wanted.n; i-- > 0;)
        if (folder->wanted.p[i] == watch)
            folder->wanted.p[i] = folder->wanted.p[--folder->wanted.n];
}

void filewatch_stop(struct filewatch *watch)
{
    struct filewatch_hub *hub = watch->hub;

    if (!hub)
        return;
    MAP_EACH (&hub->folders, entry) {
        struct filewatch_folder *folder = entry->value;

        forget(folder, watch);
        if (folder->wanted.n == 0)
            drop_folder(hub, folder, true);
    }
    for (size_t i = hub->watches.n; i-- > 0;)
        if (hub->watches.p[i] == watch)
            hub->watches.p[i] = hub->watches.p[--hub->watches.n];
    timer_clear(loop_timers(hub->loop), &watch->timer);
    arena_done(&watch->arena);
    *watch = (struct filewatch){ 0 };
}
