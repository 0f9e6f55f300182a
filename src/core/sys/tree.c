#include "core/sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/fd.h"
#include "core/sys/site.h"

/* One open folder of the walk. */
struct level {
    int fd;
    struct arena arena; /* its names */
    struct fs_names names;
    size_t next;
    size_t path_length;
    struct tree_entry entry; /* the folder itself, for TREE_LEAVE and its content */
};

struct walk {
    tree_fn *visit;
    void *self;
    struct buf path;
    struct level *levels;
    size_t depth;
};

static void close_tree_level(struct level *level)
{
    fd_close(&level->fd);
    arena_done(&level->arena);
}

/* Open the checked folder, and not a replacement. */
static int open_tree_level(struct level *level, struct err *err)
{
    const struct tree_entry *entry = &level->entry;
    struct stat st;

    level->fd = openat(entry->folder, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (level->fd < 0 || fstat(level->fd, &st) < 0)
        return err_sys(err, errno, "open the folder '%s'", entry->path);
    if (st.st_ino != entry->info.inode || st.st_dev != entry->info.device)
        return err_set(err, ERR_BUSY, "'%s' was replaced by another process", entry->path);
    return 0;
}

/* Descend into `entry`, a folder. */
static int enter_folder(struct walk *walk, const struct tree_entry *entry, struct err *err)
{
    struct level *level = &walk->levels[walk->depth];

    if (walk->depth == TREE_DEPTH_MAX)
        return err_set(err, ERR_LIMIT, "walk '%s': deeper than the limit of %d folders",
                       entry->path, TREE_DEPTH_MAX);
    if (walk->visit(walk->self, TREE_ENTER, entry, err) < 0)
        return -1;
    *level = (struct level){ .entry = *entry, .path_length = walk->path.n };
    walk->depth++;
    return open_tree_level(level, err) < 0
               ? -1
               : fs_list_fd(&level->arena, level->fd, entry->path, &level->names, err);
}

static int visit_tree_entry(struct walk *walk, int folder, const struct fs_info *above,
                            const char *name, struct err *err)
{
    struct tree_entry entry = {
        .folder = folder, .above = above, .name = name, .depth = walk->depth
    };

    if (cancel_check(err) < 0)
        return -1;
    entry.path = buf_text(&walk->path);
    if (fs_look_at(folder, name, &entry.info) < 0) {
        if (errno == ENOENT && walk->depth > 0)
            return 0;
        return err_sys(err, errno, "stat '%s'", entry.path);
    }
    if (entry.info.kind == FS_FOLDER)
        return enter_folder(walk, &entry, err);
    return walk->visit(walk->self, TREE_ENTRY, &entry, err);
}

/* The deepest folder is done: close it, report it, go up. */
static int leave_tree_folder(struct walk *walk, struct err *err)
{
    struct level *level = &walk->levels[walk->depth - 1];
    struct tree_entry entry = level->entry;

    buf_cut(&walk->path, level->path_length);
    entry.path = buf_text(&walk->path);
    close_tree_level(level);
    walk->depth--;
    return walk->visit(walk->self, TREE_LEAVE, &entry, err);
}

static int step_on(struct walk *walk, struct err *err)
{
    struct level *level = &walk->levels[walk->depth - 1];
    const char *name;

    if (level->next == level->names.list.n)
        return leave_tree_folder(walk, err);
    name = level->names.list.p[level->next++];
    buf_cut(&walk->path, level->path_length);
    if (level->path_length > 0 && walk->path.p[level->path_length - 1] != '/')
        buf_add_char(&walk->path, '/');
    buf_add_text(&walk->path, name);
    return visit_tree_entry(walk, level->fd, &level->entry.info, name, err);
}

int tree_walk_at(const struct site *site, tree_fn *fn, void *self, struct err *err)
{
    AUTO_FREE struct level *levels = mem_alloc(mem_product(TREE_DEPTH_MAX, sizeof(*levels)));
    struct walk walk = {
        .visit = fn, .self = self, .path = BUF_INIT(BUF_NO_LIMIT), .levels = levels
    };
    int rc;

    if (site->folder < 0)
        return err_sys(err, ENOENT, "stat '%s'", site->path);
    buf_add_text(&walk.path, site->path);
    rc = visit_tree_entry(&walk, site->folder, &site->above, site->name, err);
    while (rc == 0 && walk.depth > 0)
        rc = step_on(&walk, err);
    while (walk.depth > 0)
        close_tree_level(&levels[--walk.depth]);
    buf_done(&walk.path);
    return rc;
}

int tree_walk(const char *path, tree_fn *fn, void *self, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    return site_walk(&site, path, SITE_OWN, err) < 0 ? -1 : tree_walk_at(&site, fn, self, err);
}

void tree_site(const struct tree_entry *entry, struct site *ret_site)
{
    site_enter(ret_site, entry->folder, entry->above, entry->name, entry->path, &entry->info);
}

/* --- removing ------------------------------------------------------------------ */

/* The mount id also tells bind mounts apart, unlike the device number. */
static int read_mount_id(const struct tree_entry *entry, uint64_t *ret_mount, struct err *err)
{
    struct statx st;

    if (statx(entry->folder, entry->name, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &st) < 0)
        return err_sys(err, errno, "stat '%s'", entry->path);
    *ret_mount = st.stx_mnt_id;
    return 0;
}

struct removal {
    uint64_t mount; /* mount of the root folder of the walk */
    bool ours;
};

static int check_mount(struct removal *removal, const struct tree_entry *entry, struct err *err)
{
    uint64_t mount;

    if (read_mount_id(entry, &mount, err) < 0)
        return -1;
    if (entry->depth == 0)
        removal->mount = mount;
    if (mount != removal->mount)
        return err_sys(err, EBUSY, "remove '%s': something is mounted there", entry->path);
    return 0;
}

/* Only root can empty a folder without write permission. */
static int make_folder_writable(const struct tree_entry *entry, struct err *err)
{
    const struct fs_attr attr = { entry->info.mode | S_IRWXU, FS_KEEP, FS_KEEP };
    AUTO_SITE struct site site = SITE_INIT;

    if (geteuid() == 0 || (entry->info.mode & S_IRWXU) == S_IRWXU)
        return 0;
    tree_site(entry, &site);
    return site_set(&site, &attr, err);
}

static int remove_tree_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                             struct err *err)
{
    struct removal *removal = self;

    if (step == TREE_ENTER)
        return check_mount(removal, entry, err) < 0 ? -1
               : removal->ours                      ? make_folder_writable(entry, err)
                                                    : 0;
    if (unlinkat(entry->folder, entry->name, step == TREE_LEAVE ? AT_REMOVEDIR : 0) < 0 &&
        errno != ENOENT)
        return err_sys(err, errno, "remove '%s'", entry->path);
    return 0;
}

int tree_remove_at(const struct site *site, struct err *err)
{
    struct removal removal = { .ours = false };

    return site->info.kind == FS_NONE ? 0 : tree_walk_at(site, remove_tree_entry, &removal, err);
}

int tree_discard_at(const struct site *site, struct err *err)
{
    const struct cancel *before = cancel_heed(NULL);
    struct removal removal = { .ours = true };
    const int rc =
        site->info.kind == FS_NONE ? 0 : tree_walk_at(site, remove_tree_entry, &removal, err);

    (void)cancel_heed(before);
    return rc;
}

int tree_remove(const char *path, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    return site_walk(&site, path, SITE_OWN, err) < 0 ? -1 : tree_remove_at(&site, err);
}
