#include "commands/cli/fleet/backup/restore_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/account.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"

/* A path of the archive, and what is there now. */
static const char path_is_same[] = "same", path_is_other[] = "other";

void restore_files_begin(struct restore_files *files, struct arena *arena)
{
    *files = (struct restore_files){ .arena = arena, .states = MAP_INIT_IN(arena), .fd = -1 };
}

static void add_conflict(struct restore_files *files, const char *path, const char *why)
{
    const struct restore_conflict conflict = { arena_strdup(files->arena, path), why };

    VEC_PUSH_IN(files->arena, &files->conflicts, conflict);
}

static bool is_same_path(const struct restore_files *files, const char *path)
{
    return map_find(&files->states, str_from(path)) == path_is_same;
}

static void note_path(struct restore_files *files, const char *path, bool is_same)
{
    (void)map_set(&files->states, str_from(arena_strdup(files->arena, path)),
                  (void *)(uintptr_t)(is_same ? path_is_same : path_is_other));
}

/* --- comparing ------------------------------------------------------------------------ */

static const enum fs_kind kinds[ARCHIVE_PART_KINDS] = {
    [ARCHIVE_FILE] = FS_FILE,
    [ARCHIVE_FOLDER] = FS_FOLDER,
    [ARCHIVE_LINK] = FS_LINK,
};

static int check_path(const struct archive_part *part, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (part->name[0] != '/' || strcmp(path_normalise(&arena, part->name), part->name) != 0)
        return err_set(err, ERR_UNSAFE, "'%s' in the backup is not an absolute path", part->name);
    return 0;
}

static bool is_link_same(struct arena *arena, const struct archive_part *part)
{
    const char *target = NULL;
    struct err ignored; /* then it is another one */

    return fs_readlink(arena, part->name, &target, &ignored) == 0 && target &&
           strcmp(target, part->target) == 0;
}

static void note_root(struct restore_files *files, const char *path)
{
    VEC_EACH (&files->roots, root)
        if (path_is_inside(path, *root))
            return;
    VEC_PUSH_IN(files->arena, &files->roots, arena_strdup(files->arena, path));
}

static int compare_part(struct restore_files *files, const struct archive_part *part,
                        struct err *err)
{
    struct fs_info info;

    files->is_same = false;
    if (check_path(part, err) < 0 || fs_lstat(part->name, &info, err) < 0)
        return -1;
    if (part->kind == ARCHIVE_FOLDER)
        note_root(files, part->name);
    if (info.kind == FS_NONE) {
        note_path(files, part->name, false);
        return 0;
    }
    if (info.kind != kinds[part->kind]) {
        add_conflict(files, part->name, fs_kind_name(info.kind));
        note_path(files, part->name, false);
        return 0;
    }
    files->is_same = part->kind != ARCHIVE_LINK || is_link_same(files->arena, part);
    if (part->kind == ARCHIVE_FILE)
        return fs_open(part->name, &files->fd, &info, err);
    return 0;
}

static int compare_data(struct restore_files *files, struct str data, struct err *err)
{
    AUTO_FREE char *bytes = NULL;
    size_t n;

    if (!files->is_same || files->fd < 0)
        return 0;
    bytes = mem_alloc(data.n);
    if (fd_read(files->fd, bytes, data.n, &n, err) < 0)
        return -1;
    files->is_same = n == data.n && memcmp(bytes, data.p, n) == 0;
    return 0;
}

static int compare_end(struct restore_files *files, const struct archive_part *part,
                       struct err *err)
{
    char more;
    size_t n = 0;

    if (files->fd >= 0 && files->is_same && fd_read(files->fd, &more, 1, &n, err) < 0)
        return -1;
    fd_close(&files->fd);
    if (map_has(&files->states, str_from(part->name)))
        return 0;
    if (!files->is_same || n > 0)
        add_conflict(files, part->name, "has another content");
    note_path(files, part->name, files->is_same && n == 0);
    return 0;
}

