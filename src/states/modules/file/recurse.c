/* file.recurse - copies a folder with all its files. */
#include <string.h>

#include "core/base/err.h"
#include "core/base/map.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/content.h"
#include "states/modules/file/leftovers.h"
#include "states/modules/file/parent.h"
#include "states/modules/file/pathlist.h"
#include "states/modules/file/desired_file.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"

#define ARGS struct recurse_args
/* Paths that are reported one by one. */
#define SENTENCES_MAX 50

struct recurse_args {
    const char *name, *user, *group;
    struct param_strs sources;
    struct content_args content;
    const struct value *file_mode, *dir_mode;
    const struct value *backup;
    struct param_strs include, exclude;
    bool clean, makedirs, include_empty, keep_symlinks, show_changes, replace, force, has_depth;
    int64_t max_depth;
};

/* clang-format off */
static const struct param recurse_params[] = {
    PARAM("name", PATH, ARGS, name, "the folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("source", STRS, ARGS, sources, "a folder of the state tree or of this machine; or a list: the first that is there", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("file_mode", ANY, ARGS, file_mode, "permissions of files, or 'keep' for those of the source (default: 0644)", .default_text = "0644"),
    PARAM("dir_mode", ANY, ARGS, dir_mode, "permissions of the folders; new ones: 0755"),
    PARAM("user", STR, ARGS, user, "owner of files and folders: a name or number", .aliases = "owner"),
    PARAM("group", STR, ARGS, group, "group of files and folders: a name or number"),
    PARAM("template", ANY, ARGS, content.template, "render every file: true or 'jinja'"),
    PARAM("context", MAP, ARGS, content.context, "variables for the templates"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PARAM("include_pat", STRS, ARGS, include, "only these files: globs, or E@ and a regex, matched against the path below the source"),
    PARAM("exclude_pat", STRS, ARGS, exclude, "all files except these; clean keeps them too"),
    PARAM("clean", BOOL, ARGS, clean, "remove everything that is not in the source"),
    PARAM("include_empty", BOOL, ARGS, include_empty, "also create empty folders of the source"),
    PARAM("keep_symlinks", BOOL, ARGS, keep_symlinks, "copy links as links, not as files"),
    PARAM("maxdepth", INT, ARGS, max_depth, "maximum depth; 0: only the files of the folder itself", PARAM_GIVEN(ARGS, has_depth), PARAM_RANGE(0, TREE_DEPTH_MAX), .aliases = "max_depth"),
    PARAM("replace", BOOL, ARGS, replace, "replace the content of existing files", .default_text = "true"),
    PARAM("force", BOOL, ARGS, force, "replace a file or link at the path of the folder"),
    PARAM("backup", ANY, ARGS, backup, BACKUP_DOC),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders, with the owner and dir_mode", .default_text = "true"),
    PARAM("show_changes", BOOL, ARGS, show_changes, "show what changes in the files", .default_text = "true"),
    PARAM_IDLE("keep_source", "sources are not kept in a cache"),
    PARAM_IDLE("sym_mode", "links have no permissions"),
    ATTRS_WINDOWS,
    PARAM_IDLE("force_symlinks", "a link of the source replaces an existing path"),
    { 0 },
};
/* clang-format on */

static int recurse_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct recurse_args *want = args;
    int result = content_validate(&want->content, where, diags);

    if (attrs_validate(want->file_mode, true, diags) < 0 ||
        attrs_validate(want->dir_mode, false, diags) < 0 ||
        backup_validate(want->backup, diags) < 0 ||
        pathlist_validate(want->include, where, diags) < 0 ||
        pathlist_validate(want->exclude, where, diags) < 0)
        result = -1;
    return result;
}

/* --- what the source holds ------------------------------------------------------------------ */

enum item_kind { ITEM_FOLDER, ITEM_FILE, ITEM_LINK };

struct item {
    enum item_kind kind;
    const char *relative, *path; /* path below the source, and destination */
    const char *target;          /* link target */
};

struct survey {
    struct state_run *run;
    const struct recurse_args *want;
    const char *source, *dest;
    struct attrs files, folders;
    struct pathlist include, exclude;
    VEC(struct item) items; /* folders before what is in them */
    struct map known;       /* by relative path */
    struct leftovers extra;
};

static void add_tree_item(struct survey *survey, enum item_kind kind, const char *relative,
                          const char *target)
{
    struct arena *arena = survey->run->arena;
    const struct item item = { kind, relative, path_join(arena, survey->dest, relative), target };

    if (map_has(&survey->known, str_from(relative)))
        return;
    map_set(&survey->known, str_from(relative), survey);
    VEC_PUSH_IN(arena, &survey->items, item);
}

/* The folders above a file, from the top. */
static void add_parents(struct survey *survey, const char *relative)
{
    for (const char *slash = strchr(relative, '/'); slash; slash = strchr(slash + 1, '/'))
        add_tree_item(survey, ITEM_FOLDER,
                      arena_strndup(survey->run->arena, relative, (size_t)(slash - relative)),
                      NULL);
}

static bool is_too_deep(const struct recurse_args *want, const char *relative)
{
    int64_t depth = 0;

    for (const char *slash = strchr(relative, '/'); slash; slash = strchr(slash + 1, '/'))
        depth++;
    return want->has_depth && depth > want->max_depth;
}

static int is_chosen(const struct survey *survey, const char *relative, bool *ret, struct err *err)
{
    bool included = survey->include.count == 0, excluded = false;

    *ret = false;
    if (is_too_deep(survey->want, relative))
        return 0;
    if (!included && pathlist_matches(&survey->include, relative, &included, err) < 0)
        return -1;
    if (pathlist_keeps(&survey->exclude, relative, &excluded, err) < 0)
        return -1;
    *ret = included && !excluded;
    return 0;
}

/* Links and empty folders: only a source on disk has them. */
static int visit_source_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                              struct err *err)
{
    struct survey *survey = self;
    struct arena *arena = survey->run->arena;
    const bool is_link = entry->info.kind == FS_LINK && survey->want->keep_symlinks;
    const bool is_folder = entry->info.kind == FS_FOLDER && survey->want->include_empty;
    const char *relative, *target = NULL;
    bool chosen;

    if (step == TREE_LEAVE || entry->depth == 0 || (!is_link && !is_folder))
        return 0;
    /* The last `depth` parts of the path. */
    relative = entry->path + strlen(entry->path);
    for (size_t slashes = 0; slashes < entry->depth; slashes += *relative == '/')
        relative--;
    relative = arena_strdup(arena, relative + 1);
    if (is_chosen(survey, relative, &chosen, err) < 0)
        return -1;
    if (!chosen)
        return 0;
    if (is_link && fs_readlink(arena, entry->path, &target, err) < 0)
        return -1;
    add_parents(survey, relative);
    add_tree_item(survey, is_link ? ITEM_LINK : ITEM_FOLDER, relative, target);
    return 0;
}

