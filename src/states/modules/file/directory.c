/* file.directory - manages a folder: mode, owner and contents. */
#include <string.h>

#include "core/base/err.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/leftovers.h"
#include "states/modules/file/parent.h"
#include "states/modules/file/pathlist.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"

#define ARGS struct directory_args
/* Messages about what is inside; the rest is counted. */
#define SENTENCES_MAX 50

struct directory_args {
    const char *name;
    const struct value *mode, *dir_mode, *file_mode;
    const char *user, *group, *backupname;
    bool makedirs, force, clean, children_only, follow_symlinks, allow_symlink, has_depth;
    struct param_strs recurse, exclude;
    int64_t max_depth;
};

/* clang-format off */
static const struct param directory_params[] = {
    PARAM("name", PATH, ARGS, name, "the folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("mode", ANY, ARGS, mode, "permissions of the folder; new folders: 0755"),
    PARAM("dir_mode", ANY, ARGS, dir_mode, "permissions of the folder, and of folders below it with recurse: [mode]"),
    PARAM("file_mode", ANY, ARGS, file_mode, "permissions of files below it with recurse: [mode]"),
    PARAM("user", STR, ARGS, user, "owner: a name or number", .aliases = "owner"),
    PARAM("group", STR, ARGS, group, "group: a name or number"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders, with the owner and the mode of the folder"),
    PARAM("recurse", STRS, ARGS, recurse, "attributes to apply to everything below it: user, group, mode; skip with ignore_files, ignore_dirs"),
    PARAM("max_depth", INT, ARGS, max_depth, "maximum depth of recurse; 0: this folder only", PARAM_GIVEN(ARGS, has_depth), PARAM_RANGE(0, TREE_DEPTH_MAX)),
    PARAM("children_only", BOOL, ARGS, children_only, "apply recurse to the contents only, not to the folder itself"),
    PARAM("follow_symlinks", BOOL, ARGS, follow_symlinks, "recurse follows links, otherwise it skips them"),
    PARAM("clean", BOOL, ARGS, clean, "remove everything in it, except what exclude_pat matches or another state of the run manages"),
    PARAM("exclude_pat", STRS, ARGS, exclude, "paths that clean keeps: globs, or E@ and a regex, matched against the path below the folder", .aliases = "exclude"),
    PARAM("force", BOOL, ARGS, force, "replace a file or link of this name"),
    PARAM("backupname", STR, ARGS, backupname, "instead, move a file or link of this name here: a path, or a name in the same folder"),
    PARAM("allow_symlink", BOOL, ARGS, allow_symlink, "accept a link to a folder", .default_text = "true"),
    ATTRS_WINDOWS,
    { 0 },
};
/* clang-format on */

enum recurse_bit {
    RECURSE_USER = 1,
    RECURSE_GROUP = 2,
    RECURSE_MODE = 4,
    NO_FILES = 8,
    NO_DIRS = 16
};

static const struct {
    const char *word;
    unsigned bit;
} recurse_words[] = {
    { "user", RECURSE_USER },     { "group", RECURSE_GROUP }, { "mode", RECURSE_MODE },
    { "ignore_files", NO_FILES }, { "ignore_dirs", NO_DIRS },
};

static int read_recurse(struct param_strs words, unsigned *ret_bits, const char **ret_bad)
{
    *ret_bits = 0;
    for (size_t i = 0; i < words.n; i++) {
        unsigned bit = 0;

        for (size_t k = 0; k < ARRAY_LEN(recurse_words); k++)
            if (strcmp(words.p[i], recurse_words[k].word) == 0)
                bit = recurse_words[k].bit;
        *ret_bad = words.p[i];
        if (bit == 0)
            return -1;
        *ret_bits |= bit;
    }
    return 0;
}

static int directory_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct directory_args *want = args;
    const char *bad;
    unsigned bits;
    int result = 0;

    if (attrs_validate(want->mode, false, diags) < 0 ||
        attrs_validate(want->dir_mode, false, diags) < 0 ||
        attrs_validate(want->file_mode, false, diags) < 0 ||
        pathlist_validate(want->exclude, where, diags) < 0)
        result = -1;
    if (read_recurse(want->recurse, &bits, &bad) < 0)
        result = value_diag(
            diags, value_point(where, "recurse"),
            "'recurse' supports user, group, mode, ignore_files and ignore_dirs, not '%s'", bad);
    if (want->mode && want->dir_mode && !value_equal(want->mode, want->dir_mode) &&
        !(want->recurse.n > 0))
        result = value_diag(diags, value_point(where, "mode"), "'mode' and 'dir_mode' differ");
    return result;
}

/* --- what is below --------------------------------------------------------------------- */

struct fault {
    const char *path;
    struct fs_info info;
};

/* A walk over what is below, for check and for apply. */
struct survey {
    struct state_run *run;
    const struct directory_args *want;
    const char *name; /* without a trailing slash */
    struct attrs self, folders, files;
    unsigned recurse;
    struct pathlist exclude;
    VEC(struct fault) faults;
    struct leftovers extra;
    const char *doomed; /* a folder to remove as a whole: skip everything below it */
    bool applying;      /* set differences as they are found */
};

static const struct attrs *choose_attrs(const struct survey *survey, const struct fs_info *info)
{
    if (info->kind == FS_FOLDER)
        return survey->recurse & NO_DIRS ? NULL : &survey->folders;
    return survey->recurse & NO_FILES ? NULL : &survey->files;
}

static int is_entry_kept(void *self, const char *relative, bool *ret_kept, struct err *err)
{
    const struct survey *survey = self;

    return pathlist_keeps(&survey->exclude, relative, ret_kept, err);
}

/* Find what gets attributes: the path of the walk, or the target of a link there. `ret` is
 * empty for paths that are skipped. */
static int find_managed_directory(const struct survey *survey, const struct tree_entry *entry,
                                  struct site *ret, struct err *err)
{
    if (survey->want->has_depth && entry->depth > (size_t)survey->want->max_depth)
        return 0;
    if (entry->info.kind == FS_LINK && !survey->want->follow_symlinks)
        return 0;
    if (entry->info.kind == FS_LINK)
        return site_walk(ret, entry->path, SITE_FOLLOW, err);
    tree_site(entry, ret);
    return 0;
}

static int judge_attrs(struct survey *survey, const struct tree_entry *entry, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;
    const struct attrs *attrs;
    struct fault fault;
    AUTO_FD int fd = -1;

    if (find_managed_directory(survey, entry, &site, err) < 0)
        return -1;
    attrs = site.info.kind == FS_NONE ? NULL : choose_attrs(survey, &site.info);
    if (!attrs || !attrs_differ(attrs, &site.info))
        return 0;
    fault = (struct fault){ arena_strdup(survey->run->arena, entry->path), site.info };
    VEC_PUSH_IN(survey->run->arena, &survey->faults, fault);
    return survey->applying ? attrs_apply(survey->run, &site, attrs, err)
                            : site_hold(&site, &fd, err); /* fail before anything is changed */
}

/* A folder is reported before its contents, and set after them: its new mode might deny access. */
static int visit_directory_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                                 struct err *err)
{
    struct survey *survey = self;

    if (entry->depth == 0)
        return 0;
    if (survey->doomed &&
        (path_is_inside(entry->path, survey->doomed) || strcmp(entry->path, survey->doomed) == 0))
        return 0;
    if (leftovers_has(&survey->extra, entry->path)) {
        survey->doomed = arena_strdup(survey->run->arena, entry->path);
        return 0;
    }
    if (step == (survey->applying ? TREE_ENTER : TREE_LEAVE))
        return 0;
    return judge_attrs(survey, entry, err);
}

