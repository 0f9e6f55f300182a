#include "states/undo/rebuild.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/draft.h"
#include "core/sys/fd.h"
#include "core/sys/handle.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "states/undo/attributes.h"
#include "states/undo/image.h"

/* --- content --------------------------------------------------------------------------------- */

int rebuild_check_copy(struct rebuild *rebuild, const struct image *image, struct err *err)
{
    const char *path = image->copy ? path_join(rebuild->arena, rebuild->folder, image->copy) : NULL;
    AUTO_SITE struct site copy = SITE_INIT;
    const char *mark = NULL;
    AUTO_FD int fd = -1;

    if (!path)
        return 0; /* the record that holds the content has its own checksum */
    if (site_walk(&copy, path, SITE_OWN, err) < 0 || site_peek(&copy, &fd, err) < 0 ||
        (fd >= 0 && image_mark_fd(rebuild->arena, fd, &mark, err) < 0))
        return -1;
    if (!mark || strcmp(mark, image->mark) != 0)
        return err_set(err, ERR_INVALID, "cannot restore '%s': its copy '%s' is %s; not changed",
                       image->path, path, mark ? "damaged" : "missing");
    return 0;
}

static int fill_rebuilt_draft(struct rebuild *rebuild, const struct image *image,
                              struct draft *draft, struct err *err)
{
    AUTO_SITE struct site copy = SITE_INIT;
    AUTO_FD int fd = -1;
    const char *path;

    if (image->content.p)
        return draft_add(draft, image->content, err);
    path = path_join(rebuild->arena, rebuild->folder, image->copy);
    if (site_walk(&copy, path, SITE_OWN, err) < 0 || site_peek(&copy, &fd, err) < 0)
        return -1;
    return fd < 0 ? err_sys(err, ENOENT, "copy '%s'", path) : draft_copy(draft, fd, err);
}

/* --- files with several names ---------------------------------------------------------------- */

/* A recreated file. */
struct remade {
    const char *path;
    struct fs_id id, in;
};

static struct str file_key(struct arena *arena, const struct image *image)
{
    const struct fs_id *id = &image->self;

    return str_from(arena_printf(arena, "%llx %llx %llx", (unsigned long long)id->device,
                                 (unsigned long long)id->inode, (unsigned long long)id->born));
}

static bool has_names(const struct image *image)
{
    return image->info.kind == FS_FILE && image->info.links > 1 && image->self.born != 0;
}

static void remember_file(struct rebuild *rebuild, const struct image *image,
                          const struct site *made)
{
    struct remade *remade;

    /* the removed name was the last one */
    if (image->info.kind != FS_FILE || image->self.born == 0)
        return;
    remade = ARENA_NEW(rebuild->arena, struct remade);
    *remade = (struct remade){ image->path, fs_id_of(&made->info), fs_id_of(&made->above) };
    map_set(&rebuild->files, file_key(rebuild->arena, image), remade);
}

static const struct remade *find_remade(struct rebuild *rebuild, const struct image *image)
{
    return has_names(image) ? map_find(&rebuild->files, file_key(rebuild->arena, image)) : NULL;
}

/* Link the file at the site. False when it was moved: then recreate its content. */
static bool link_remade(struct site *site, int fd, const struct remade *remade)
{
    struct err ignored;
    struct fs_info now;

    if (fs_look_at(fd, "", &now) < 0 || !fs_id_is(&remade->id, &now))
        return false;
    return site_link_held(site, fd, remade->path, &ignored) == 0;
}

/* Find the file under one of its remaining names, if unchanged. */
static int open_survivor(struct rebuild *rebuild, const struct image *image, int folder)
{
    AUTO_FD int fd = image->handle.p ? handle_open(folder, image->handle) : -1;
    const struct fs_info *was = &image->info;
    struct fs_info now;
    struct err ignored;
    const char *mark;

    if (fd < 0 || fs_look_at(fd, "", &now) < 0 || !fs_id_is(&image->self, &now) || now.links == 0 ||
        now.uid != was->uid || now.gid != was->gid || now.mode != was->mode)
        return -1;
    if (image_mark_fd(rebuild->arena, fd, &mark, &ignored) < 0 || strcmp(mark, image->mark) != 0)
        return -1;
    return fd_take(&fd);
}

static bool link_survivor(struct rebuild *rebuild, const struct image *image, struct site *site)
{
    AUTO_FD int fd = open_survivor(rebuild, image, site->folder);
    struct err ignored;

    return fd >= 0 && site_link_held(site, fd, image->path, &ignored) == 0;
}

/* --- one node -------------------------------------------------------------------------------- */

static int make_file(struct rebuild *rebuild, const struct image *image, struct site *site,
                     struct err *err)
{
    struct draft draft = { .fd = -1, .site = site, .own = SITE_INIT };
    AUTO_FD int fd = -1;

    if (site_create(site, &fd, err) < 0)
        return -1;
    draft.fd = fd;
    return fill_rebuilt_draft(rebuild, image, &draft, err);
}

