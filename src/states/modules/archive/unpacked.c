#include "states/modules/archive/unpacked.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "core/edit/lines.h"
#include "states/modules/file/leftovers.h"
#include "states/modules/file/parent.h"
#include "states/undo/change.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"
#include "core/sys/draft.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"
#include "core/sys/pool.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"

#define LIST_FILE_MAX ((size_t)256 << 20)
#define LIST_FOLDER   "archives"
/* Marks a list that is written before its archive is in place; matches no archive. */
#define UNFINISHED "-"

/* By folder and source, since two archives may share a folder. */
static const char *list_name(struct state_run *run, const struct unpacked_wish *wish)
{
    const char *key =
        arena_printf(run->arena, "%s\n%s", path_normalise(run->arena, wish->folder), wish->source);
    char hex[SHA256_HEX_SIZE];

    sha256_hex(key, strlen(key), hex);
    return arena_printf(run->arena, "%s.list", hex);
}

static const char *list_path(struct state_run *run, const char *name)
{
    return path_join(run->arena, path_join(run->arena, run->host->data_dir, LIST_FOLDER), name);
}

/* --- checking ------------------------------------------------------------------------------- */

static int check_paths(struct state_run *run, const struct unpacked_wish *wish, struct str paths,
                       struct err *err)
{
    struct fs_info info;
    struct line line;

    while (lines_next(&paths, &line)) {
        const char *path = path_join(run->arena, wish->folder, arena_str(run->arena, line.text).p);

        if (fs_lstat(path, &info, err) < 0)
            return -1;
        if (info.kind == FS_NONE) {
            state_differs(run, "%s is missing", path);
            return 0;
        }
    }
    return 0;
}

static int refuse_other_kind(const char *path, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "'%s' is in the way: the archive has a path of another kind there; "
                   "force: true replaces it",
                   path);
}

/* Paths that are removed first are not in the way. */
static int check_kinds(struct state_run *run, const struct unpacked_wish *wish,
                       const struct unpack_entries *entries, struct err *err)
{
    struct fs_info info;

    if (!wish->keeps_others || wish->clean || wish->cleans_tops)
        return 0;
    VEC_EACH (&entries->list, entry) {
        const char *path = path_join(run->arena, wish->folder, entry->path);

        if ((entry->kind == FS_FOLDER ? fs_stat : fs_lstat)(path, &info, err) < 0)
            return -1;
        if (info.kind != FS_NONE && info.kind != entry->kind)
            return refuse_other_kind(path, err);
    }
    return 0;
}

int unpacked_compare(struct state_run *run, const struct unpacked_wish *wish, struct err *err)
{
    struct unpack_entries entries;
    struct fs_info info;

    if (unpack_list(run->arena, &wish->archive, &wish->options, &entries, err) < 0 ||
        check_kinds(run, wish, &entries, err) < 0)
        return -1;
    VEC_EACH (&entries.list, entry) {
        const char *path = path_join(run->arena, wish->folder, entry->path);

        if (fs_lstat(path, &info, err) < 0)
            return -1;
        if (info.kind != entry->kind) {
            state_differs(run, "%s is missing", path);
            return 0;
        }
    }
    state_acts(run); /* to remember it */
    state_say(run, "%s is extracted in %s", wish->source, wish->folder);
    return 0;
}

int unpacked_check(struct state_run *run, const struct unpacked_wish *wish, bool *ret_known,
                   struct err *err)
{
    struct fs_info info;
    struct str text, mark;