int restore_files_compare(struct restore_files *files, const struct archive_item *item,
                          struct err *err)
{
    if (item->step == ARCHIVE_PART)
        return compare_part(files, item->part, err);
    if (item->step == ARCHIVE_DATA)
        return compare_data(files, item->data, err);
    return compare_end(files, item->part, err);
}

static int on_present(void *self, enum tree_step step, const struct tree_entry *entry,
                      struct err *err)
{
    struct restore_files *files = self;

    (void)err;
    if (step != TREE_LEAVE && !fs_is_temp_name(entry->name) &&
        !map_has(&files->states, str_from(entry->path)))
        add_conflict(files, entry->path, "is not in the backup");
    return 0;
}

int restore_files_look(struct restore_files *files, struct err *err)
{
    struct fs_info info;

    VEC_EACH (&files->roots, root) {
        if (fs_lstat(*root, &info, err) < 0)
            return -1;
        if (info.kind == FS_FOLDER && tree_walk(*root, on_present, files, err) < 0)
            return -1;
    }
    return 0;
}

/* --- writing -------------------------------------------------------------------------- */

/* By name, where this machine has it: numbers may differ. Only root may give files away. */
static int find_owner(const struct archive_part *part, struct fs_attr *ret, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct account *user = NULL;
    const struct account_group *group = NULL;

    *ret = (struct fs_attr){ part->mode, FS_KEEP, FS_KEEP };
    if (geteuid() != 0)
        return 0;
    if ((part->user[0] && account_find(&arena, part->user, &user, err) < 0) ||
        (part->group[0] && account_find_group(&arena, part->group, &group, err) < 0))
        return -1;
    ret->uid = user ? user->uid : part->uid;
    ret->gid = group ? group->gid : part->gid;
    return 0;
}

static int make_parent(const char *path, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    return fs_mkdirs(path_dirname(&arena, path), 0755, err);
}

static int write_folder(const struct archive_part *part, const struct fs_attr *attr,
                        struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (fs_mkdirs(part->name, 0700, err) < 0 || site_walk(&site, part->name, SITE_OWN, err) < 0)
        return -1;
    return site_set(&site, attr, err);
}

static int write_link(const struct archive_part *part, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (make_parent(part->name, err) < 0 || site_walk(&site, part->name, SITE_OWN, err) < 0)
        return -1;
    return site_symlink(&site, part->target, err);
}

static int begin_file(struct restore_files *files, const struct archive_part *part,
                      const struct fs_attr *attr, struct err *err)
{
    const struct fs_replace_options options = { .attr = *attr, .sync = FS_SYNC };

    if (is_same_path(files, part->name)) {
        files->kept++;
        return 0;
    }
    if (make_parent(part->name, err) < 0 ||
        draft_open(&files->draft, part->name, &options, err) < 0)
        return -1;
    files->has_draft = true;
    files->written++;
    return 0;
}

static int write_part(struct restore_files *files, const struct archive_part *part, struct err *err)
{
    struct fs_attr attr;

    if (find_owner(part, &attr, err) < 0)
        return -1;
    if (part->kind == ARCHIVE_FOLDER)
        return write_folder(part, &attr, err);
    if (part->kind == ARCHIVE_LINK)
        return is_same_path(files, part->name) ? 0 : write_link(part, err);
    return begin_file(files, part, &attr, err);
}

static void drop_draft(struct restore_files *files)
{
    if (files->has_draft)
        draft_done(&files->draft);
    files->has_draft = false;
}

int restore_files_write(struct restore_files *files, const struct archive_item *item,
                        struct err *err)
{
    int result = 0;

    if (item->step == ARCHIVE_PART)
        return write_part(files, item->part, err);
    if (!files->has_draft)
        return 0;
    if (item->step == ARCHIVE_DATA)
        return draft_add(&files->draft, item->data, err);
    result = draft_commit(&files->draft, err);
    drop_draft(files);
    return result;
}

void restore_files_done(struct restore_files *files)
{
    fd_close(&files->fd);
    drop_draft(files);
}
