/* file.patch - applies a patch to a file, or to the files of a folder. */
#include <string.h>

#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/patch.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/content.h"
#include "states/modules/file/editor.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"

#define ARGS      struct patch_args
#define STRIP_MAX 100

struct patch_args {
    const char *name, *options, *reject_file;
    struct content_args content;
    int64_t strip;
    bool has_strip, show_changes;
    const struct value *backup;
};

/* clang-format off */
static const struct param patch_params[] = {
    PARAM("name", PATH, ARGS, name, "the file, or a folder with the files that the patch names", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("source", ANY, ARGS, content.source, "the patch, a unified diff: a path in the state tree or on this machine, or a URL", .flags = PARAM_REQUIRED),
    PARAM("source_hash", STR, ARGS, content.trust.hash, "hash of the patch: sha256=... (or sha512, sha1, md5), or a file of checksums"),
    PARAM("source_hash_name", STR, ARGS, content.trust.name, "name in the file of checksums (default: that of the source)"),
    PARAM("skip_verify", BOOL, ARGS, content.trust.skip_verify, "accept a patch from the network without a hash"),
    PARAM("template", ANY, ARGS, content.template, "render the patch: true or 'jinja'"),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PARAM("strip", INT, ARGS, strip, "folders to strip from names in the patch (default: git's a/ and b/)", PARAM_GIVEN(ARGS, has_strip), PARAM_RANGE(0, STRIP_MAX)),
    PARAM("options", STR, ARGS, options, "options as for patch(1): '-p1' or '--strip=1', the same as strip"),
    PARAM("reject_file", PATH, ARGS, reject_file, "where to write rejected hunks"),
    PARAM("backup", ANY, ARGS, backup, BACKUP_DOC),
    PARAM("show_changes", BOOL, ARGS, show_changes, "show what changes", .default_text = "true"),
    { 0 },
};
/* clang-format on */

/* The number of '-p1' or '--strip=1'; false for anything else. */
static bool read_patch_options(const char *options, size_t *ret_strip)
{
    static const char *const names[] = { "-p", "--strip=" };
    const struct str text = str_trim(str_from(options));

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct str digits = str_starts(text, str_from(names[i]))
                                      ? str_trim(str_from_offset(text, strlen(names[i])))
                                      : STR("");

        if (digits.n == 1 && digits.p[0] >= '0' && digits.p[0] <= '9') {
            *ret_strip = (size_t)(digits.p[0] - '0');
            return true;
        }
    }
    return false;
}

static int patch_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct patch_args *want = args;
    int result = content_validate(&want->content, where, diags);
    size_t strip;

    if (backup_validate(want->backup, diags) < 0)
        result = -1;
    if (want->options && !read_patch_options(want->options, &strip))
        result =
            value_diag(diags, where, "'options' supports -p and --strip, not '%s'", want->options);
    return result;
}

/* --- reading ------------------------------------------------------------------------------ */

struct patched_file {
    const struct patch_args *want;
    const struct patch_part *part;
    const char *path;
};

struct patched_files {
    struct patch patch;
    VEC(struct patched_file) list;
};

static bool is_gits(const struct patch_part *part)
{
    return (str_starts(part->old_name, STR("a/")) || patch_creates(part)) &&
           (str_starts(part->new_name, STR("b/")) || patch_removes(part));
}

static size_t strip_of(const struct patch_args *want, const struct patch_part *part)
{
    size_t strip = is_gits(part) ? 1 : 0;

    if (want->has_strip)
        return (size_t)want->strip;
    if (want->options)
        (void)read_patch_options(want->options, &strip);
    return strip;
}

/* Never a path outside the folder. */
static int place_part(struct state_run *run, const struct patch_args *want,
                      const struct patch_part *part, const char **ret, struct err *err)
{
    const struct str name = patch_name(part, strip_of(want, part));
    const char *below;

    if (!name.p)
        return err_set(err, ERR_INVALID,
                       "nothing is left of the name '%.*s' in the patch after stripping",
                       STR_ARG(part->new_name));
    below = path_normalise(run->arena, arena_printf(run->arena, "%.*s", STR_ARG(name)));
    if (path_escapes(below) || strcmp(below, ".") == 0)
        return err_set(err, ERR_INVALID, "the patch names '%.*s', which is not below %s",
                       STR_ARG(name), want->name);
    *ret = path_normalise(run->arena, arena_printf(run->arena, "%s/%s", want->name, below));
    return 0;
}

