#include "modules/crons.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "data/value.h"
#include "edit/crontab.h"
#include "edit/edit.h"
#include "modules/machine.h"
#include "state/module.h"
#include "sys/account.h"
#include "sys/process.h"

static bool is_nobody(struct state_run *run, const char *user)
{
    const struct account *account = NULL;
    struct err ignored; /* what cannot be asked is not known to be missing */

    return account_find(run->arena, user, &account, &ignored) == 0 && !account;
}

int crons_read(struct state_run *run, const char *user, struct str *ret, struct err *err)
{
    const struct tool tool = machine_tool(run);
    const char *const *argv = TOOL("crontab", "-u", user, "-l");
    struct process_result result;

    if (tool_try(&tool, argv, NULL, &result, err) < 0)
        return -1;
    if (process_status_ok(result.status)) {
        *ret = result.out;
        return result.out.n <= CRONS_TEXT_MAX
                   ? 0
                   : err_set(err, ERR_LIMIT,
                             "the crontab of %s is larger than the limit of %zu bytes", user,
                             CRONS_TEXT_MAX);
    }
    /* in a dry run the user may be made by a state before this one */
    if (str_find(result.err, STR("no crontab for"), 0) == STR_NONE &&
        !(run->test && is_nobody(run, user)))
        return tool_fail(argv, &result, err);
    *ret = STR("");
    return 0;
}

int crons_write(struct state_run *run, const char *user, struct str text, struct err *err)
{
    const struct tool tool = machine_tool(run);
    const struct tool_options options = { .input = text };

    if (text.n == 0)
        return tool_run(&tool, TOOL("crontab", "-u", user, "-r"), NULL, NULL, err);
    return tool_run(&tool, TOOL("crontab", "-u", user, "-"), &options, NULL, err);
}

int crons_revert(struct state_run *run, const char *user, const char *label, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(CRONS_TEXT_MAX);
    const struct value *before = state_noted(run, "before");
    const struct str lines = before && before->kind == VALUE_STR ? before->s : STR("");
    struct crontab_block block;
    struct str text;
    bool found;

    if (!before) {
        state_unchanged(run);
        return 0;
    }
    if (crons_read(run, user, &text, err) < 0)
        return -1;
    found = crontab_find(text, str_from(label), STR(""), &block);
    crontab_put(text, found ? &block : NULL, lines, &out);
    if (str_eq(buf_view(&out), text)) {
        state_unchanged(run);
        return 0;
    }
    state_say(run,
              lines.n > 0 ? "restored cron entry \"%s\" (revert)"
                          : "removed cron entry \"%s\" (revert)",
              label);
    return crons_write(run, user, buf_view(&out), err);
}

/* --- variables ------------------------------------------------------------------------ */

int crons_validate_variable(const void *args, const struct value *where, struct diags *diags)
{
    const struct crons_variable *want = args;
    const struct value *name = where->kind == VALUE_MAP ? value_get(where, "name") : NULL;
    int result = machine_validate("user", want->user, MACHINE_USER, where, diags);

    if (!machine_is_variable(str_from(want->name)))
        result =
            value_diag(diags, name ? name : where, "'%s' is no name of a variable", want->name);
    return machine_validate("value", want->value, MACHINE_LINE, where, diags) < 0 ? -1 : result;
}

/* The line as it should be; a NULL view: none. Quotes keep blanks at the ends, and what is empty.
 */
static struct str line_of(struct state_run *run, const struct crons_variable *want)
{
    const struct str value = want->value ? str_from(want->value) : STR("");
    const char *quote = value.n == 0 || str_trim(value).n < value.n ? "\"" : "";

    if (!want->value)
        return (struct str){ NULL, 0 };
    return str_from(arena_printf(run->arena, "%s=%s%s%s", want->name, quote, value.p, quote));
}

static int plan_variable(struct state_run *run, const struct crons_variable *want, struct str *ret,
                         struct buf *out, struct err *err)
{
    if (crons_read(run, want->user, ret, err) < 0)
        return -1;
    crontab_set_variable(*ret, str_from(want->name), line_of(run, want), out);
    return edit_finish(out, err);
}

int crons_check_variable(struct state_run *run, const void *args, struct err *err)
{
    const struct crons_variable *want = args;
    AUTO_BUF struct buf out = BUF_INIT(CRONS_TEXT_MAX);
    struct str text;

    if (plan_variable(run, want, &text, &out, err) < 0)
        return -1;
    if (!str_eq(text, buf_view(&out)) && want->value)
        state_differs(run, "%s should be \"%s\" in the crontab of %s", want->name, want->value,
                      want->user);
    else if (!str_eq(text, buf_view(&out)))
        state_differs(run, "%s should not be set in the crontab of %s", want->name, want->user);
    else
        state_say(run, "%s is %s in the crontab of %s", want->name,
                  want->value ? "as it should be" : "not set", want->user);
    return 0;
}

int crons_apply_variable(struct state_run *run, const void *args, struct err *err)
{
    const struct crons_variable *want = args;
    AUTO_BUF struct buf out = BUF_INIT(CRONS_TEXT_MAX);
    struct str text;

    if (plan_variable(run, want, &text, &out, err) < 0)
        return -1;
    if (str_eq(text, buf_view(&out))) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "text", value_str(arena_str(run->arena, text)), err) < 0 ||
        state_note(run, "left", value_str(buf_copy(&out, run->arena)), err) < 0 ||
        crons_write(run, want->user, buf_view(&out), err) < 0)
        return -1;
    state_say(run,
              want->value ? "set %s in the crontab of %s" : "removed %s from the crontab of %s",
              want->name, want->user);
    state_detail(run, "user", "%s", want->user);
    state_detail(run, "name", "%s", want->name);
    return 0;
}

/* The crontab as it was; when others have changed it since, only the variable. */
int crons_revert_variable(struct state_run *run, const void *args, struct err *err)
{
    const struct crons_variable *want = args;
    AUTO_BUF struct buf out = BUF_INIT(CRONS_TEXT_MAX);
    const struct value *before = state_noted(run, "text"), *left = state_noted(run, "left");
    const struct str name = str_from(want->name);
    struct str text;

    if (!before || before->kind != VALUE_STR || !left || left->kind != VALUE_STR) {
        state_unchanged(run);
        return 0;
    }
    if (crons_read(run, want->user, &text, err) < 0)
        return -1;
    if (str_eq(text, left->s))
        buf_add_str(&out, before->s);
    else
        crontab_set_variable(text, name, crontab_variable(before->s, name), &out);
    if (str_eq(text, buf_view(&out))) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "%s is as it was in the crontab of %s (revert)", want->name, want->user);
    return crons_write(run, want->user, buf_view(&out), err);
}