    *ret_known = true;
    if (fs_stat(wish->folder, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER) {
        state_differs(run, "target %s does not exist", wish->folder);
        return 0;
    }
    if (fs_read(run->arena, list_path(run, list_name(run, wish)), LIST_FILE_MAX, &text, err) < 0)
        return -1;
    mark = text.p ? str_cut(&text, '\n') : STR(UNFINISHED);
    if (str_is(mark, UNFINISHED) || (!str_is(mark, wish->mark) && !wish->follows_hash)) {
        *ret_known = false;
        return 0;
    }
    if (!str_is(mark, wish->mark))
        state_differs(run, "source_hash changed (recorded \"%.*s\", declared \"%s\")",
                      STR_ARG(mark), wish->mark);
    else if (text.p && !wish->trusts_list && check_paths(run, wish, text, err) < 0)
        return -1;
    if (!run->differs)
        state_say(run, "%s is extracted in %s", wish->source, wish->folder);
    return 0;
}

/* --- extracting ------------------------------------------------------------------------------ */

static int check_top(struct state_run *run, const struct unpacked_wish *wish,
                     const struct unpack_entries *entries, struct err *err)
{
    struct map tops = MAP_INIT_IN(run->arena);

    if (!wish->one_top)
        return 0;
    VEC_EACH (&entries->list, entry) {
        const size_t top = strcspn(entry->path, "/");

        map_set(&tops, str_slice(str_from(entry->path), 0, top), &tops);
        if (wish->top_is_folder && entry->path[top] == '\0' && entry->kind != FS_FOLDER)
            return err_set(err, ERR_INVALID,
                           "'%s' is not in a folder of archive '%s', and enforce_toplevel is true",
                           entry->path, wish->source);
    }
    if (map_count(&tops) <= 1)
        return 0;
    return err_set(err, ERR_INVALID,
                   "archive '%s' has %zu top-level entries, and enforce_toplevel is true",
                   wish->source, map_count(&tops));
}

static int make_list_folder(struct state_run *run, struct err *err)
{
    const struct change_attr private = { 0700, CHANGE_KEEP_ID, CHANGE_KEEP_ID };
    const char *folder = path_join(run->arena, run->host->data_dir, LIST_FOLDER);
    struct fs_info info;

    if (fs_stat(folder, &info, err) < 0)
        return -1;
    return info.kind == FS_FOLDER ? 0 : change_mkdir(run, folder, &private, err);
}

static void add_paths(struct buf *out, const struct unpack_entries *entries)
{
    VEC_EACH (&entries->list, entry)
        if (!strchr(entry->path, '\n')) /* could not be read back */
            buf_printf(out, "%s\n", entry->path);
}

int unpacked_paths(struct state_run *run, const struct unpacked_wish *wish, struct str *ret,
                   struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(LIST_FILE_MAX);
    struct unpack_entries entries;
    struct str mark;

    if (fs_read(run->arena, list_path(run, list_name(run, wish)), LIST_FILE_MAX, ret, err) < 0)
        return -1;
    mark = ret->p ? str_cut(ret, '\n') : STR(UNFINISHED);
    if (str_is(mark, wish->mark))
        return 0;
    if (unpack_list(run->arena, &wish->archive, &wish->options, &entries, err) < 0)
        return -1;
    add_paths(&out, &entries);
    *ret = buf_copy(&out, run->arena);
    return 0;
}

/* Remember what is extracted; or with UNFINISHED what is about to be, for a revert. */
static int write_list(struct state_run *run, const struct unpacked_wish *wish, const char *mark,
                      const struct unpack_entries *entries, struct err *err)
{
    const struct change_attr attr = { 0600, CHANGE_KEEP_ID, CHANGE_KEEP_ID };
    AUTO_BUF struct buf out = BUF_INIT(LIST_FILE_MAX);

    buf_printf(&out, "%s\n", mark);
    add_paths(&out, entries);
    if (out.full)
        return err_set(err, ERR_LIMIT, "the list of '%s' has more than %zu bytes", wish->source,
                       LIST_FILE_MAX);
    if (make_list_folder(run, err) < 0)
        return -1;
    return change_write(run, list_path(run, list_name(run, wish)),
                        (struct str){ buf_text(&out), out.n }, &attr, err);
}

int unpacked_remember(struct state_run *run, const struct unpacked_wish *wish, struct err *err)
{
    struct unpack_entries entries;

    if (unpack_list(run->arena, &wish->archive, &wish->options, &entries, err) < 0)
        return -1;
    return write_list(run, wish, wish->mark, &entries, err);
}

/* A name for the stage in the folder. */
static int walk_stage(struct state_run *run, const char *folder, struct site *ret, struct err *err)
{
    char name[FS_TEMP_NAME_SIZE], real[PATH_MAX];

    if (!realpath(folder, real))
        return err_set(err, ERR_NOT_FOUND, "folder '%s' does not exist", folder);
    fs_temp_name(name);
    return site_walk(ret, path_join(run->arena, real, name), 0, err);
}

/* An empty folder beside the target, on the same file system, with a path without links. The
 * library writes by path: where another user could swap one for a link, the stage is in our own
 * data folder instead, and is renamed or copied from there. */
static int make_stage(struct state_run *run, const struct unpacked_wish *wish, struct site *ret,
                      struct err *err)
{
    const struct change_attr above = { CHANGE_KEEP_MODE, wish->options.uid, wish->options.gid };

