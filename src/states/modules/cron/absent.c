/* cron.absent - removes an entry from the crontab of a user. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/crontab.h"
#include "core/edit/edit.h"
#include "core/edit/lines.h"
#include "states/modules/cron/crons.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name, *command, *user, *identifier, *special;
};

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "name of the entry, or its command", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("command", STR, ARGS, command, "the command: every entry with it is removed", .flags = PARAM_FILLED),
    PARAM("identifier", STR, ARGS, identifier, "identifier of the entry", .flags = PARAM_FILLED),
    PARAM("special", STR, ARGS, special, "only an entry with this special time: @daily", .flags = PARAM_FILLED),
    PARAM("user", STR, ARGS, user, "the user who owns the crontab", .default_text = "root"),
    { 0 },
};
/* clang-format on */

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct absent_args *want = args;

    return validate_text("user", want->user, VALIDATE_USER, where, diags);
}

/* In a Salt file, an entry with another label is another one, although the command is the same. */
static bool is_doomed(const struct state_run *run, const struct absent_args *want,
                      const struct crontab_block *block)
{
    const char *identifier = crons_identifier(want->identifier);
    const char *label = identifier ? identifier : want->name;

    if (want->special && !str_is(block->entry.schedule, want->special))
        return false;
    if (block->marked && str_is(block->label, label))
        return true;
    if (identifier || (run->salt && block->marked))
        return false;
    return lines_equal(block->entry.command, str_from(want->command ? want->command : want->name),
                       true);
}

static int plan_removal(struct state_run *run, const struct absent_args *want, struct str *ret_text,
                        struct buf *out, size_t *ret_count, struct err *err)
{
    struct crontab_block block;
    size_t kept = 0;

    *ret_count = 0;
    if (crons_read_gone(run, want->user, ret_text, err) < 0)
        return -1;
    for (size_t at = 0; crontab_next(*ret_text, at, &block); at = block.at + block.size)
        if (is_doomed(run, want, &block)) {
            buf_add_str(out, str_slice(*ret_text, kept, block.at - kept));
            kept = block.at + block.size;
            ++*ret_count;
        }
    buf_add_str(out, str_from_offset(*ret_text, kept));
    return edit_finish(out, err);
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(CRONS_TEXT_MAX);
    struct str text;
    size_t count;

    if (plan_removal(run, want, &text, &out, &count, err) < 0)
        return -1;
    if (count > 0) {
        state_differs(run, "cron entry for \"%s\" exists and should be absent", want->name);
        state_made(run, "removed cron entry for \"%s\"", want->name);
    } else
        state_say(run, "no cron entry \"%s\"", want->name);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(CRONS_TEXT_MAX);
    struct str text;
    size_t count;

    if (plan_removal(run, want, &text, &out, &count, err) < 0)
        return -1;
    if (count == 0) {
        state_unchanged(run);
        return 0;
    }
    if (crons_replace(run, want->user, text, buf_view(&out), err) < 0)
        return -1;
    state_say(run, "removed cron entry \"%s\" for user %s", want->name, want->user);
    state_detail(run, "user", "%s", want->user);
    state_detail(run, "command", "%s", want->command ? want->command : want->name);
    return 0;
}

static int absent_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;

    return crons_revert_whole(
        run, want->user, arena_printf(run->arena, "restored cron entry \"%s\"", want->name), err);
}

const struct module module_cron_absent = {
    .name = "cron.absent",
    .summary = "remove an entry from the crontab of a user",
    .example = "name: old-backup\nuser: root\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .lock = CRONS_LOCK,
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
    .revert = absent_revert,
};
