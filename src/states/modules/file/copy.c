/* file.copy - copies a file or folder of this machine. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/parent.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"

#define ARGS       struct copy_args
#define PIECE_SIZE 32768
/* Paths of a folder that are reported one by one. */
#define SENTENCES_MAX 50

struct copy_args {
    const char *name, *source, *user, *group;
    const struct value *mode, *dir_mode;
    bool force, preserve, makedirs, subdir;
};

/* clang-format off */
static const struct param copy_params[] = {
    PARAM("name", PATH, ARGS, name, "the destination", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("source", PATH, ARGS, source, "the file or folder to copy", .flags = PARAM_REQUIRED),
    PARAM("force", BOOL, ARGS, force, "keep the copy equal to the source; otherwise an existing path is never touched"),
    PARAM("preserve", BOOL, ARGS, preserve, "also copy the permissions, and the owner if permitted"),
    PARAM("mode", ANY, ARGS, mode, "permissions of the copy, or 'keep' for those of the source"),
    PARAM("user", STR, ARGS, user, "owner: a name or number", .aliases = "owner"),
    PARAM("group", STR, ARGS, group, "group: a name or number"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders, with the owner of the file"),
    PARAM("dir_mode", ANY, ARGS, dir_mode, "permissions of new parent folders (default: mode, and execution for those who can read)"),
    PARAM("subdir", BOOL, ARGS, subdir, "if the name is a folder, copy into it"),
    { 0 },
};
/* clang-format on */

static int copy_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct copy_args *want = args;

    (void)where;
    return attrs_validate(want->dir_mode, false, diags) < 0
               ? -1
               : attrs_validate(want->mode, true, diags);
}

/* --- planning --------------------------------------------------------------------------- */

struct step {
    const char *from, *to;
    struct fs_info source, there;
    struct attrs attrs; /* attributes of the copy */
    const char *target; /* link target */
};

struct survey {
    struct state_run *run;
    const struct copy_args *want;
    const char *source, *dest;
    VEC(struct step) steps;
    uint64_t bytes;
    bool exists; /* the destination */
};

static int compare_file_pieces(int a, int b, bool *ret, struct err *err)
{
    char left[PIECE_SIZE], right[PIECE_SIZE];
    size_t n, m;

    do {
        if (fd_read(a, left, sizeof(left), &n, err) < 0 ||
            fd_read(b, right, sizeof(right), &m, err) < 0)
            return -1;
        *ret = n == m && memcmp(left, right, n) == 0;
    } while (*ret && n == sizeof(left));
    return 0;
}

static int open_copied_file(const char *path, int *ret_fd, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, path, SITE_FOLLOW, err) < 0 || site_open(&site, ret_fd, err) < 0)
        return -1;
    return *ret_fd < 0 ? err_sys(err, ENOENT, "open '%s'", path) : 0;
}

static int compare_copied_content(const char *a, const char *b, bool *ret, struct err *err)
{
    AUTO_FD int left = -1, right = -1;

    if (open_copied_file(a, &left, err) < 0 || open_copied_file(b, &right, err) < 0)
        return -1;
    if (compare_file_pieces(left, right, ret, err) < 0)
        return err_wrap(err, "compare '%s' with '%s'", a, b);
    return 0;
}

static int get_copied_attrs(struct state_run *run, const struct copy_args *want,
                            const struct fs_info *source, struct attrs *ret, struct err *err)
{
    if (attrs_read(run, want->mode, want->user, want->group, ret, err) < 0)
        return -1;
    if (want->preserve || ret->keep_mode)
        ret->want.mode = source->mode;
    if (want->preserve && geteuid() == 0) {
        if (!want->user)
            ret->want.uid = source->uid;
        if (!want->group)
            ret->want.gid = source->gid;
    }
    if (!ret->user)
        ret->user = "source";
    if (!ret->group)
        ret->group = "source";
    return 0;
}

static int is_copied_link_other(struct survey *survey, struct step *step, bool *ret,
                                struct err *err)
{
    const char *now;

