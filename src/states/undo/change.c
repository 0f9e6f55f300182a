#include "states/undo/change.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/undo/image.h"
#include "states/state/module.h"
#include "states/undo/stall.h"
#include "states/undo/undo.h"
#include "core/sys/draft.h"
#include "core/sys/draft_log.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"

#define USUAL_UMASK 022

/* The kept part of a path; the map of paths holds the address of one of these. */
enum { KEPT_ATTRIBUTES, KEPT_WHOLE, KEPT_OPEN, KEPT_KINDS };
static char kept[KEPT_KINDS];

static int allow_change(const struct state_run *run, const char *path, struct err *err)
{
    if (run->test || !run->change)
        return err_set(err, ERR_UNSUPPORTED, "change '%s': nothing may be changed while checking",
                       path);
    if (path[0] != '/')
        return err_set(err, ERR_INVALID, "change '%s': must be an absolute path", path);
    return 0;
}

/* The image is in the journal then, but not yet safe. */
static int keep_one(struct state_run *run, struct site *site, enum image_extent extent,
                    const char *left, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct change *change = run->change;
    const char *known;

    if (!change->undo)
        return 0;
    known = map_find(&change->paths, str_from(site->path));
    if (known && (extent == IMAGE_ATTRIBUTES || known == &kept[KEPT_OPEN]))
        return 0;
    if (known == &kept[KEPT_WHOLE] && left)
        return undo_left(change->undo, change->number, site->path, left, err);
    if (undo_keep(change->undo, &scratch, change->number, site, extent, left, err) < 0)
        return -1;
    change->paths.arena = run->arena;
    map_set(&change->paths, arena_str(run->arena, str_from(site->path)),
            &kept[extent == IMAGE_ATTRIBUTES ? KEPT_ATTRIBUTES
                  : left                     ? KEPT_WHOLE
                                             : KEPT_OPEN]);
    return 0;
}

static int settle_change(struct state_run *run, struct err *err)
{
    return run->change->undo ? undo_sync(run->change->undo, err) : 0;
}

static int keep_image(struct state_run *run, struct site *site, enum image_extent extent,
                      const char *left, struct err *err)
{
    return keep_one(run, site, extent, left, err) < 0 ? -1 : settle_change(run, err);
}

/* From here on the path may change, even if the call fails. */
static void note_act(const struct state_run *run)
{
    run->change->acted = true;
}

/* Where the change will happen. */
static int find_site(struct state_run *run, const char *path, unsigned flags, struct site *ret,
                     struct err *err)
{
    if (allow_change(run, path, err) < 0 || site_walk(ret, path, flags, err) < 0)
        return -1;
    ret->log = run->change->drafts;
    return 0;
}

int change_resolve(struct state_run *run, const char **path, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, *path, SITE_FOLLOW, err) < 0)
        return -1;
    *path = arena_strdup(run->arena, site.path);
    return 0;
}

/* --- content ----------------------------------------------------------------------- */

static mode_t choose_umask(const struct state_run *run)
{
    return run->umask ? *run->umask : USUAL_UMASK;
}

static struct fs_replace_options make_replace_options(const struct state_run *run,
                                                      const struct site *site,
                                                      const struct change_attr *attr)
{
    struct fs_replace_options options = { .attr = FS_ATTR_KEEP };

    if (attr)
        options.attr = (struct fs_attr){ attr->mode, attr->uid, attr->gid };
    if (options.attr.mode == FS_KEEP && site->info.kind == FS_NONE)
        options.attr.mode = 0666 & ~choose_umask(run);
    return options;
}

static int fill_change_draft(const struct state_run *run, const struct site *site,
                             struct str content, const struct fs_replace_options *options,
                             struct err *err)
{
    const bool stalled = stall_begin();
    struct draft draft;
    int rc = draft_open_at(&draft, site, options, err);

    if (rc == 0)
        rc = draft_add(&draft, content, err);
    if (rc == 0) {
        note_act(run);
        rc = draft_commit(&draft, err);
    }
    draft_done(&draft);
    stall_end(stalled);
    return rc;
}

static int rewrite_site(struct state_run *run, struct site *site, const struct fs_info *seen,
                        struct str content, const struct change_attr *attr, struct err *err)
{
    struct fs_replace_options options = make_replace_options(run, site, attr);

    options.seen = seen;
    if (keep_image(run, site, IMAGE_WHOLE, image_mark_content(run->arena, content), err) < 0)
        return -1;
    return fill_change_draft(run, site, content, &options, err);
}

