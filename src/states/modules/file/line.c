/* file.line - ensures, replaces, inserts or deletes a line of a file. */
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"

#define ARGS struct line_args

/* In the order of the names. */
enum line_mode { MODE_ENSURE, MODE_REPLACE, MODE_INSERT, MODE_DELETE, MODE_ABSENT };

static const char *const mode_names[] = {
    [MODE_ENSURE] = "ensure", [MODE_REPLACE] = "replace", [MODE_INSERT] = "insert",
    [MODE_DELETE] = "delete", [MODE_ABSENT] = "delete",
};

static const enum edit_line_mode edit_modes[] = {
    [MODE_ENSURE] = EDIT_LINE_ENSURE, [MODE_REPLACE] = EDIT_LINE_REPLACE,
    [MODE_INSERT] = EDIT_LINE_INSERT, [MODE_DELETE] = EDIT_LINE_DELETE,
    [MODE_ABSENT] = EDIT_LINE_DELETE,
};

struct line_args {
    const char *name;
    struct str content, match, before, after;
    enum line_mode mode;
    enum edit_location location;
    bool indent, quiet, show_changes;
    enum param_tristate create;
    const struct value *backup, *file_mode;
    const char *user, *group;
};

/* clang-format off */
static const struct param line_params[] = {
    PARAM("name", PATH, ARGS, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("content", TEXT, ARGS, content, "the line", .aliases = "line"),
    PARAM("mode", CHOICE, ARGS, mode, "ensure: replace the first match, or add the line; replace: every match; insert: add it if missing; delete: every match", .choices = "ensure|replace|insert|delete|absent", .flags = PARAM_ANY_CASE, .default_text = "ensure"),
    PARAM("match", TEXT, ARGS, match, "a pattern, or a part of a line (default: the line itself)"),
    PARAM("before", TEXT, ARGS, before, "the same: add the line before the match"),
    PARAM("after", TEXT, ARGS, after, "the same: add the line after the match; takes precedence over before; with both, ensure keeps the line between them"),
    PARAM("location", CHOICE, ARGS, location, "where to add it without before and after", .choices = "end|start", .default_text = "end"),
    PARAM("indent", BOOL, ARGS, indent, "use the indentation of the adjacent line, unless it has its own", .default_text = "true"),
    PARAM("create", TRISTATE, ARGS, create, "create a missing file, otherwise that is an error (default: true; false in Salt files)"),
    PARAM("quiet", BOOL, ARGS, quiet, "a missing file is not an error when create is false"),
    PARAM("backup", ANY, ARGS, backup, BACKUP_DOC),
    PARAM("show_changes", BOOL, ARGS, show_changes, "show what changes", .default_text = "true"),
    PARAM("user", STR, ARGS, user, "owner of a file that is created: a name or number"),
    PARAM("group", STR, ARGS, group, "group of a file that is created: a name or number"),
    PARAM("file_mode", ANY, ARGS, file_mode, "permissions of a new file (default: 0644)"),
    { 0 },
};
/* clang-format on */

static bool is_line_added(enum line_mode mode)
{
    return mode == MODE_ENSURE || mode == MODE_INSERT;
}

static int line_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct line_args *want = args;
    int result = backup_validate(want->backup, diags);

    if (attrs_validate(want->file_mode, false, diags) < 0)
        result = -1;
    if (want->content.n == 0 && is_line_added(want->mode))
        result = value_diag(diags, where, "mode '%s' requires 'content'", mode_names[want->mode]);
    if (want->match.n == 0 && want->mode == MODE_REPLACE)
        result = value_diag(diags, where, "mode 'replace' requires 'match'");
    if (want->match.n == 0 && want->content.n == 0 && !is_line_added(want->mode))
        result = value_diag(diags, where, "mode 'delete' requires 'match' or 'content'");
    return result;
}

static int plan_line_missing(struct state_run *run, const struct line_args *want,
                             struct editor_plan *plan, struct err *err)
{
    const bool creates =
        want->create == PARAM_IS_TRUE || (want->create == PARAM_IS_UNSET && !run->salt);

    if (!creates && !want->quiet)
        return err_set(err, ERR_NOT_FOUND, "file %s does not exist and create is false",
                       want->name);
    if (!creates || !is_line_added(want->mode)) {
        buf_clear(&plan->text);
        return 0;
    }
    plan->pending = arena_printf(run->arena, "file %s does not exist", want->name);
    plan->done = arena_printf(run->arena, "created %s with line \"%.*s\"", want->name,
                              STR_ARG(str_trim_right(want->content)));
    plan->word = "created";
    return 0;
}

static int plan_line(struct state_run *run, const void *args, const struct editor_file *file,
                     struct editor_plan *plan, struct err *err)
{
    const struct line_args *want = args;
    const struct edit_line edit = {
        .mode = edit_modes[want->mode],
        .content = want->content,
        .match = want->match,
        .before = want->before,
        .after = want->after,
        .location = want->location,
        .indent = want->indent,
    };
    const struct str shown = str_trim_right(want->content.n > 0 ? want->content : want->match);
    const char *mode = mode_names[want->mode];

    if (edit_line(file->text, &edit, &plan->text, err) < 0)
        return err_wrap(err, "%s", want->name);
    plan->detail = "action";
    plan->word = mode;
    if (!file->exists)
        return plan_line_missing(run, want, plan, err);
    plan->pending = arena_printf(run->arena, "line \"%.*s\" (%s) differs in %s", STR_ARG(shown),
                                 mode, want->name);
    plan->done =
        arena_printf(run->arena, "%s line \"%.*s\" in %s", mode, STR_ARG(shown), want->name);
    return 0;
}

static struct editor make_line_editor(const struct line_args *want, const struct change_attr *fresh)
{
    return (struct editor){
        .path = want->name,
        .plan = plan_line,
        .fresh = fresh,
        .hide = !want->show_changes,
        .backup = want->backup,
    };
}

static int line_check(struct state_run *run, const void *args, struct err *err)
{
    const struct line_args *want = args;
    struct attrs attrs;

    if (attrs_read(run, want->file_mode, want->user, want->group, &attrs, err) < 0)
        return -1;

    const struct editor editor = make_line_editor(want, &attrs.want);
    return editor_check(run, &editor, args, err);
}

static int line_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct line_args *want = args;
    struct attrs attrs;

    if (attrs_read(run, want->file_mode, want->user, want->group, &attrs, err) < 0)
        return -1;

    const struct editor editor = make_line_editor(want, &attrs.want);
    return editor_apply(run, &editor, args, err);
}

const struct module module_file_line = {
    .name = "file.line",
    .summary = "ensure, replace, insert or delete a line of a file",
    .example = "name: ROOT/sshd_config\ncontent: PermitRootLogin no\nmatch: ^PermitRootLogin\n",
    .params = line_params,
    .args_size = sizeof(struct line_args),
    .flags = MODULE_LOCAL | MODULE_EDITS,
    .validate = line_validate,
    .check = line_check,
    .apply = line_apply,
};