    if (fs_readlink(survey->run->arena, step->from, &step->target, err) < 0 ||
        fs_readlink(survey->run->arena, step->to, &now, err) < 0)
        return -1;
    *ret = !now || !step->target || strcmp(now, step->target) != 0;
    return 0;
}

/* Does the copy differ from the source? */
static int copy_differs(struct survey *survey, struct step *step, bool *ret, struct err *err)
{
    bool same;

    *ret = true;
    if (step->source.kind == FS_LINK)
        return is_copied_link_other(survey, step, ret, err);
    if (step->there.kind != step->source.kind)
        return 0;
    *ret = attrs_differ(&step->attrs, &step->there);
    if (*ret || step->source.kind == FS_FOLDER)
        return 0;
    *ret = step->there.size != step->source.size;
    if (*ret)
        return 0;
    if (compare_copied_content(step->from, step->to, &same, err) < 0)
        return -1;
    *ret = !same;
    return 0;
}

static int add_copy_step(struct survey *survey, const char *from, const char *to,
                         const struct fs_info *source, struct err *err)
{
    struct step step = { .from = from, .to = to, .source = *source };
    bool needed;

    if (source->kind != FS_FILE && source->kind != FS_FOLDER && source->kind != FS_LINK)
        return 0; /* devices and sockets are not copied */
    if (get_copied_attrs(survey->run, survey->want, source, &step.attrs, err) < 0 ||
        fs_lstat(to, &step.there, err) < 0 || copy_differs(survey, &step, &needed, err) < 0)
        return -1;
    survey->bytes += source->kind == FS_FILE ? source->size : 0;
    if (!needed)
        return 0;
    VEC_PUSH_IN(survey->run->arena, &survey->steps, step);
    return state_bind_path(survey->run, from, err) < 0 ? -1 : state_bind_path(survey->run, to, err);
}

static int visit_copied_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                              struct err *err)
{
    struct survey *survey = self;
    struct arena *arena = survey->run->arena;

    if (step == TREE_LEAVE)
        return 0;
    return add_copy_step(
        survey, arena_strdup(arena, entry->path),
        arena_printf(arena, "%s%s", survey->dest, entry->path + strlen(survey->source)),
        &entry->info, err);
}

static int walk_source(struct survey *survey, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, survey->source, 0, err) < 0)
        return -1;
    return tree_walk_at(&site, visit_copied_entry, survey, err);
}

/* The current path, or the target of a link, by the same safe walk that changes use. */
static int find_info(const char *path, struct fs_info *ret, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, path, SITE_FOLLOW, err) < 0)
        return -1;
    *ret = site.info;
    return 0;
}

/* Find the destination and all steps of the copy. */
static int init_copy_survey(struct survey *survey, struct state_run *run,
                            const struct copy_args *want, struct err *err)
{
    struct fs_info source, there;

    *survey = (struct survey){ .run = run, .want = want };
    survey->source = path_normalise(run->arena, want->source);
    survey->dest = path_normalise(run->arena, want->name);
    if (find_info(survey->source, &source, err) < 0 || find_info(survey->dest, &there, err) < 0)
        return -1;
    if (source.kind == FS_NONE)
        return err_set(err, ERR_NOT_FOUND, "source %s does not exist", want->source);
    if (want->subdir && there.kind == FS_FOLDER) {
        const struct str last = path_basename(survey->source);

        survey->dest = path_join(run->arena, survey->dest, arena_str(run->arena, last).p);
        if (find_info(survey->dest, &there, err) < 0)
            return -1;
    }
    survey->exists = there.kind != FS_NONE;
    if (survey->exists && !want->force)
        return 0;
    if (source.kind == FS_FOLDER && path_is_below(survey->dest, survey->source))
        return err_set(err, ERR_INVALID, "%s is inside its own source", survey->dest);
    if (source.kind == FS_FOLDER)
        return walk_source(survey, err);
    return add_copy_step(survey, survey->source, survey->dest, &source, err);
}

