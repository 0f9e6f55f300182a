/* cron.file - the whole crontab of a user, from a source. */
#include "core/base/err.h"
#include "states/modules/file/content.h"
#include "states/modules/cron/crons.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct file_args

struct file_args {
    const char *name, *user;
    struct content_args content;
    bool replace;
};

/* clang-format off */
static const struct param file_params[] = {
    PARAM("name", STR, ARGS, name, "the source of the crontab: a path in the state tree or on this machine, or a URL", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("user", STR, ARGS, user, "the user who owns the crontab", .default_text = "root"),
    PARAM("source_hash", STR, ARGS, content.trust.hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums"),
    PARAM("source_hash_name", STR, ARGS, content.trust.name, "name in the file of checksums (default: that of the source)"),
    PARAM("skip_verify", BOOL, ARGS, content.trust.skip_verify, "accept a download without a hash"),
    PARAM("template", ANY, ARGS, content.template, "render the source: true or 'jinja'"),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PARAM("replace", BOOL, ARGS, replace, "false: leave an existing crontab alone", .default_text = "true"),
    PARAM_IDLE("backup", "a revert brings the crontab back"),
    { 0 },
};
/* clang-format on */

static int file_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct file_args *want = args;
    int result = validate_text("user", want->user, VALIDATE_USER, where, diags);

    return content_validate(&want->content, where, diags) < 0 ? -1 : result;
}

struct tables {
    struct str now, want;
};

/* cron ignores a last line without a newline. */
static int compare_crontab(struct state_run *run, const struct file_args *want, struct tables *ret,
                           struct err *err)
{
    const struct value source = value_text(want->name);
    struct content_args args = want->content;
    struct content content;

    args.path = want->name;
    args.source = &source;
    if (crons_read(run, want->user, &ret->now, err) < 0)
        return -1;
    ret->want = ret->now;
    if (ret->now.n > 0 && !want->replace)
        return 0;
    if (content_get(run, &args, &content, err) < 0)
        return -1;
    if (content.text.n > CRONS_TEXT_MAX)
        return err_set(err, ERR_LIMIT, "%s exceeds the limit of %zu bytes", want->name,
                       CRONS_TEXT_MAX);
    ret->want = content.text;
    if (content.text.n > 0 && content.text.p[content.text.n - 1] != '\n')
        ret->want = str_from(arena_printf(run->arena, "%.*s\n", STR_ARG(content.text)));
    return 0;
}

static int file_check(struct state_run *run, const void *args, struct err *err)
{
    const struct file_args *want = args;
    struct tables tables;

    if (compare_crontab(run, want, &tables, err) < 0)
        return -1;
    if (str_eq(tables.now, tables.want)) {
        state_say(run, "the crontab of %s is up to date", want->user);
        return 0;
    }
    state_differs(run, "the crontab of %s differs from %s", want->user, want->name);
    state_made(run, "installed %s as the crontab of %s", want->name, want->user);
    state_diff_content(run, arena_printf(run->arena, "crontab of %s", want->user), tables.now,
                       tables.want);
    return 0;
}

static int file_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct file_args *want = args;
    struct tables tables;

    if (compare_crontab(run, want, &tables, err) < 0)
        return -1;
    if (str_eq(tables.now, tables.want)) {
        state_unchanged(run);
        return 0;
    }
    if (crons_replace(run, want->user, tables.now, tables.want, err) < 0)
        return -1;
    state_say(run, "set the crontab of %s from %s", want->user, want->name);
    state_detail(run, "user", "%s", want->user);
    state_detail(run, "source", "%s", want->name);
    return 0;
}

static int file_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct file_args *want = args;

    return crons_revert_whole(
        run, want->user,
        arena_printf(run->arena, "restored the crontab of %s (revert)", want->user), err);
}

const struct module module_cron_file = {
    .name = "cron.file",
    .summary = "the whole crontab of a user, from a source",
    .details = "The whole crontab is replaced, so do not combine this with other states of the "
               "same crontab. The crontab program refuses a file with syntax errors, and the old "
               "one stays. An empty source removes the crontab.",
    .example = "name: salt://cron/root.cron\nuser: root\n",
    .params = file_params,
    .args_size = sizeof(struct file_args),
    .lock = CRONS_LOCK,
    .validate = file_validate,
    .check = file_check,
    .apply = file_apply,
    .revert = file_revert,
};
