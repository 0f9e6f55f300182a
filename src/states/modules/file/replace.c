/* file.replace - replaces text that matches a pattern. */
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/edit/edit.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/editor.h"
#include "states/modules/file/flags.h"
#include "states/state/host.h"
#include "states/state/module.h"

#define ARGS struct replace_args

struct replace_args {
    const char *name;
    struct str pattern, repl, not_found;
    bool has_not_found;
    int64_t count;
    const struct value *flags;
    bool append, prepend, backslash_literal, show_changes;
    enum param_tristate ignore_if_missing;
    const struct value *backup;
};

/* clang-format off */
static const struct param replace_params[] = {
    PARAM("name", PATH, ARGS, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("pattern", TEXT, ARGS, pattern, "the pattern, in the syntax of Perl and Python; ^ and $ match at lines", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("repl", TEXT, ARGS, repl, "the replacement; \\1, \\g<name>, $1 and ${name} are groups"),
    PARAM("count", INT, ARGS, count, "maximum number of replacements; 0: all", .default_text = "0", PARAM_RANGE(0, INT32_MAX)),
    PARAM("flags", ANY, ARGS, flags, "a list of IGNORECASE, MULTILINE, DOTALL, VERBOSE (default: MULTILINE)"),
    PARAM("append_if_not_found", BOOL, ARGS, append, "append a line if nothing matches"),
    PARAM("prepend_if_not_found", BOOL, ARGS, prepend, "prepend a line if nothing matches"),
    PARAM("not_found_content", TEXT, ARGS, not_found, "the line to add (default: repl)", PARAM_GIVEN(ARGS, has_not_found)),
    PARAM("backslash_literal", BOOL, ARGS, backslash_literal, "take repl literally"),
    PARAM("ignore_if_missing", TRISTATE, ARGS, ignore_if_missing, "a missing file: true is silent, false is an error (default: a remark)"),
    PARAM("backup", ANY, ARGS, backup, BACKUP_DOC),
    PARAM("show_changes", BOOL, ARGS, show_changes, "show what changes", .default_text = "true"),
    PARAM_IDLE("bufsize", "files are read whole"),
    { 0 },
};
/* clang-format on */

static int compile_pattern(struct arena *arena, const struct replace_args *want,
                           const struct matcher **ret, struct err *err)
{
    unsigned flags;

    if (flags_read(want->flags, MATCHER_MULTILINE, &flags, err) < 0)
        return -1;
    return matcher_new(arena, want->pattern, flags | MATCHER_MANY, ret, NULL, err);
}

static int replace_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct replace_args *want = args;
    int result = backup_validate(want->backup, diags);
    const struct matcher *matcher;
    struct err err;

    if (compile_pattern(diags->arena, want, &matcher, &err) < 0)
        result = value_diag(diags, where, "invalid %s", err.text);
    return result;
}

static int plan_replace_missing(const struct replace_args *want, struct state_run *run,
                                struct editor_plan *plan, struct err *err)
{
    const bool fails = want->ignore_if_missing == PARAM_IS_FALSE ||
                       (run->salt && want->ignore_if_missing == PARAM_IS_UNSET);

    if (!run->salt && (want->append || want->prepend))
        return 0;
    buf_clear(&plan->text);
    if (fails)
        return err_set(err, ERR_NOT_FOUND, "file %s does not exist", want->name);
    if (want->ignore_if_missing == PARAM_IS_UNSET)
        plan->remark = arena_printf(run->arena, "file %s does not exist", want->name);
    return 0;
}

static int replace_plan(struct state_run *run, const void *args, const struct editor_file *file,
                        struct editor_plan *plan, struct err *err)
{
    const struct replace_args *want = args;
    struct edit_replace edit = {
        .repl = want->repl,
        .literal = want->backslash_literal,
        .count = (size_t)want->count,
        .append = want->append,
        .prepend = want->prepend,
        .is_stopped = editor_is_stopped,
        .user = run->host->cancel,
        .not_found = want->has_not_found ? want->not_found : (struct str){ NULL, 0 },
    };
    const struct str pattern = want->pattern;
    size_t found;

    if (compile_pattern(run->arena, want, &edit.pattern, err) < 0 ||
        edit_replace(file->text, &edit, &plan->text, &found, err) < 0)
        return err_wrap(err, "%s", want->name);
    plan->detail = "pattern";
    plan->word = arena_str(run->arena, pattern).p;
    plan->pending = arena_printf(run->arena, "pattern \"%.*s\" replacement pending in %s",
                                 STR_ARG(pattern), want->name);
    plan->done = arena_printf(run->arena, "applied replacement of \"%.*s\" in %s", STR_ARG(pattern),
                              want->name);
    return file->exists ? 0 : plan_replace_missing(want, run, plan, err);
}

static struct editor make_replace_editor(const struct replace_args *want)
{
    return (struct editor){
        .path = want->name,
        .plan = replace_plan,
        .hide = !want->show_changes,
        .backup = want->backup,
    };
}

EDITOR_STATE(make_replace_editor)

const struct module module_file_replace = {
    .name = "file.replace",
    .summary = "replace text that matches a pattern in a file",
    .details = "A match that already reads as its replacement is left alone, so replacing foo by "
               "foobar is idempotent. A reference to a group that the pattern does not have is "
               "plain text: $HOME stays.",
    .example =
        "name: ROOT/app.conf\npattern: ^port=.*\nrepl: port=8080\nappend_if_not_found: true\n",
    .params = replace_params,
    .args_size = sizeof(struct replace_args),
    .flags = MODULE_LOCAL | MODULE_EDITS,
    .validate = replace_validate,
    EDITOR_STATE_FIELDS,
};