/* Checks a site of this state before it is written. */
static int inspect_site_again(struct state_run *run, struct site *site, struct err *err)
{
    if (allow_change(run, site->path, err) < 0 || site_look(site, err) < 0)
        return -1;
    site->log = run->change->drafts;
    if (site->info.kind == FS_LINK) /* the walk would have followed it */
        return err_set(err, ERR_BUSY, "'%s' was replaced by another process", site->path);
    return 0;
}

int change_rewrite_at(struct state_run *run, struct site *site, const struct fs_info *seen,
                      struct str content, const struct change_attr *attr, struct err *err)
{
    if (inspect_site_again(run, site, err) < 0)
        return -1;
    return rewrite_site(run, site, seen, content, attr, err);
}

int change_rewrite(struct state_run *run, const char *path, const struct fs_info *seen,
                   struct str content, const struct change_attr *attr, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (find_site(run, path, SITE_FOLLOW, &site, err) < 0)
        return -1;
    return rewrite_site(run, &site, seen, content, attr, err);
}

int change_write(struct state_run *run, const char *path, struct str content,
                 const struct change_attr *attr, struct err *err)
{
    return change_rewrite(run, path, NULL, content, attr, err);
}

/* The source may change while it is read: compare with the copy. */
static int commit_copy(struct state_run *run, struct draft *draft, int from, struct site *site,
                       struct err *err)
{
    bool stalled = stall_begin();
    int rc = draft_copy(draft, from, err);
    const char *mark;

    stall_end(stalled);
    if (rc < 0 || image_mark_fd(run->arena, draft->fd, &mark, err) < 0 ||
        keep_image(run, site, IMAGE_WHOLE, mark, err) < 0)
        return -1;
    stalled = stall_begin();
    note_act(run);
    rc = draft_commit(draft, err);
    stall_end(stalled);
    return rc;
}