    if (parent_make(run, wish->folder, wish->makedirs, &above, err) < 0 ||
        walk_stage(run, path_dirname(run->arena, wish->folder), ret, err) < 0)
        return -1;
    if (!site_is_guarded(ret)) {
        site_done(ret);
        if (walk_stage(run, run->host->data_dir, ret, err) < 0)
            return -1;
    }
    return change_make_draft(run, ret, err);
}

/* Flush the stage to disk with one call for the whole file system, since an archive may hold a
 * million files. It also reports delayed write errors. */
static int sync_stage(struct site *stage, struct err *err)
{
    AUTO_FD int fd = -1;
    int rc;

    if (site_open(stage, &fd, err) < 0)
        return -1;
    pool_block_begin();
    rc = syncfs(fd);
    pool_block_end();
    return rc < 0 ? err_sys(err, errno, "sync '%s'", stage->path) : 0;
}

static int move_stage(struct state_run *run, const struct unpacked_wish *wish, struct site *stage,
                      struct site *target, struct err *err)
{
    const struct fs_attr attr = { 0755, wish->options.uid, wish->options.gid };

    if (state_note(run, "made", value_text(list_name(run, wish)), err) < 0 ||
        site_set(stage, &attr, err) < 0)
        return -1;
    if (sync_stage(stage, err) < 0 || site_rename(stage, target, err) < 0)
        return -1;
    return site_sync(target, err);
}

/* --- into an existing folder ------------------------------------------------------------- */

struct merge {
    struct state_run *run;
    const char *stage, *folder;
    bool keeps_others;
    struct map closed; /* folders that get their mode from the archive once filled */
};

/* Where the archive has a folder, a link is followed inside the target only: an earlier archive
 * may have planted it to make the next one write elsewhere. */
static int refuse_link_out_of_target(const struct merge *m, const char *path, struct err *err)
{
    AUTO_FREE char *to = realpath(path, NULL), *root = realpath(m->folder, NULL);

    if (!to || !root || path_is_below(to, root))
        return 0;
    return err_set(err, ERR_INVALID,
                   "'%s' is a link to '%s', outside '%s': refusing to extract through it; remove "
                   "the link, or extract there",
                   path, to, m->folder);
}

static int make_way(const struct merge *m, const char *path, struct err *err)
{
    return m->keeps_others ? refuse_other_kind(path, err) : change_remove(m->run, path, err);
}

static int merge_folder(struct merge *m, const char *path, const struct fs_info *from,
                        struct err *err)
{
    const bool closed = geteuid() != 0 && (from->mode & S_IRWXU) != S_IRWXU;
    const struct change_attr attr = { closed ? from->mode | S_IRWXU : from->mode, from->uid,
                                      from->gid };
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    if (info.kind == FS_LINK &&
        (refuse_link_out_of_target(m, path, err) < 0 || fs_stat(path, &info, err) < 0))
        return -1;
    if (info.kind == FS_FOLDER)
        return 0;
    if (info.kind != FS_NONE && make_way(m, path, err) < 0)
        return -1;
    if (closed)
        map_set(&m->closed, str_from(path), m);
    return change_mkdir(m->run, path, &attr, err);
}

static int close_folder(struct merge *m, const char *path, const struct fs_info *from,
                        struct err *err)
{
    struct change_attr attr = CHANGE_KEEP;

    attr.mode = from->mode;
    return map_has(&m->closed, str_from(path)) ? change_attr(m->run, path, &attr, err) : 0;
}

static int merge_unpacked_file(struct merge *m, const struct tree_entry *entry, const char *path,
                               struct err *err)
{
    const struct change_attr attr = { entry->info.mode, entry->info.uid, entry->info.gid };
    const char *target;
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    if ((info.kind == FS_FOLDER || (info.kind == FS_LINK && entry->info.kind != FS_LINK)) &&
        make_way(m, path, err) < 0)
        return -1;
    if (entry->info.kind != FS_LINK)
        return change_copy(m->run, entry->path, path, &attr, err);
    if (fs_readlink(m->run->arena, entry->path, &target, err) < 0)
        return -1;
    return change_symlink(m->run, target, path, err);
}

static int visit_unpacked_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                                struct err *err)
{
    struct merge *m = self;
    const char *path;

    if (entry->depth == 0)
        return 0;
    if (cancel_is_raised(m->run->host->cancel))
        return err_set(err, ERR_CANCELED, "canceled while writing to '%s'", m->folder);
    path = path_join(m->run->arena, m->folder, entry->path + strlen(m->stage) + 1);
    if (step == TREE_LEAVE)
        return close_folder(m, path, &entry->info, err);
    return step == TREE_ENTER ? merge_folder(m, path, &entry->info, err)
                              : merge_unpacked_file(m, entry, path, err);
}

