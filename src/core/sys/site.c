#include "core/sys/site.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "core/sys/account.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"

/* The kernel's limit. */
#define LINKS_MAX 40

/* An open folder of the walk. */
struct spot {
    int fd;
    struct fs_info info;
};

struct walk {
    struct arena *arena;
    const char *path; /* as the caller gave it, with last links replaced */
    const char *rest; /* the remaining text, from `at` */
    struct spot at;
    unsigned flags;
    const struct site_way *way; /* NULL: none */
    int links;
    bool bound;       /* after a link that may only lead to files of `owner` */
    bool returned;    /* by the exception of SITE_RETURN */
    bool pristine;    /* no link was the last part so far */
    uid_t owner;      /* owner of the link, or of its folder */
    const char *link; /* the last one, for messages */
};

/* --- what is there ------------------------------------------------------------------------ */

/* Stat the descriptor itself. */
static int stat_spot(int fd, struct spot *ret)
{
    ret->fd = fd;
    return fs_look_at(fd, "", &ret->info);
}

static bool is_site_absence(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR;
}

/* --- parents that were walked before --------------------------------------------------------
 *
 * Most paths of a run are in few folders. Where a text led, by the rule, is remembered as what that
 * folder is and never as an open one, which would keep it from being unmounted. When the text leads
 * to the very same folder again, whichever way, then that is where the rule has led before. */

#define KNOWN_COUNT     64
#define KNOWN_TEXT_SIZE 256

struct known {
    char text[KNOWN_TEXT_SIZE];
    struct spot spot; /* its `fd` is not used */
};

static struct known known_folders[KNOWN_COUNT];
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static struct known *known_slot(const char *text, size_t n)
{
    return &known_folders[map_hash(text, n) % KNOWN_COUNT];
}

static bool same_folder(const struct spot *a, const struct spot *b)
{
    const struct fs_id id = fs_id_of(&a->info);

    return fs_id_is(&id, &b->info) && a->info.uid == b->info.uid;
}

static void remember_spot(const char *text, const struct spot *spot)
{
    const size_t n = strlen(text);
    struct known *slot = known_slot(text, n);

    if (n >= KNOWN_TEXT_SIZE || spot->info.born == 0)
        return; /* an inode number alone may have been reused */
    (void)pthread_mutex_lock(&known_lock);
    memcpy(slot->text, text, n + 1);
    slot->spot = *spot;
    (void)pthread_mutex_unlock(&known_lock);
}

static bool is_known_spot(const char *text, const struct spot *spot)
{
    const struct known *slot = known_slot(text, strlen(text));
    bool found;

    if (spot->info.born == 0)
        return false;
    (void)pthread_mutex_lock(&known_lock);
    found = strcmp(slot->text, text) == 0 && same_folder(&slot->spot, spot);
    (void)pthread_mutex_unlock(&known_lock);
    return found;
}

/* --- the rule ---------------------------------------------------------------------------- */