static void say_steps(struct survey *survey)
{
    size_t reported = 0;

    VEC_EACH (&survey->steps, step) {
        if (reported++ == SENTENCES_MAX) {
            state_say(survey->run, "and %zu more", survey->steps.n - SENTENCES_MAX);
            return;
        }
        if (step->there.kind == step->source.kind && step->there.kind != FS_LINK)
            attrs_check(survey->run, step->to, &step->attrs, &step->there);
        if (survey->steps.n > 1)
            state_say(survey->run, "%s %s", step->there.kind == FS_NONE ? "new" : "differs",
                      step->to);
    }
}

static int copy_check(struct state_run *run, const void *args, struct err *err)
{
    const struct copy_args *want = args;
    struct survey survey;

    if (init_copy_survey(&survey, run, want, err) < 0)
        return -1;
    if (survey.exists && !want->force) {
        state_say(run, "destination %s exists and force is false", survey.dest);
        return 0;
    }
    if (survey.steps.n == 0)
        return 0;
    if (!survey.exists) {
        if (parent_check(run, survey.dest, want->makedirs, err) < 0)
            return -1;
        state_differs(run, "destination %s does not exist", survey.dest);
        state_made(run, "created %s", survey.dest);
    } else {
        state_differs(run, "destination %s differs from source %s", survey.dest, want->source);
        state_made(run, "replaced %s with a copy of %s", survey.dest, want->source);
    }
    say_steps(&survey);
    return 0;
}

/* --- applying ------------------------------------------------------------------------------ */

/* A link takes the place of all but a folder in one step. */
static bool is_removal_needed(const struct step *step)
{
    const enum fs_kind there = step->there.kind;

    if (step->source.kind == FS_LINK)
        return there == FS_FOLDER;
    return there == FS_LINK || (there != FS_NONE && there != step->source.kind);
}

static int do_copy_step(struct state_run *run, const struct step *step, struct err *err)
{
    struct change_attr attr = step->attrs.want;

    if (is_removal_needed(step) && change_remove(run, step->to, err) < 0)
        return -1;
    if (step->source.kind == FS_LINK)
        return change_symlink(run, step->target, step->to, err);
    if (step->source.kind == FS_FOLDER && step->there.kind != FS_FOLDER &&
        attr.mode == CHANGE_KEEP_MODE)
        attr.mode =
            step->source.mode & 0777; /* as for files: never more permissive than the source */
    if (step->source.kind == FS_FOLDER)
        return change_mkdir(run, step->to, &attr, err);
    return change_copy(run, step->from, step->to, &step->attrs.want, err);
}

static int copy_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct copy_args *want = args;
    const struct value *mode = want->dir_mode ? want->dir_mode : want->mode;
    struct attrs folders;
    struct survey survey;

    if (init_copy_survey(&survey, run, want, err) < 0)
        return -1;
    if (survey.steps.n == 0) {
        state_unchanged(run);
        return 0;
    }
    if (attrs_read(run, mode, want->user, want->group, &folders, err) < 0)
        return -1;
    if (!want->dir_mode)
        folders.want = parent_attr(&folders.want);
    if (parent_make(run, survey.dest, want->makedirs, &folders.want, err) < 0)
        return -1;
    VEC_EACH (&survey.steps, step)
        if (do_copy_step(run, step, err) < 0)
            return -1;
    state_say(run, "copied %s to %s (%llu bytes)", want->source, survey.dest,
              (unsigned long long)survey.bytes);
    state_detail(run, "source", "%s", want->source);
    state_detail(run, "path", "%s", survey.dest);
    state_detail(run, "bytes", "%llu", (unsigned long long)survey.bytes);
    return 0;
}

const struct module module_file_copy = {
    .name = "file.copy",
    .summary = "copy a file or folder of this machine",
    .details = "Without `force` a copy is made once and never touched again. A folder is copied "
               "with everything in it; other files at the destination stay.",
    .example = "name: ROOT/copy\nsource: ROOT/present\n",
    .params = copy_params,
    .flags = MODULE_TREE | MODULE_WHOLE | MODULE_EDITS,
    .args_size = sizeof(struct copy_args),
    .validate = copy_validate,
    .check = copy_check,
    .apply = copy_apply,
};