static int keep_none(void *self, const char *relative, bool *ret_kept, struct err *err)
{
    (void)self;
    (void)relative;
    (void)err;
    *ret_kept = false;
    return 0;
}

static int remove_other_members(struct state_run *run, const struct unpacked_wish *wish,
                                struct err *err)
{
    struct leftovers others;

    if (!wish->clean)
        return 0;
    if (leftovers_find(run, path_normalise(run->arena, wish->folder), keep_none, NULL, &others,
                       err) < 0)
        return -1;
    VEC_EACH (&others.list, path)
        if (change_remove(run, *path, err) < 0)
            return -1;
    return 0;
}

/* Removes the top entries of the archive with their contents. */
static int remove_tops(struct state_run *run, const struct unpacked_wish *wish,
                       const struct unpack_entries *entries, struct err *err)
{
    struct map tops = MAP_INIT_IN(run->arena);

    if (!wish->cleans_tops)
        return 0;
    VEC_EACH (&entries->list, entry) {
        const struct str top = str_slice(str_from(entry->path), 0, strcspn(entry->path, "/"));

        if (map_has(&tops, top))
            continue;
        map_set(&tops, top, &tops);
        if (change_remove(run, path_join(run->arena, wish->folder, arena_str(run->arena, top).p),
                          err) < 0)
            return -1;
    }
    return 0;
}

static int merge_stage(struct state_run *run, const struct unpacked_wish *wish,
                       const struct site *stage, const struct unpack_entries *entries,
                       struct err *err)
{
    struct merge merge = { run, stage->path, wish->folder, wish->keeps_others,
                           MAP_INIT_IN(run->arena) };

    if (remove_other_members(run, wish, err) < 0 || remove_tops(run, wish, entries, err) < 0)
        return -1;
    return tree_walk_at(stage, visit_unpacked_entry, &merge, err);
}

/* --- extracting ---------------------------------------------------------------------- */

/* With one rename where possible, else file by file. */
static int publish_stage(struct state_run *run, const struct unpacked_wish *wish,
                         struct site *stage, const struct unpack_entries *entries, struct err *err)
{
    const struct change_attr attr = { 0755, wish->options.uid, wish->options.gid };
    AUTO_SITE struct site target = SITE_INIT;

    if (site_walk(&target, wish->folder, SITE_FOLLOW, err) < 0)
        return -1;
    if (target.info.kind == FS_NONE && target.above.device == stage->info.device)
        return move_stage(run, wish, stage, &target, err);
    if (target.info.kind == FS_NONE && change_mkdir(run, wish->folder, &attr, err) < 0)
        return -1;
    if (target.info.kind != FS_FOLDER && target.info.kind != FS_NONE)
        return err_set(err, ERR_INVALID, "'%s' is a %s, not a folder", wish->folder,
                       fs_kind_name(target.info.kind));
    return merge_stage(run, wish, stage, entries, err);
}

static int extract_archive(struct state_run *run, const struct unpacked_wish *wish,
                           struct site *stage, struct unpack_entries *ret, struct err *err)
{
    struct unpack_options options = wish->options;

    options.folder = stage->path;
    options.cancel = run->host->cancel;
    if (unpack(run->arena, &wish->archive, &options, ret, err) < 0 ||
        check_top(run, wish, ret, err) < 0 || check_kinds(run, wish, ret, err) < 0 ||
        write_list(run, wish, UNFINISHED, ret, err) < 0 ||
        publish_stage(run, wish, stage, ret, err) < 0)
        return -1;
    return write_list(run, wish, wish->mark, ret, err);
}

int unpacked_apply(struct state_run *run, const struct unpacked_wish *wish, struct err *err)
{
    AUTO_SITE struct site stage = SITE_INIT;
    struct unpack_entries entries = { 0 };
    int result;

    if (make_stage(run, wish, &stage, err) < 0)
        return -1;
    result = extract_archive(run, wish, &stage, &entries, err);
    draft_drop_folder(&stage);
    if (result < 0)
        return -1;
    buf_clear(&run->text);
    state_say(run, "extracted %s into %s (%s)", wish->source, wish->folder, entries.format);
    state_detail(run, "format", "%s", entries.format);
    state_detail(run, "entries", "%zu", entries.list.n);
    return 0;
}

/* --- revert -------------------------------------------------------------------------- */

struct removal {
    const char *folder;
    struct map ours; /* the extracted paths and their parent folders */
    bool left;       /* the folder also contains something else */
};