/* --- the folder itself ------------------------------------------------------------------ */

static int init_directory_survey(struct survey *survey, struct state_run *run,
                                 const struct directory_args *want, struct err *err)
{
    /* If both are given, Salt uses dir_mode. */
    const struct value *mode =
        want->mode && !(run->salt && want->dir_mode) ? want->mode : want->dir_mode;
    const struct value *below = want->dir_mode ? want->dir_mode : want->mode;
    const char *bad;

    *survey = (struct survey){ .run = run, .want = want };
    survey->name = path_normalise(run->arena, want->name);
    if (read_recurse(want->recurse, &survey->recurse, &bad) < 0)
        return err_set(err, ERR_INVALID, "recurse: '%s'", bad);
    if (pathlist_init(&survey->exclude, run->arena, want->exclude, err) < 0)
        return -1;

    const bool users = survey->recurse & RECURSE_USER, groups = survey->recurse & RECURSE_GROUP;
    const bool modes = survey->recurse & RECURSE_MODE;
    if (attrs_read(run, mode, want->user, want->group, &survey->self, err) < 0 ||
        attrs_read(run, modes ? below : NULL, users ? want->user : NULL,
                   groups ? want->group : NULL, &survey->folders, err) < 0)
        return -1;
    return attrs_read(run, modes ? want->file_mode : NULL, users ? want->user : NULL,
                      groups ? want->group : NULL, &survey->files, err);
}