static int list_special(struct survey *survey, struct err *err)
{
    const char *path;

    if (!survey->want->keep_symlinks && !survey->want->include_empty)
        return 0;
    if (state_source_path(survey->run, survey->source, &path, err) < 0)
        return -1;
    return path ? tree_walk(path, visit_source_entry, survey, err) : 0;
}

static int list_tree_files(struct survey *survey, struct err *err)
{
    struct value_list *names;

    if (state_source_list(survey->run, survey->source, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names->count; i++) {
        const char *relative = names->items[i].s.p;
        bool chosen;

        if (is_chosen(survey, relative, &chosen, err) < 0)
            return -1;
        if (!chosen)
            continue;
        add_parents(survey, relative);
        add_tree_item(survey, ITEM_FILE, relative, NULL);
    }
    return 0;
}

/* Uses the first source that exists. */
static int choose_source(struct survey *survey, struct err *err)
{
    const struct param_strs all = survey->want->sources;
    struct value_list *ignored;

    for (size_t i = 0; i < all.n; i++) {
        survey->source = all.p[i];
        if (i + 1 == all.n || state_source_list(survey->run, all.p[i], &ignored, err) == 0)
            return 0;
        if (err->code != ERR_NOT_FOUND)
            return err_wrap(err, "list %s", all.p[i]);
    }
    return 0;
}

static int is_kept_in_tree(void *self, const char *relative, bool *ret_kept, struct err *err)
{
    const struct survey *survey = self;

    *ret_kept = map_has(&survey->known, str_from(relative));
    return *ret_kept ? 0 : pathlist_keeps(&survey->exclude, relative, ret_kept, err);
}

static int init_tree_survey(struct survey *survey, struct state_run *run,
                            const struct recurse_args *want, struct err *err)
{
    *survey = (struct survey){
        .run = run,
        .want = want,
        .dest = path_normalise(run->arena, want->name),
        .known = MAP_INIT_IN(run->arena),
    };
    if (attrs_read(run, want->file_mode, want->user, want->group, &survey->files, err) < 0 ||
        attrs_read(run, want->dir_mode, want->user, want->group, &survey->folders, err) < 0 ||
        pathlist_init(&survey->include, run->arena, want->include, err) < 0 ||
        pathlist_init(&survey->exclude, run->arena, want->exclude, err) < 0)
        return -1;
    if (choose_source(survey, err) < 0)
        return -1;
    if (list_special(survey, err) < 0 || list_tree_files(survey, err) < 0)
        return err_wrap(err, "list %s", survey->source);
    if (!want->clean)
        return 0;
    return leftovers_find(run, survey->dest, is_kept_in_tree, survey, &survey->extra, err);
}

/* --- one item ---------------------------------------------------------------------------- */

/* A file with its content, which lives as long as `arena`: one file at a time is in memory. */
struct sought {
    struct arena arena;
    struct content content;
    struct desired_file wanted;
};

static void free_sought(struct sought *sought)
{
    arena_done(&sought->arena);
}

#define AUTO_SOUGHT __attribute__((cleanup(free_sought)))
#define SOUGHT_INIT                                                                                \
    {                                                                                              \
        .arena = ARENA_INIT                                                                        \
    }

static int find_sought_file(const struct survey *survey, const struct item *item,
                            struct sought *ret, struct err *err)
{
    const struct recurse_args *want = survey->want;
    const char *source = path_join(&ret->arena, survey->source, item->relative);
    const struct value name = value_text(source);
    struct content_args args = want->content;
    struct state_run reader = *survey->run;

    reader.arena = &ret->arena;
    args.source = &name;
    args.path = item->path;
    args.streams = true;
    if (content_get(&reader, &args, &ret->content, err) < 0)
        return -1;
    ret->wanted = (struct desired_file){
        .path = item->path,
        .has_content = true,
        .content = ret->content.text,
        .large = ret->content.large.file ? &ret->content.large : NULL,
        .attrs = survey->files,
        .replace_link = true,
        .keep_content = !want->replace,
        .backup = want->backup,
        .hide = !want->show_changes,
    };
    if (!survey->files.keep_mode)
        return 0;
    return content_source_mode(survey->run, source, &ret->wanted.attrs.want.mode, err);
}

static int is_source_link_other(const struct survey *survey, const struct item *item, bool *ret,
                                struct err *err)
{
    const char *now;

    if (fs_readlink(survey->run->arena, item->path, &now, err) < 0)
        return -1;
    *ret = !now || !item->target || strcmp(now, item->target) != 0;
    return 0;
}

static int is_folder_other(const struct survey *survey, const char *path, bool *ret,
                           struct err *err)
{
    struct fs_info info;

    if (fs_stat(path, &info, err) < 0)
        return -1;
    *ret = info.kind != FS_FOLDER || attrs_differ(&survey->folders, &info);
    return 0;
}

static int is_item_other(const struct survey *survey, const struct item *item, bool *ret,
                         struct err *err)
{
    AUTO_SOUGHT struct sought sought = SOUGHT_INIT;
    struct fs_info info;

    if (item->kind == ITEM_LINK)
        return is_source_link_other(survey, item, ret, err);
    if (item->kind == ITEM_FOLDER)
        return is_folder_other(survey, item->path, ret, err);
    if (fs_lstat(item->path, &info, err) < 0)
        return -1;
    *ret = info.kind != FS_FILE;
    if (*ret)
        return 0;
    if (find_sought_file(survey, item, &sought, err) < 0 ||
        desired_file_writes(&sought.wanted, ret, err) < 0)
        return -1;
    *ret = *ret || attrs_differ(&sought.wanted.attrs, &info);
    return 0;
}

/* --- check --------------------------------------------------------------------------- */

static int say_item(const struct survey *survey, const struct item *item, struct err *err)
{
    AUTO_SOUGHT struct sought sought = SOUGHT_INIT;
    struct fs_info info;

    if (item->kind != ITEM_FILE) {
        state_say(survey->run, "%s %s", item->kind == ITEM_LINK ? "link" : "folder", item->path);
        return 0;
    }
    if (fs_lstat(item->path, &info, err) < 0 || find_sought_file(survey, item, &sought, err) < 0)
        return -1;
    if (info.kind != FS_FILE && info.kind != FS_NONE) {
        state_say(survey->run, "%s is a %s, not a file", item->path, fs_kind_name(info.kind));
        return 0;
    }
    sought.wanted.own_folder = true;
    return desired_file_check(survey->run, &sought.wanted, err);
}

/* Is something else at the path of the folder? */
static int find_tree_obstacle(const struct survey *survey, bool *ret, struct err *err)
{
    struct fs_info info;

    if (fs_stat(survey->dest, &info, err) < 0)
        return -1;
    *ret = info.kind != FS_FOLDER;
    if (info.kind == FS_NONE && fs_lstat(survey->dest, &info, err) < 0)
        return -1;
    *ret = *ret && info.kind != FS_NONE;
    return 0;
}

static int check_tree_folder(const struct survey *survey, struct err *err)
{
    bool obstacle;

    if (find_tree_obstacle(survey, &obstacle, err) < 0)
        return -1;
    if (!obstacle)
        return parent_check(survey->run, survey->dest, survey->want->makedirs, err);
    state_differs(survey->run, "%s exists but is not a directory%s", survey->dest,
                  survey->want->force ? ""
                                      : " — it must be removed by an earlier state in the run, or "
                                        "set force: true (apply fails otherwise)");
    state_made(survey->run, "replaced %s by a directory", survey->dest);
    return 0;
}

static int recurse_check(struct state_run *run, const void *args, struct err *err)
{
    const struct recurse_args *want = args;
    VEC(const struct item *) wrong = VEC_INIT;
    struct survey survey;
    bool differs;

    if (init_tree_survey(&survey, run, want, err) < 0 ||
        is_folder_other(&survey, survey.dest, &differs, err) < 0)
        return -1;
    if (differs && check_tree_folder(&survey, err) < 0)
        return -1;

    size_t count = survey.extra.list.n + (differs ? 1 : 0);
    VEC_EACH (&survey.items, item) {
        if (is_item_other(&survey, item, &differs, err) < 0)
            return -1;
        if (differs)
            VEC_PUSH_IN(run->arena, &wrong, item);
    }
    count += wrong.n;
    if (count == 0)
        return 0;
    state_differs(run, "%zu file%s between %s and %s", count, count == 1 ? " differs" : "s differ",
                  survey.source, want->name);
    state_made(run, "changed %zu file%s of %s in %s", count, count == 1 ? "" : "s", survey.source,
               want->name);
    for (size_t i = 0; i < wrong.n && i < SENTENCES_MAX; i++)
        if (say_item(&survey, wrong.p[i], err) < 0)
            return -1;
    for (size_t i = 0; i < survey.extra.list.n && i < SENTENCES_MAX; i++)
        state_say(run, "%s should not be in %s", survey.extra.list.p[i], want->name);
    return 0;
}

/* --- apply --------------------------------------------------------------------------- */

struct tally {
    size_t files, folders, removed;
};

/* Remove whatever else is at the path. */
static int clear_way_for_tree(const struct survey *survey, const char *path, enum fs_kind is_kept,
                              struct err *err)
{
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    return info.kind == FS_NONE || info.kind == is_kept ? 0 : change_remove(survey->run, path, err);
}

static int apply_folder(const struct survey *survey, const char *path, struct tally *tally,
                        struct err *err)
{
    bool differs;

    if (is_folder_other(survey, path, &differs, err) < 0)
        return -1;
    if (!differs)
        return 0;
    tally->folders++;
    if (strcmp(path, survey->dest) != 0 && clear_way_for_tree(survey, path, FS_FOLDER, err) < 0)
        return -1;
    return change_mkdir(survey->run, path, &survey->folders.want, err);
}

/* The folder itself. Something else at its path is removed only with force. */
static int apply_dest(const struct survey *survey, struct tally *tally, struct err *err)
{
    bool obstacle;

    if (find_tree_obstacle(survey, &obstacle, err) < 0)
        return -1;
    if (obstacle && !survey->want->force)
        return err_set(err, ERR_INVALID,
                       "%s exists but is not a directory (set force: true to replace it)",
                       survey->dest);
    if (obstacle && change_remove(survey->run, survey->dest, err) < 0)
        return -1;
    return apply_folder(survey, survey->dest, tally, err);
}

static int apply_link(const struct survey *survey, const struct item *item, struct tally *tally,
                      struct err *err)
{
    bool differs;

    if (is_source_link_other(survey, item, &differs, err) < 0)
        return -1;
    if (!differs)
        return 0;
    tally->files++;
    if (clear_way_for_tree(survey, item->path, FS_LINK, err) < 0)
        return -1;
    return change_symlink(survey->run, item->target, item->path, err);
}

static int apply_file(const struct survey *survey, const struct item *item, struct tally *tally,
                      struct err *err)
{
    AUTO_SOUGHT struct sought sought = SOUGHT_INIT;
    enum desired_file_done done;

    if (clear_way_for_tree(survey, item->path, FS_FILE, err) < 0 ||
        find_sought_file(survey, item, &sought, err) < 0 ||
        desired_file_apply(survey->run, &sought.wanted, &done, err) < 0)
        return -1;
    tally->files += done != DESIRED_FILE_NOTHING;
    return 0;
}

static int apply_item(const struct survey *survey, const struct item *item, struct tally *tally,
                      struct err *err)
{
    if (item->kind == ITEM_FOLDER)
        return apply_folder(survey, item->path, tally, err);
    if (item->kind == ITEM_LINK)
        return apply_link(survey, item, tally, err);
    return apply_file(survey, item, tally, err);
}

static void report_tree_result(const struct survey *survey, const struct tally *tally)
{
    struct state_run *run = survey->run;
    const struct recurse_args *want = survey->want;

    state_say(run, "copied %zu file%s, %zu folder%s from %s to %s (cleaned %zu)", tally->files,
              tally->files == 1 ? "" : "s", tally->folders, tally->folders == 1 ? "" : "s",
              survey->source, want->name, tally->removed);
    state_detail(run, "source", "%s", survey->source);
    state_detail(run, "dest", "%s", want->name);
    state_detail(run, "files", "%zu", tally->files);
    state_detail(run, "dirs", "%zu", tally->folders);
    state_detail(run, "cleaned", "%zu", tally->removed);
}

static int recurse_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct recurse_args *want = args;
    struct tally tally = { 0 };
    struct survey survey;

    if (init_tree_survey(&survey, run, want, err) < 0 ||
        parent_make(run, survey.dest, want->makedirs, &survey.folders.want, err) < 0)
        return -1;
    VEC_EACH (&survey.extra.list, path) {
        if (change_remove(run, *path, err) < 0)
            return -1;
        tally.removed++;
    }
    if (apply_dest(&survey, &tally, err) < 0)
        return -1;
    VEC_EACH (&survey.items, item)
        if (apply_item(&survey, item, &tally, err) < 0)
            return -1;
    if (tally.files + tally.folders + tally.removed == 0) {
        state_unchanged(run);
        return 0;
    }
    report_tree_result(&survey, &tally);
    return 0;
}

const struct module module_file_recurse = {
    .name = "file.recurse",
    .summary = "copy a folder with all its files",
    .details = "`clean` removes files and folders that are not in the source, unless `exclude_pat` "
               "matches them.",
    .example = "name: ROOT/tree\nsource: ROOT/source\n",
    .params = recurse_params,
    .flags = MODULE_TREE,
    .args_size = sizeof(struct recurse_args),
    .validate = recurse_validate,
    .check = recurse_check,
    .apply = recurse_apply,
};