/* No link in the folder may lead out of it, to an existing or a new file. */
static int refuse_patch_way_out(struct state_run *run, const struct patch_args *want,
                                const char *path, struct err *err)
{
    AUTO_SITE struct site base = SITE_INIT;

    if (site_walk(&base, arena_printf(run->arena, "%s/.", want->name), 0, err) < 0)
        return -1;
    for (const char *at = path;; at = path_dirname(run->arena, at)) {
        AUTO_SITE struct site site = SITE_INIT;
        bool below;

        if (site_walk(&site, at, SITE_FOLLOW, err) < 0 ||
            site_is_below(&site, &base, &below, err) < 0)
            return -1;
        if (site.folder < 0)
            continue; /* it will be created: check its parent */
        return below ? 0
                     : err_set(err, ERR_UNSAFE,
                               "refusing to patch '%s': a link leads out of the folder %s", path,
                               want->name);
    }
}

static int read_patch(struct state_run *run, const struct patch_args *want,
                      struct patched_files *ret, struct err *err)
{
    struct content_args source = want->content;
    struct content content;
    struct fs_info info;

    source.path = want->name;
    *ret = (struct patched_files){ .list = VEC_INIT };
    if (content_get(run, &source, &content, err) < 0 || fs_stat(want->name, &info, err) < 0)
        return -1;
    if (patch_parse(run->arena, content.text, &ret->patch, err) < 0)
        return err_wrap(err, "%s", content.source ? content.source : "the patch");
    if (info.kind != FS_FOLDER && ret->patch.parts.n > 1)
        return err_set(
            err, ERR_INVALID,
            "the patch is for %zu files, but %s is not a folder (use their folder as the name)",
            ret->patch.parts.n, want->name);
    VEC_EACH (&ret->patch.parts, part) {
        struct patched_file patched_file = { want, part, want->name };

        if (info.kind == FS_FOLDER && (place_part(run, want, part, &patched_file.path, err) < 0 ||
                                       refuse_patch_way_out(run, want, patched_file.path, err) < 0))
            return -1;
        VEC_PUSH_IN(run->arena, &ret->list, patched_file);
    }
    return 0;
}

/* --- one file ----------------------------------------------------------------------------- */

static int report_misfit(const struct patched_file *patched_file, size_t number, struct err *err)
{
    const struct patch_hunk *hunk = &patched_file->part->hunks.p[number];

    return err_set(
        err, ERR_INVALID,
        "hunk %zu of %zu (line %zu of the patch) does not apply to %s; nothing was patched",
        number + 1, patched_file->part->hunks.n, hunk->line, patched_file->path);
}

static int plan_patch(struct state_run *run, const void *args, const struct editor_file *file,
                      struct editor_plan *plan, struct err *err)
{
    const struct patched_file *patched_file = args;
    size_t number;

    plan->create = patch_creates(patched_file->part);
    plan->pending = arena_printf(run->arena, "the patch is not applied to %s", patched_file->path);
    plan->done = arena_printf(run->arena, "patched %s", patched_file->path);
    if (!file->exists && !plan->create) {
        if (!run->test)
            return err_set(err, ERR_NOT_FOUND, "file %s does not exist", patched_file->path);
        plan->create = true;
        plan->pending = arena_printf(run->arena,
                                     "file %s is missing — it must be created by an earlier state "
                                     "in the run (apply fails otherwise)",
                                     patched_file->path);
        return 0;
    }
    switch (patch_try(file->text, patched_file->part, &plan->text, &number)) {
    case PATCH_MISFITS: return report_misfit(patched_file, number, err);
    case PATCH_APPLIED:
        plan->remark =
            arena_printf(run->arena, "the patch is already applied to %s", patched_file->path);
        break;
    case PATCH_FITS: break;
    }
    return edit_finish(&plan->text, err);
}

static struct editor make_patch_editor(const struct patched_file *patched_file)
{
    return (struct editor){
        .path = patched_file->path,
        .plan = plan_patch,
        .makedirs = patch_creates(patched_file->part),
        .hide = !patched_file->want->show_changes,
        .backup = patched_file->want->backup,
    };
}

static int read_patch_file(struct state_run *run, const struct patched_file *patched_file,
                           struct str *ret, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, patched_file->path, SITE_FOLLOW, err) < 0)
        return -1;
    return site_read(run->arena, &site, EDITOR_FILE_MAX, ret, err);
}

/* A file that the patch removes; a NULL view if it is already gone. */
static int read_doomed(struct state_run *run, const struct patched_file *patched_file,
                       struct str *ret, struct err *err)
{
    AUTO_BUF struct buf left = BUF_INIT(EDIT_SIZE_MAX);
    size_t number;

    if (read_patch_file(run, patched_file, ret, err) < 0)
        return -1;
    if (!ret->p)
        return 0;
    if (!patch_apply(*ret, patched_file->part, false, 0, &left, &number))
        return report_misfit(patched_file, number, err);
    if (left.n > 0)
        return err_set(err, ERR_INVALID, "the patch removes %s, but the file has other content",
                       patched_file->path);
    return 0;
}