static int make_empty(struct rebuild *rebuild, const struct image *image, struct site *site,
                      struct err *err)
{
    const struct fs_attr private = { 0700, FS_KEEP, FS_KEEP };

    switch (image->info.kind) {
    case FS_FILE: return make_file(rebuild, image, site, err);
    case FS_FOLDER: return site_mkdir(site, &private, err);
    case FS_LINK: return site_symlink(site, image->target, err);
    default: return site_mknod(site, &image->info, err);
    }
}

/* Create under an unused name. A folder gets its attributes when it is complete. */
static int make_node(struct rebuild *rebuild, const struct image *image, struct site *site,
                     struct err *err)
{
    AUTO_FD int fd = -1;

    if (make_empty(rebuild, image, site, err) < 0 || site_hold_known(site, &fd, err) < 0)
        return -1;
    remember_file(rebuild, image, site);
    return image->info.kind == FS_FOLDER ? 0 : attributes_copy(image, fd, err);
}

/* Move the draft to its final place. */
static int publish_draft(const struct site *draft, struct site *site, struct err *err)
{
    struct err ignored;

    if (site_rename(draft, site, err) < 0)
        return -1;
    (void)site_unlink(draft, &ignored); /* the draft was a second link to the same file */
    return site_sync(site, err) < 0 ? -1 : site_look(site, err);
}

/* A name for a draft beside the site. */
static int enter_draft(struct rebuild *rebuild, const struct site *site, struct site *ret,
                       struct err *err)
{
    const struct fs_info nothing = { .kind = FS_NONE };
    char name[FS_TEMP_NAME_SIZE];

    if (site->folder < 0)
        return err_sys(err, ENOENT, "open the folder of '%s'", site->path);
    if (site_draft_name(site, name, err) < 0)
        return -1;
    site_enter(ret, site->folder, &site->above, name,
               path_join(rebuild->arena, path_dirname(rebuild->arena, site->path), name), &nothing);
    ret->log = site->log;
    return 0;
}

static int replace_node(struct rebuild *rebuild, const struct image *image, struct site *site,
                        struct err *err)
{
    AUTO_SITE struct site draft = SITE_INIT;

    if (enter_draft(rebuild, site, &draft, err) < 0)
        return -1;
    if (make_node(rebuild, image, &draft, err) == 0 && publish_draft(&draft, site, err) == 0)
        return 0;
    site_drop_draft(&draft, draft.name);
    return -1;
}

/* core/sys/draft.h knows what to do with a file that is a mount point. */
static int replace_file(struct rebuild *rebuild, const struct image *image, struct site *site,
                        struct err *err)
{
    const struct fs_replace_options options = { .attr = FS_ATTR_KEEP, .as_is = true };
    struct draft draft;
    int rc = draft_open_at(&draft, site, &options, err);

    if (rc == 0)
        rc = fill_rebuilt_draft(rebuild, image, &draft, err);
    if (rc == 0)
        rc = attributes_copy(image, draft.fd, err);
    if (rc == 0)
        rc = draft_commit(&draft, err);
    draft_done(&draft);
    if (rc < 0 || site_look(site, err) < 0)
        return -1;
    remember_file(rebuild, image, site);
    return 0;
}

static bool link_again(struct rebuild *rebuild, const struct image *image, struct site *site)
{
    const struct remade *remade = find_remade(rebuild, image);
    AUTO_SITE struct site of = SITE_INIT;
    AUTO_FD int fd = -1;
    struct site_way way;
    struct err ignored;

    if (!remade)
        return link_survivor(rebuild, image, site);
    way = (struct site_way){ .folder = remade->in };
    return site_walk_back(&of, remade->path, &way, &ignored) == 0 &&
           site_hold_known(&of, &fd, &ignored) == 0 && link_remade(site, fd, remade);
}

static bool replace_by_link(struct rebuild *rebuild, const struct image *image, struct site *site)
{
    AUTO_SITE struct site draft = SITE_INIT;
    struct err ignored;

    if (!has_names(image) || enter_draft(rebuild, site, &draft, &ignored) < 0)
        return false;
    if (link_again(rebuild, image, &draft) && publish_draft(&draft, site, &ignored) == 0)
        return true;
    site_drop_draft(&draft, draft.name);
    return false;
}

int rebuild_node(struct rebuild *rebuild, const struct image *image, struct site *site,
                 struct err *err)
{
    if (replace_by_link(rebuild, image, site))
        return 0;
    return (image->info.kind == FS_FILE ? replace_file : replace_node)(rebuild, image, site, err);
}

/* --- a tree ---------------------------------------------------------------------------------- */

/* An incomplete folder of the draft. */
struct level {
    const struct image *image;
    int fd;
    struct fs_info info;
};

struct building {
    struct rebuild *rebuild;
    const char *top; /* path of the tree */
    VEC(struct level) levels;
    struct buf *out;
    bool damaged;
    struct err why; /* of `damaged` */
};

static int open_folder_level(struct building *b, const struct image *image, struct site *site,
                             struct err *err)
{
    struct level level = { .image = image };