int change_refill_at(struct state_run *run, struct site *site, const struct fs_info *seen, int from,
                     const struct change_attr *attr, struct err *err)
{
    struct fs_replace_options options;
    struct draft draft;
    int rc;

    if (inspect_site_again(run, site, err) < 0)
        return -1;
    if (lseek(from, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "read the source of '%s'", site->path);
    options = make_replace_options(run, site, attr);
    options.seen = seen;
    if (draft_open_at(&draft, site, &options, err) < 0)
        return -1;
    rc = commit_copy(run, &draft, from, site, err);
    draft_done(&draft);
    return rc;
}

/* The file itself, whatever takes its name meanwhile; its mode is the copy's when that is new. */
static int open_source(const char *from, struct site *source, int *ret_fd, struct err *err)
{
    if (site_walk(source, from, SITE_FOLLOW, err) < 0 || site_open(source, ret_fd, err) < 0)
        return -1;
    if (*ret_fd < 0)
        return err_sys(err, source->info.kind == FS_NONE ? ENOENT : EINVAL, "copy '%s'", from);
    return 0;
}

int change_copy(struct state_run *run, const char *from, const char *path,
                const struct change_attr *attr, struct err *err)
{
    const mode_t mode = attr ? attr->mode : CHANGE_KEEP_MODE;
    AUTO_SITE struct site source = SITE_INIT, site = SITE_INIT;
    AUTO_FD int fd = -1;
    struct fs_replace_options options;
    struct draft draft;
    int rc;

    if (find_site(run, path, SITE_FOLLOW, &site, err) < 0 ||
        open_source(from, &source, &fd, err) < 0)
        return -1;
    options = make_replace_options(run, &site, attr);
    if (mode == CHANGE_SOURCE_MODE || (mode == CHANGE_KEEP_MODE && site.info.kind != FS_FILE))
        options.attr.mode = source.info.mode & 0777;
    if (draft_open_at(&draft, &site, &options, err) < 0)
        return -1;
    rc = commit_copy(run, &draft, fd, &site, err);
    draft_done(&draft);
    return rc;
}

/* --- folders, links, names --------------------------------------------------------- */

/* Without a given owner, a folder in an unprivileged user's folder belongs to that user: paths may
 * not lead from there to other owners (core/sys/site.h). */
static struct fs_attr folder_attr(const struct state_run *run, const struct site *site,
                                  const struct change_attr *attr)
{
    struct fs_attr want = { 0777 & ~choose_umask(run), FS_KEEP, FS_KEEP };

    if (attr)
        want = (struct fs_attr){ attr->mode, attr->uid, attr->gid };
    if (want.mode == FS_KEEP)
        want.mode = 0777 & ~choose_umask(run);
    if (!attr || attr->mode == CHANGE_KEEP_MODE)
        want.mode |= site->above.mode & S_ISGID; /* as mkdir has it, with the group */
    if (want.uid == FS_KEEP && geteuid() == 0 && site->above.uid != 0) {
        want.uid = site->above.uid;
        want.gid = want.gid == FS_KEEP ? site->above.gid : want.gid;
    }
    return want;
}

static int make_changed_folder(struct state_run *run, struct site *site,
                               const struct change_attr *attr, struct err *err)
{
    const struct fs_attr want = folder_attr(run, site, attr);

    if (keep_image(run, site, IMAGE_WHOLE, "folder", err) < 0)
        return -1;
    if (site_mkdir(site, &want, err) == 0) {
        note_act(run);
        return site_sync(site, err);
    }
    /* Another state may have created it meanwhile; use that. */
    if (err->errnum != EEXIST || site_look(site, err) < 0)
        return -1;
    if (site->info.kind != FS_FOLDER)
        return err_sys(err, EEXIST, "create the folder '%s'", site->path);
    return attr ? change_attr_at(run, site, attr, err) : 0;
}

int change_mkdir(struct state_run *run, const char *path, const struct change_attr *attr,
                 struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (find_site(run, path, SITE_FOLLOW, &site, err) < 0)
        return -1;
    if (site.info.kind == FS_FOLDER)
        return attr ? change_attr_at(run, &site, attr, err) : 0;
    return make_changed_folder(run, &site, attr, err);
}

int change_make_parents(struct state_run *run, const char *path, struct err *err)
{
    const char *parent = path_dirname(run->arena, path);
    VEC(const char *) missing = VEC_INIT;
    struct fs_info info;

    for (;; parent = path_dirname(run->arena, parent)) {
        if (fs_stat(parent, &info, err) < 0)
            return -1;
        if (info.kind == FS_FOLDER)
            break;
        if (info.kind != FS_NONE || strcmp(parent, "/") == 0)
            return err_set(err, ERR_INVALID, "create the parents of '%s': '%s' is not a folder",
                           path, parent);
        VEC_PUSH_IN(run->arena, &missing, parent);
    }
    while (missing.n > 0)
        if (change_mkdir(run, missing.p[--missing.n], NULL, err) < 0)
            return -1;
    return 0;
}

int change_symlink(struct state_run *run, const char *target, const char *path, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (find_site(run, path, 0, &site, err) < 0 ||
        keep_image(run, &site, IMAGE_WHOLE, arena_printf(run->arena, "link:%s", target), err) < 0 ||
        site_symlink(&site, target, err) < 0)
        return -1;
    note_act(run);
    return site_sync(&site, err);
}

/* --- whole trees ------------------------------------------------------------------- */

/* Children before their folder, so that images, restored from the end, create the folder first. */
static int keep_tree_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                           struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (step == TREE_ENTER)
        return 0;
    tree_site(entry, &site);
    return keep_one(self, &site, IMAGE_WHOLE, "none", err);
}

struct moving {
    struct state_run *run;
    const struct site *from, *to;
};

/* Record the marks at the new place: a folder before its children. Nothing is below it yet. */
static int keep_arrival(void *self, enum tree_step step, const struct tree_entry *entry,
                        struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    AUTO_SITE struct site site = SITE_INIT, arrival = SITE_INIT;
    const struct fs_info nothing = { .kind = FS_NONE };
    const struct moving *moving = self;
    const struct site *to = moving->to;
    const char *mark;

    if (step == TREE_LEAVE)
        return 0;
    tree_site(entry, &site);
    if (image_mark(&scratch, &site, &mark, err) < 0)
        return -1;
    site_enter(&arrival, entry->depth == 0 ? to->folder : -1,
               entry->depth == 0 ? &to->above : entry->above, to->name,
               arena_printf(&scratch, "%s%s", to->path, entry->path + strlen(moving->from->path)),
               entry->depth == 0 ? &to->info : &nothing);
    return keep_one(moving->run, &arrival, IMAGE_WHOLE, mark, err);
}

int change_link(struct state_run *run, const char *target, const char *path, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT, of = SITE_INIT;
    const char *mark;

    if (find_site(run, path, 0, &site, err) < 0 || site_walk(&of, target, SITE_FOLLOW, err) < 0 ||
        image_mark(run->arena, &of, &mark, err) < 0)
        return -1;
    if (of.info.kind != FS_FILE)
        return err_set(err, ERR_INVALID, "'%s' is not a file: only files can have hard links",
                       target);
    if (keep_image(run, &site, IMAGE_WHOLE, mark, err) < 0 || site_link(&site, &of, err) < 0)
        return -1;
    note_act(run);
    return site_sync(&site, err);
}