static bool is_trusted_owner(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

static bool is_open_to_all(const struct fs_info *folder)
{
    return (folder->mode & S_IWOTH) != 0 && (folder->mode & S_ISVTX) == 0;
}

static const char *name_owner(struct arena *arena, uid_t uid)
{
    const struct account *account;
    struct err ignored;

    if (account_find_uid(arena, uid, &account, &ignored) < 0 || !account)
        return arena_printf(arena, "uid %u", uid);
    return arena_printf(arena, "'%s'", account->name);
}

/* The path of a name in the folder that we are in, for messages. */
static const char *name_path(struct walk *walk, const char *name)
{
    char link[SITE_FD_PATH_SIZE], folder[PATH_MAX];
    ssize_t n;

    site_fd_path(walk->at.fd, link);
    n = readlink(link, folder, sizeof(folder));
    return n <= 0 ? name
                  : path_join(walk->arena, arena_strndup(walk->arena, folder, (size_t)n), name);
}

static int refuse_step(struct walk *walk, const char *name, uid_t uid, struct err *err)
{
    return err_set(err, ERR_UNSAFE,
                   "refusing to enter '%s': it belongs to %s, in a folder of %s (give both to the "
                   "same user)",
                   name_path(walk, name), name_owner(walk->arena, uid),
                   name_owner(walk->arena, walk->at.info.uid));
}

/* Was there a folder, by the caller's records? A link on the way would lead to another one than the
 * text says. */
static bool is_recorded(struct walk *walk, const struct fs_info *next)
{
    const struct site_way *way = walk->way;
    size_t n;

    if (!way || !way->knows || walk->links > 0)
        return false;
    n = (size_t)(walk->rest - walk->path);
    while (n > 1 && walk->path[n - 1] == '/')
        n--;
    return way->knows(way->self, arena_strndup(walk->arena, walk->path, n), next->uid);
}

/* Step from the current folder to one with this owner. */
static int judge_walk_step(struct walk *walk, const char *name, const struct fs_info *next,
                           struct err *err)
{
    const uid_t from = walk->at.info.uid;

    if (walk->flags & SITE_OWN || is_trusted_owner(from) || from == next->uid)
        return 0;
    if ((walk->flags & SITE_RETURN && is_trusted_owner(next->uid) &&
         (next->mode & (S_IWGRP | S_IWOTH)) == 0) ||
        is_recorded(walk, next)) {
        walk->returned = true;
        return 0;
    }
    return refuse_step(walk, name, next->uid, err);
}

static int refuse_link(struct walk *walk, const char *name, const char *why, struct err *err)
{
    return err_set(err, ERR_UNSAFE, "refusing to follow '%s': %s", name_path(walk, name), why);
}

/* A link in the current folder: which owner must its target have? */
static int judge_link(struct walk *walk, const char *name, uid_t uid, struct err *err)
{
    const uid_t folder = walk->at.info.uid;
    const uid_t owner = is_trusted_owner(folder) ? uid : folder;

    if (walk->flags & SITE_OWN)
        return 0;
    if (walk->returned)
        return refuse_link(walk, name, "it is below a folder of an unprivileged user", err);
    if (is_open_to_all(&walk->at.info))
        return refuse_link(walk, name, "its folder is world-writable without the sticky bit", err);
    if (is_trusted_owner(owner))
        return 0;
    if (uid != owner && !is_trusted_owner(uid))
        return refuse_link(walk, name, "it belongs neither to root nor to the owner of its folder",
                           err);
    if (walk->bound && walk->owner != owner)
        return refuse_link(walk, name, "a link of another user leads to it", err);
    walk->bound = true;
    walk->owner = owner;
    walk->link = name_path(walk, name);
    return 0;
}

/* The end: `info` is that of a file in the current folder, or FS_NONE. */
static int judge_walk_end(struct walk *walk, const struct fs_info *info, struct err *err)
{
    const struct fs_info *target = info->kind == FS_NONE ? &walk->at.info : info;

    if (!walk->bound || walk->at.info.uid == walk->owner || target->uid == walk->owner)
        return 0;
    return err_set(err, ERR_UNSAFE,
                   "refusing to follow '%s': it belongs to %s and leads to a %s of %s", walk->link,
                   name_owner(walk->arena, walk->owner), fs_kind_name(target->kind),
                   name_owner(walk->arena, target->uid));
}

/* --- steps ------------------------------------------------------------------------------- */

static void move_to(struct walk *walk, const struct spot *spot)
{
    fd_close(&walk->at.fd);
    walk->at = *spot;
}

static int go_to(struct walk *walk, int from, const char *path, struct err *err)
{
    AUTO_FD int fd = openat(from, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct spot spot;

    if (fd < 0 || stat_spot(fd, &spot) < 0)
        return err_sys(err, errno, "open the folder '%s'", path);
    move_to(walk, &spot);
    (void)fd_take(&fd);
    return 0;
}

/* The next part of the remaining text, without slashes; NULL at the end. */
static const char *cut_path_part(struct walk *walk)
{
    const char *start = walk->rest + strspn(walk->rest, "/");
    const size_t n = strcspn(start, "/");

    walk->rest = start + n + strspn(start + n, "/");
    return n > 0 ? arena_strndup(walk->arena, start, n) : NULL;
}

/* The result of a step; -1 for a failure, as everywhere. */
enum { STEP_ON, STEP_END };

/* An open link; its text replaces its name. `last`: nothing follows it. */
static int follow_walk_link(struct walk *walk, const char *name, const struct spot *link, bool last,
                            struct err *err)
{
    char target[PATH_MAX];
    const ssize_t n = readlinkat(link->fd, "", target, sizeof(target) - 1);
    const char *text;

    if (n < 0)
        return err_sys(err, errno, "read the link '%s'", name_path(walk, name));
    if (++walk->links > LINKS_MAX)
        return err_sys(err, ELOOP, "follow '%s'", walk->path);
    if (judge_link(walk, name, link->info.uid, err) < 0)
        return -1;
    text = arena_strndup(walk->arena, target, (size_t)n);
    if (last) {
        walk->path = path_join(walk->arena, path_dirname(walk->arena, walk->path), text);
        walk->pristine = false;
    }
    walk->rest = last ? text : arena_printf(walk->arena, "%s/%s", text, walk->rest);
    return path_is_absolute(text) ? go_to(walk, AT_FDCWD, "/", err) : STEP_ON;
}

/* A part that is not the last. */
static int step_into(struct walk *walk, const char *name, struct err *err)
{
    AUTO_FD int fd = openat(walk->at.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct spot spot;

    if (fd < 0 && is_site_absence(errno))
        return STEP_END;
    if (fd < 0 || stat_spot(fd, &spot) < 0)
        return err_sys(err, errno, "open '%s' on the way to '%s'", name, walk->path);
    if (spot.info.kind == FS_LINK)
        return follow_walk_link(walk, name, &spot, false, err);
    if (spot.info.kind != FS_FOLDER)
        return STEP_END;
    if (judge_walk_step(walk, name, &spot.info, err) < 0)
        return -1;
    move_to(walk, &spot);
    (void)fd_take(&fd);
    return STEP_ON;
}

/* The last part. A link that must be followed continues the walk. */
static int look_at_last(struct walk *walk, const char *name, struct fs_info *ret, struct err *err)
{
    AUTO_FD int fd = -1;
    struct spot spot;

    *ret = (struct fs_info){ .kind = FS_NONE };
    if (fs_look_at(walk->at.fd, name, ret) < 0 && !is_site_absence(errno))
        return err_sys(err, errno, "stat '%s'", walk->path);
    if (ret->kind != FS_LINK || !(walk->flags & SITE_FOLLOW))
        return STEP_END;
    fd = openat(walk->at.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || stat_spot(fd, &spot) < 0)
        return err_sys(err, errno, "open the link '%s'", walk->path);
    if (spot.info.kind == FS_LINK)
        return follow_walk_link(walk, name, &spot, true, err);
    *ret = spot.info; /* it was just replaced */
    return STEP_END;
}

/* --- the walk ---------------------------------------------------------------------------- */

/* Begin at a folder that an earlier walk reached, or that the caller vouches for. False: walk. */
static bool begin_near(struct walk *walk, const char *parent)
{
    AUTO_FD int fd = openat(AT_FDCWD, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct spot spot;

    if (fd < 0 || stat_spot(fd, &spot) < 0)
        return false;
    if (!(walk->flags & SITE_OWN) && !is_known_spot(parent, &spot) &&
        !(walk->way && fs_id_is(&walk->way->folder, &spot.info)))
        return false;
    move_to(walk, &spot);
    (void)fd_take(&fd);
    return true;
}

static int begin_site_walk(struct walk *walk, const char *parent, struct err *err)
{
    const struct str last = path_basename(walk->path);

    walk->rest = walk->path;
    if (!(walk->flags & SITE_OWN) && !path_is_absolute(walk->path))
        return err_set(err, ERR_INVALID, "'%s' is not an absolute path", walk->path);
    if (!str_is(last, "/") && begin_near(walk, parent)) {
        walk->rest = last.p;
        return 0;
    }
    walk->pristine = true;
    return go_to(walk, AT_FDCWD, path_is_absolute(walk->path) ? "/" : ".", err);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Walk to the last part and stat it; `ret_name` is NULL when its folder does not exist. */
static int walk_to_last_part(struct walk *walk, const char *parent, const char **ret_name,
                             struct fs_info *ret, struct err *err)
{
    for (;;) {
        const char *name = cut_path_part(walk);
        const bool last = !name || walk->rest[0] == '\0';
        int step = STEP_ON;

        if (name && (!last || is_dots(name)))
            step = step_into(walk, name, err);
        if (step != STEP_ON) {
            *ret_name = NULL;
            *ret = (struct fs_info){ .kind = FS_NONE };
            return step < 0 ? -1 : 0;
        }
        if (!last)
            continue;
        if (!name || is_dots(name))
            name = ".";
        else if (walk->pristine && !walk->bound && !walk->returned && !(walk->flags & SITE_OWN))
            remember_spot(parent, &walk->at);
        step = look_at_last(walk, name, ret, err);
        *ret_name = name;
        if (step != STEP_ON)
            return step < 0 ? -1 : judge_walk_end(walk, ret, err);
    }
}

static void set_path(struct site *site, const char *path, const char *name)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    site->path = mem_strdup(path);
    site->path[n] = '\0';
    site->name = name && strcmp(name, ".") == 0 ? "." : path_basename(site->path).p;
}

static int walk_site_path(struct site *site, const char *path, unsigned flags,
                          const struct site_way *way, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *parent = path_dirname(&arena, path), *name = NULL;
    struct walk walk = {
        .arena = &arena, .path = path, .at = { .fd = -1 }, .flags = flags, .way = way
    };
    struct fs_info info = { .kind = FS_NONE };

    *site = (struct site)SITE_INIT;
    if (begin_site_walk(&walk, parent, err) < 0 ||
        walk_to_last_part(&walk, parent, &name, &info, err) < 0) {
        fd_close(&walk.at.fd);
        return -1;
    }
    if (!name)
        fd_close(&walk.at.fd);
    set_path(site, walk.path, name);
    site->folder = walk.at.fd;
    site->above = walk.at.info;
    site->info = info;
    return 0;
}

int site_walk(struct site *site, const char *path, unsigned flags, struct err *err)
{
    return walk_site_path(site, path, flags, NULL, err);
}

int site_walk_back(struct site *site, const char *path, const struct site_way *way, struct err *err)
{
    return walk_site_path(site, path, SITE_RETURN, way, err);
}

void site_enter(struct site *site, int folder, const struct fs_info *above, const char *name,
                const char *path, const struct fs_info *info)
{
    *site = (struct site){ .folder = folder, .above = *above, .info = *info, .borrowed = true };
    set_path(site, path, name);
}

void site_done(struct site *site)
{
    if (!site->borrowed)
        fd_close(&site->folder);
    free(site->path);
    *site = (struct site)SITE_INIT;
}