    if (site_peek(site, &level.fd, err) < 0)
        return -1;
    if (site->info.kind != FS_FOLDER) {
        fd_close(&level.fd);
        return err_set(err, ERR_BUSY, "'%s' was replaced by another process", site->path);
    }
    level.info = site->info;
    VEC_PUSH_IN(b->rebuild->arena, &b->levels, level);
    return 0;
}

/* Finish the deepest folder. */
static int close_folder_level(struct building *b, struct err *err)
{
    struct level *level = &b->levels.p[--b->levels.n];
    const int rc = attributes_copy(level->image, level->fd, err);

    fd_close(&level->fd);
    return rc;
}

/* Link a file recreated before, usually in this draft. Its folders have other owners by now, who
 * cannot reach them yet; and the link is checked. */
static bool link_inside(struct building *b, const struct image *image, struct site *site)
{
    const struct remade *remade = find_remade(b->rebuild, image);
    AUTO_FD int fd = -1;

    if (!remade || !path_is_inside(remade->path, b->top))
        return has_names(image) && link_again(b->rebuild, image, site);
    fd = site_glance_below(b->levels.p[0].fd, remade->path + strlen(b->top) + 1);
    return fd >= 0 && link_remade(site, fd, remade);
}

static int rebuild_file(struct building *b, const struct image *image, struct site *site,
                        struct err *err)
{
    if (link_inside(b, image, site))
        return 0;
    if (rebuild_check_copy(b->rebuild, image, err) == 0)
        return make_node(b->rebuild, image, site, err);
    if (err->code != ERR_INVALID)
        return -1;
    if (!b->damaged)
        b->why = *err;
    b->damaged = true;
    return 0;
}

static int add_node(struct building *b, const struct image *image, struct err *err)
{
    const struct level *level = &b->levels.p[b->levels.n - 1];
    const struct fs_info nothing = { .kind = FS_NONE };
    AUTO_SITE struct site site = SITE_INIT;

    if (cancel_check(err) < 0)
        return -1;
    site_enter(&site, level->fd, &level->info, path_basename(image->path).p, image->path, &nothing);
    if (image->info.kind == FS_SOCKET) {
        buf_printf(b->out, "skipped %s: sockets are created by their program\n", image->path);
        return 0;
    }
    buf_printf(b->out, "restored %s\n", image->path);
    if (image->info.kind == FS_FILE)
        return rebuild_file(b, image, &site, err);
    if (make_node(b->rebuild, image, &site, err) < 0)
        return -1;
    return image->info.kind == FS_FOLDER ? open_folder_level(b, image, &site, err) : 0;
}

/* Is it in the folder that is open? Its own folder may be missing in a damaged journal. */
static bool is_in_level(struct building *b, const struct image *image)
{
    const struct level *level = &b->levels.p[b->levels.n - 1];

    return strcmp(path_dirname(b->rebuild->arena, image->path), level->image->path) == 0;
}

static int fill_folder(struct building *b, const struct rebuild_tree *tree, struct err *err)
{
    for (size_t i = 1; i < tree->list.n; i++) {
        const struct image *image = tree->list.p[i];

        while (b->levels.n > 1 &&
               !path_is_inside(image->path, b->levels.p[b->levels.n - 1].image->path))
            if (close_folder_level(b, err) < 0)
                return -1;
        if (is_in_level(b, image) && add_node(b, image, err) < 0)
            return -1;
    }
    while (b->levels.n > 1)
        if (close_folder_level(b, err) < 0)
            return -1;
    /* one call for the whole file system: there may be a million files */
    if (syncfs(b->levels.p[0].fd) < 0)
        return err_sys(err, errno, "sync '%s'", b->top);
    return close_folder_level(b, err);
}

static int build_draft(struct building *b, const struct rebuild_tree *tree, struct site *draft,
                       struct err *err)
{
    int rc = open_folder_level(b, tree->list.p[0], draft, err);

    if (rc == 0)
        rc = fill_folder(b, tree, err);
    while (b->levels.n > 0)
        fd_close(&b->levels.p[--b->levels.n].fd);
    return rc;
}

int rebuild_folder(struct rebuild *rebuild, const struct rebuild_tree *tree, struct site *site,
                   struct buf *out, struct err *err)
{
    AUTO_SITE struct site draft = SITE_INIT;
    AUTO_BUF struct buf words = BUF_INIT(out->max);
    struct building b = { .rebuild = rebuild, .top = tree->list.p[0]->path, .out = &words };

    if (enter_draft(rebuild, site, &draft, err) < 0 || draft_make_folder(&draft, err) < 0)
        return -1;
    buf_printf(&words, "restored %s\n", b.top);
    if (build_draft(&b, tree, &draft, err) < 0 || site_rename(&draft, site, err) < 0) {
        draft_drop_folder(&draft);
        return -1;
    }
    buf_add_str(out, buf_view(&words));
    if (site_sync(site, err) < 0 || site_look(site, err) < 0)
        return -1;
    if (!b.damaged)
        return 0;
    *err = b.why;
    return -1;
}