static int walk_below(struct survey *survey, struct err *err)
{
    const unsigned link = survey->want->allow_symlink ? SITE_FOLLOW : 0;
    AUTO_SITE struct site site = SITE_INIT;

    if (survey->want->clean &&
        leftovers_find(survey->run, survey->name, is_entry_kept, survey, &survey->extra, err) < 0)
        return -1;
    if (!(survey->recurse & (RECURSE_USER | RECURSE_GROUP | RECURSE_MODE)))
        return 0;
    if (site_walk(&site, survey->name, link, err) < 0)
        return -1;
    return tree_walk_at(&site, visit_directory_entry, survey, err);
}

static int check_below(struct survey *survey, struct err *err)
{
    size_t count;

    if (walk_below(survey, err) < 0)
        return -1;
    count = survey->extra.list.n + survey->faults.n;
    for (size_t i = 0; i < survey->extra.list.n && i < SENTENCES_MAX; i++) {
        state_differs(survey->run, "%s should not be in %s", survey->extra.list.p[i],
                      survey->want->name);
        state_made(survey->run, "removed %s", survey->extra.list.p[i]);
    }
    for (size_t i = 0; i < survey->faults.n && i < SENTENCES_MAX; i++) {
        const struct fault *fault = &survey->faults.p[i];

        attrs_check(survey->run, fault->path, choose_attrs(survey, &fault->info), &fault->info);
    }
    if (count > SENTENCES_MAX)
        state_differs(survey->run, "%zu paths in all", count);
    return 0;
}

/* A trailing slash would follow a link. */
static int find_clean_directory(const struct survey *survey, struct site *ret, struct err *err)
{
    return site_walk(ret, survey->name, survey->want->allow_symlink ? SITE_FOLLOW : 0, err);
}

static int directory_check(struct state_run *run, const void *args, struct err *err)
{
    const struct directory_args *want = args;
    AUTO_SITE struct site site = SITE_INIT;
    struct survey survey;
    struct fs_info info;

    if (init_directory_survey(&survey, run, want, err) < 0 ||
        find_clean_directory(&survey, &site, err) < 0)
        return -1;
    if (site.info.kind == FS_FOLDER) {
        if (!want->children_only)
            attrs_check(run, want->name, &survey.self, &site.info);
        return check_below(&survey, err);
    }
    if (fs_lstat(want->name, &info, err) < 0 ||
        parent_check(run, want->name, want->makedirs, err) < 0)
        return -1;
    if (info.kind == FS_NONE) {
        state_differs(run, "directory %s does not exist", want->name);
        state_made(run, "created directory %s", want->name);
    } else if (want->force || want->backupname) {
        state_differs(run, "%s exists but is not a directory", want->name);
        state_made(run, "replaced %s by a directory", want->name);
    } else
        state_differs(
            run,
            "%s exists but is not a directory — it must be removed by an earlier state in "
            "the run, or set force: true (apply fails otherwise)",
            want->name);
    return 0;
}