int change_mknod(struct state_run *run, const char *path, const struct fs_info *like,
                 struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (find_site(run, path, 0, &site, err) < 0 ||
        keep_image(run, &site, IMAGE_WHOLE, image_mark_kind(like->kind), err) < 0 ||
        site_mknod(&site, like, err) < 0)
        return -1;
    note_act(run);
    return site_sync(&site, err);
}

int change_rename(struct state_run *run, const char *from, const char *to, struct err *err)
{
    AUTO_SITE struct site old = SITE_INIT, new = SITE_INIT;
    struct moving moving = { run, &old, &new };

    if (find_site(run, from, 0, &old, err) < 0 || find_site(run, to, 0, &new, err) < 0)
        return -1;
    if (tree_walk_at(&old, keep_tree_entry, run, err) < 0 ||
        tree_walk_at(&old, keep_arrival, &moving, err) < 0 || settle_change(run, err) < 0)
        return -1;
    if (site_rename(&old, &new, err) < 0)
        return -1;
    note_act(run);
    if (site_sync(&new, err) < 0)
        return -1;
    return site_sync(&old, err);
}

int change_remove(struct state_run *run, const char *path, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (find_site(run, path, 0, &site, err) < 0)
        return -1;
    if (site.info.kind == FS_NONE)
        return 0;
    if (tree_walk_at(&site, keep_tree_entry, run, err) < 0 || settle_change(run, err) < 0)
        return -1;
    note_act(run);
    return tree_remove_at(&site, err) < 0 ? -1 : site_sync(&site, err);
}

/* --- attributes -------------------------------------------------------------------- */

int change_attr_at(struct state_run *run, struct site *site, const struct change_attr *attr,
                   struct err *err)
{
    const struct fs_attr want = { attr->mode, attr->uid, attr->gid };

    if (allow_change(run, site->path, err) < 0 ||
        keep_image(run, site, IMAGE_ATTRIBUTES, NULL, err) < 0)
        return -1;
    note_act(run);
    return site_set(site, &want, err);
}

int change_attr(struct state_run *run, const char *path, const struct change_attr *attr,
                struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (find_site(run, path, attr->mode != CHANGE_KEEP_MODE ? SITE_FOLLOW : 0, &site, err) < 0)
        return -1;
    return change_attr_at(run, &site, attr, err);
}

int change_touch(struct state_run *run, const char *path, int64_t atime, int64_t mtime,
                 struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (find_site(run, path, SITE_FOLLOW, &site, err) < 0)
        return -1;
    if (site.info.kind == FS_NONE) {
        const struct fs_replace_options options = make_replace_options(run, &site, NULL);

        if (keep_image(run, &site, IMAGE_WHOLE, image_mark_content(run->arena, STR("")), err) < 0 ||
            fill_change_draft(run, &site, STR(""), &options, err) < 0 || site_look(&site, err) < 0)
            return -1;
    } else if (keep_image(run, &site, IMAGE_ATTRIBUTES, NULL, err) < 0) {
        return -1;
    }
    note_act(run);
    return site_set_times(&site, atime, mtime, err);
}

/* --- changes by tools ---------------------------------------------------------------- */

int change_save(struct state_run *run, const char *path, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (find_site(run, path, SITE_RETURN, &site, err) < 0 ||
        keep_image(run, &site, IMAGE_WHOLE, NULL, err) < 0)
        return -1;
    note_act(run);
    return 0;
}

int change_make_draft(struct state_run *run, struct site *site, struct err *err)
{
    if (allow_change(run, site->path, err) < 0)
        return -1;
    site->log = run->change->drafts;
    if (site->log && draft_log_add(site->log, site, site->name, err) < 0)
        return -1;
    return draft_make_folder(site, err);
}

int change_finish(struct state_run *run, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct change *change = run->change;
    const char *mark;

    MAP_EACH (&change->paths, entry) {
        if (entry->value != &kept[KEPT_OPEN])
            continue;
        if (image_mark_path(&scratch, entry->key.p, &mark, err) < 0 ||
            undo_left(change->undo, change->number, entry->key.p, mark, err) < 0)
            return -1;
    }
    return 0;
}