static int check_deed(struct state_run *run, const struct patched_file *patched_file,
                      struct err *err)
{
    const struct editor editor = make_patch_editor(patched_file);
    struct str text;

    if (!patch_removes(patched_file->part))
        return editor_check(run, &editor, patched_file, err);
    if (read_doomed(run, patched_file, &text, err) < 0)
        return -1;
    state_bind(run, text);
    if (text.p)
        state_differs(run, "%s exists, and the patch removes it", patched_file->path);
    if (text.p && patched_file->want->show_changes)
        state_diff_content(run, patched_file->path, text, (struct str){ NULL, 0 });
    return 0;
}

static int apply_deed(struct state_run *run, const struct patched_file *patched_file,
                      bool *ret_changed, struct err *err)
{
    const struct editor editor = make_patch_editor(patched_file);
    struct str text;

    if (!patch_removes(patched_file->part)) {
        run->unchanged = false;
        if (editor_apply(run, &editor, patched_file, err) < 0)
            return -1;
        *ret_changed |= !run->unchanged;
        return 0;
    }
    if (read_doomed(run, patched_file, &text, err) < 0)
        return -1;
    if (!text.p)
        return 0;
    *ret_changed = true;
    state_say(run, "removed %s", patched_file->path);
    return change_remove(run, patched_file->path, err);
}

/* --- all of them -------------------------------------------------------------------------- */

static int check_all(struct state_run *run, const struct patched_files *patched_files,
                     struct err *err)
{
    VEC_EACH (&patched_files->list, patched_file)
        if (check_deed(run, patched_file, err) < 0)
            return -1;
    return 0;
}

/* Only apply may write rejects, so check leaves the failure to apply. */
static int patch_check(struct state_run *run, const void *args, struct err *err)
{
    const struct patch_args *want = args;
    struct patched_files patched_files;

    if (read_patch(run, want, &patched_files, err) < 0)
        return -1;
    if (check_all(run, &patched_files, err) == 0)
        return 0;
    if (!want->reject_file || run->test)
        return -1;
    run->differs = true;
    return 0;
}

/* Collect every hunk that does not apply. */
static int add_rejects(struct state_run *run, const struct patched_file *patched_file,
                       struct buf *out, struct err *err)
{
    bool named = false;
    struct str text;

    if (read_patch_file(run, patched_file, &text, err) < 0)
        return -1;
    VEC_EACH (&patched_file->part->hunks, hunk) {
        AUTO_BUF struct buf made = BUF_INIT(EDIT_SIZE_MAX);
        struct patch_part one = *patched_file->part;
        size_t number;

        one.hunks.p = hunk;
        one.hunks.n = 1;
        if (patch_try(text.p ? text : STR(""), &one, &made, &number) != PATCH_MISFITS)
            continue;
        if (!named)
            buf_printf(out, "--- %.*s\n+++ %.*s\n", STR_ARG(one.old_name), STR_ARG(one.new_name));
        named = true;
        buf_add_str(out, hunk->raw);
    }
    return 0;
}

static int write_rejects(struct state_run *run, const struct patch_args *want,
                         const struct patched_files *patched_files, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(EDIT_SIZE_MAX);

    VEC_EACH (&patched_files->list, patched_file)
        if (add_rejects(run, patched_file, &out, err) < 0)
            return -1;
    return out.n > 0 ? change_write(run, want->reject_file, buf_view(&out), NULL, err) : 0;
}

/* Check all files before changing the first one. */
static int apply_patches(struct state_run *run, const void *args, struct err *err)
{
    const struct patch_args *want = args;
    struct patched_files patched_files;
    struct err ignored;
    bool changed = false;

    if (read_patch(run, want, &patched_files, err) < 0)
        return -1;
    buf_clear(&run->text); /* the next check reports all of it again */
    if (check_all(run, &patched_files, err) < 0) {
        if (want->reject_file) /* the misfit is the error to report */
            (void)write_rejects(run, want, &patched_files, &ignored);
        return -1;
    }
    VEC_EACH (&patched_files.list, patched_file)
        if (apply_deed(run, patched_file, &changed, err) < 0)
            return -1;
    run->unchanged = !changed;
    state_detail(run, "path", "%s", want->name);
    return 0;
}

const struct module module_file_patch = {
    .name = "file.patch",
    .summary = "apply a patch to a file, or to the files of a folder",
    .details = "The patch is a unified diff, as from diff -u or git. Hunks may have moved, and up "
               "to two lines of context may differ. Either all of it applies, or nothing is "
               "changed. A patch that is already applied is unchanged.",
    .example = "name: ROOT/present\nsource: ROOT/here.patch\n",
    .params = patch_params,
    .flags = MODULE_TREE | MODULE_EDITS,
    .args_size = sizeof(struct patch_args),
    .validate = patch_validate,
    .check = patch_check,
    .apply = apply_patches,
};