/* All else is gone, and known to be, before the list goes: an interrupted revert finds it again. */
static int sync_folder(struct site *folder, struct err *err)
{
    AUTO_FD int fd = -1;

    if (site_open(folder, &fd, err) < 0)
        return -1;
    return fd < 0 || fsync(fd) < 0
               ? err_sys(err, fd < 0 ? ENOENT : errno, "sync '%s'", folder->path)
               : 0;
}

/* Archives may contain read-only folders, and anyone but root must make them writable before their
 * contents can be removed. The removal reports what was not possible. */
static void make_folder_writable(const struct tree_entry *entry, mode_t more)
{
    const struct fs_attr attr = { entry->info.mode | more, FS_KEEP, FS_KEEP };
    AUTO_SITE struct site site = SITE_INIT;
    struct err ignored;

    if (geteuid() == 0 || (entry->info.mode & S_IRWXU) == S_IRWXU)
        return;
    tree_site(entry, &site);
    (void)site_set(&site, &attr, &ignored);
}

static int remove_ours(struct removal *removal, enum tree_step step, const struct tree_entry *entry,
                       struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    tree_site(entry, &site);
    if (step == TREE_LEAVE && entry->depth == 0 && sync_folder(&site, err) < 0)
        return -1;
    if ((step == TREE_LEAVE ? site_rmdir : site_unlink)(&site, err) == 0)
        return 0;
    if (err->errnum != ENOTEMPTY && err->errnum != EEXIST && err->errnum != EBUSY)
        return -1;
    if (step == TREE_LEAVE)
        make_folder_writable(entry, 0); /* it stays: restore its mode */
    removal->left |= entry->depth == 0;
    return 0;
}

/* Follows no links: what was extracted may have been replaced by one since. */
static int remove_unpacked_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                                 struct err *err)
{
    struct removal *removal = self;
    const char *below = entry->depth == 0 ? "" : entry->path + strlen(removal->folder) + 1;

    if (entry->depth > 0 && !map_has(&removal->ours, str_from(below)))
        return 0;
    if (step != TREE_ENTER)
        return remove_ours(removal, step, entry, err);
    make_folder_writable(entry, S_IRWXU);
    return 0;
}

static void add_ours(struct removal *removal, struct str path)
{
    for (size_t n = path.n; n > 0; n--)
        if (n == path.n || path.p[n] == '/')
            map_set(&removal->ours, str_slice(path, 0, n), removal);
}

/* A revert that was interrupted after removing the list leaves an empty folder at most. */
static int remove_unpacked_folder(struct state_run *run, struct site *folder, struct err *err)
{
    if (folder->info.kind == FS_FOLDER && site_rmdir(folder, err) == 0) {
        state_say(run, "removed %s (revert)", folder->path);
        return 0;
    }
    if (folder->info.kind == FS_FOLDER && err->errnum != ENOTEMPTY && err->errnum != EEXIST)
        return -1;
    if (folder->info.kind != FS_NONE)
        state_say(run, "kept %s: the list of extracted files is missing", folder->path);
    state_unchanged(run);
    return 0;
}

/* Remove only what the archive brought, according to the list. */
int unpacked_revert(struct state_run *run, const char *folder, struct err *err)
{
    const struct value *made = state_noted(run, "made");
    struct removal removal = { .folder = path_normalise(run->arena, folder),
                               .ours = MAP_INIT_IN(run->arena) };
    AUTO_SITE struct site site = SITE_INIT;
    struct line line;
    struct str text;

    if (!made || made->kind != VALUE_STR) {
        state_unchanged(run); /* files in an existing folder have before-images */
        return 0;
    }
    if (run->test) {
        state_say(run, "would remove what was extracted into %s", folder);
        return 0;
    }
    if (fs_read(run->arena, list_path(run, made->s.p), LIST_FILE_MAX, &text, err) < 0 ||
        site_walk(&site, removal.folder, SITE_RETURN, err) < 0)
        return -1;
    if (!text.p)
        return remove_unpacked_folder(run, &site, err);
    (void)str_cut(&text, '\n');
    while (text.p && lines_next(&text, &line))
        add_ours(&removal, line.text);
    if (site.info.kind == FS_FOLDER &&
        (tree_walk_at(&site, remove_unpacked_entry, &removal, err) < 0 ||
         site_sync(&site, err) < 0))
        return -1;
    state_say(run,
              removal.left ? "removed what was extracted into %s; kept the rest"
                           : "removed %s (revert)",
              folder);
    return 0;
}
