#include "modules/crons.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "edit/crontab.h"
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