/* Something else is at the path: move or remove it, or fail. */
static int clear_way_for_directory(struct survey *survey, struct err *err)
{
    const struct directory_args *want = survey->want;
    struct arena *arena = survey->run->arena;
    struct fs_info info;
    const char *aside;

    if (!want->backupname && !want->force)
        return err_set(err, ERR_INVALID,
                       "%s exists but is not a directory (set force: true to replace it)",
                       want->name);
    if (!want->backupname)
        return change_remove(survey->run, survey->name, err);
    aside = path_join(arena, path_dirname(arena, survey->name), want->backupname);
    if (fs_lstat(aside, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE && !want->force)
        return err_set(err, ERR_INVALID,
                       "%s is in the way of backupname (set force: true to replace it)", aside);
    if (info.kind != FS_NONE && change_remove(survey->run, aside, err) < 0)
        return -1;
    return change_rename(survey->run, survey->name, aside, err);
}

static int make_missing_directory(struct survey *survey, struct err *err)
{
    const struct directory_args *want = survey->want;
    const struct change_attr above = parent_attr(&survey->self.want);
    struct fs_info info;

    if (fs_lstat(survey->name, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE && clear_way_for_directory(survey, err) < 0)
        return -1;
    if (parent_make(survey->run, want->name, want->makedirs, &above, err) < 0)
        return -1;
    return change_mkdir(survey->run, survey->name, &survey->self.want, err);
}

static int apply_below(struct survey *survey, struct err *err)
{
    survey->applying = true;
    if (walk_below(survey, err) < 0)
        return -1;
    VEC_EACH (&survey->extra.list, path)
        if (change_remove(survey->run, *path, err) < 0)
            return -1;
    if (survey->extra.list.n > 0)
        state_detail(survey->run, "removed", "%zu", survey->extra.list.n);
    if (survey->faults.n > 0)
        state_detail(survey->run, "set", "%zu", survey->faults.n);
    return 0;
}

static int directory_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct directory_args *want = args;
    AUTO_SITE struct site site = SITE_INIT;
    struct survey survey;
    struct fs_info info;
    bool made, differs = false;

    if (init_directory_survey(&survey, run, want, err) < 0 ||
        find_clean_directory(&survey, &site, err) < 0)
        return -1;
    made = site.info.kind != FS_FOLDER;
    if (made && make_missing_directory(&survey, err) < 0)
        return -1;
    if (!made && !want->children_only) {
        differs = attrs_differ(&survey.self, &site.info);
        if (attrs_apply(run, &site, &survey.self, err) < 0)
            return -1;
    }
    if (apply_below(&survey, err) < 0 || fs_stat(want->name, &info, err) < 0)
        return -1;
    if (!made && !differs && survey.faults.n + survey.extra.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "ensured directory %s (mode %04o)", want->name, (unsigned)info.mode);
    state_detail(run, "path", "%s", want->name);
    state_detail(run, "mode", "%04o", (unsigned)info.mode);
    return 0;
}

const struct module module_file_directory = {
    .name = "file.directory",
    .summary = "manage a folder: mode, owner and contents",
    .details = "`clean` removes everything below the folder, except what `exclude_pat` matches and "
               "what other states of the run manage there. A revert restores all of it.",
    .example = "name: ROOT/conf.d\nmode: \"0750\"\n",
    .params = directory_params,
    .args_size = sizeof(struct directory_args),
    .flags = MODULE_LOCAL,
    .validate = directory_validate,
    .check = directory_check,
    .apply = directory_apply,
};
