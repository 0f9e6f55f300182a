/* cron.present - manages an entry in the crontab of a user. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/edit/crontab.h"
#include "core/edit/edit.h"
#include "core/edit/lines.h"
#include "states/modules/cron/crons.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct present_args

struct present_args {
    const char *name, *command, *user, *identifier, *special, *comment;
    const char *fields[CRONTAB_FIELDS];
    bool commented;
};

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "name of the entry; without 'command' also its command", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("command", STR, ARGS, command, "the command", .flags = PARAM_FILLED),
    PARAM("identifier", STR, ARGS, identifier, "identifier of the entry, when the name is the command", .flags = PARAM_FILLED),
    PARAM("user", STR, ARGS, user, "the user who owns the crontab", .default_text = "root"),
    PARAM("minute", STR, ARGS, fields[CRONTAB_MINUTE], "minutes; 'random': one that stays the same on this machine", .default_text = "*"),
    PARAM("hour", STR, ARGS, fields[CRONTAB_HOUR], "hours", .default_text = "*"),
    PARAM("daymonth", STR, ARGS, fields[CRONTAB_DAYMONTH], "days of the month", .default_text = "*"),
    PARAM("month", STR, ARGS, fields[CRONTAB_MONTH], "months", .default_text = "*"),
    PARAM("dayweek", STR, ARGS, fields[CRONTAB_DAYWEEK], "days of the week", .default_text = "*"),
    PARAM("special", STR, ARGS, special, "@reboot, @daily and the like, instead of the five fields", .flags = PARAM_FILLED),
    PARAM("comment", STR, ARGS, comment, "comment above the entry"),
    PARAM("commented", BOOL, ARGS, commented, "keep the entry, commented out"),
    { 0 },
};
/* clang-format on */

static const struct {
    const char *name;
    unsigned low, top;
    unsigned high; /* for 'random': days that every month has */
} fields[CRONTAB_FIELDS] = {
    [CRONTAB_MINUTE] = { "minute", 0, 59, 59 },     [CRONTAB_HOUR] = { "hour", 0, 23, 23 },
    [CRONTAB_DAYMONTH] = { "daymonth", 1, 31, 28 }, [CRONTAB_MONTH] = { "month", 1, 12, 12 },
    [CRONTAB_DAYWEEK] = { "dayweek", 0, 7, 6 },
};

static const char *const specials[] = { "@reboot", "@yearly", "@annually", "@monthly",
                                        "@weekly", "@daily",  "@midnight", "@hourly" };

static const char *get_cron_label(const struct present_args *want)
{
    const char *identifier = crons_identifier(want->identifier);

    return identifier ? identifier : want->name;
}

static const char *get_cron_command(const struct present_args *want)
{
    return want->command ? want->command : want->name;
}

static int validate_special(const struct present_args *want, const struct value *where,
                            struct diags *diags)
{
    if (!want->special)
        return 0;
    for (size_t i = 0; i < CRONTAB_FIELDS; i++)
        if (strcmp(want->fields[i], "*") != 0)
            return value_diag(diags, value_point(where, "special"),
                              "'special' and '%s' are mutually exclusive", fields[i].name);
    for (size_t i = 0; i < ARRAY_LEN(specials); i++)
        if (strcmp(want->special, specials[i]) == 0)
            return 0;
    return value_diag(diags, value_point(where, "special"),
                      "'special' must be @reboot, @yearly, @annually, @monthly, @weekly, "
                      "@daily, @midnight or @hourly, got '%s'",
                      want->special);
}

static int validate_field(size_t i, const char *text, const struct value *where,
                          struct diags *diags)
{
    if (validate_text(fields[i].name, text, VALIDATE_WORD, where, diags) < 0)
        return -1;
    if (strcmp(text, "random") == 0 || crontab_is_field(str_from(text), (enum crontab_field)i))
        return 0;
    return value_diag(diags, value_point(where, fields[i].name),
                      "'%s' must be numbers from %u to %u, '*', ranges and steps, got '%s'",
                      fields[i].name, fields[i].low, fields[i].top, text);
}

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct present_args *want = args;
    int result = validate_text("user", want->user, VALIDATE_USER, where, diags);

    if (validate_text("name", want->name, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    if (validate_text("command", want->command, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    if (validate_text("identifier", want->identifier, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    for (size_t i = 0; i < CRONTAB_FIELDS; i++)
        if (validate_field(i, want->fields[i], where, diags) < 0)
            result = -1;
    for (const char *p = want->comment; p && *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\n' && *p != '\t')
            return value_diag(diags, value_point(where, "comment"),
                              "'comment' must not contain control characters");
    if (want->comment && strstr(want->comment, CRONTAB_MARKER))
        result = value_diag(diags, value_point(where, "comment"),
                            "'comment' must not contain '" CRONTAB_MARKER "'");
    if (str_trim(str_from(get_cron_command(want))).n == 0)
        result = value_diag(diags, value_point(where, "command"), "'command' must not be empty");
    return validate_special(want, where, diags) < 0 ? -1 : result;
}

/* Stable for this entry on this machine, and spread over a fleet. */
static unsigned pick_random_time(struct state_run *run, const struct present_args *want, size_t i)
{
    const char *seed =
        arena_printf(run->arena, "%s/%s/%zu", run->host->peel_id, get_cron_label(want), i);
    unsigned char hash[SHA256_SIZE];

    sha256(seed, strlen(seed), hash);
    return fields[i].low +
           (unsigned)(hash[0] << 8 | hash[1]) % (fields[i].high - fields[i].low + 1);
}

static struct str make_schedule(struct state_run *run, const struct present_args *want)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (want->special)
        return str_from(want->special);
    for (size_t i = 0; i < CRONTAB_FIELDS; i++) {
        buf_add_text(&out, i > 0 ? " " : "");
        if (strcmp(want->fields[i], "random") == 0)
            buf_printf(&out, "%u", pick_random_time(run, want, i));
        else
            buf_add_text(&out, want->fields[i]);
    }
    return buf_copy(&out, run->arena);
}

struct found {
    struct str text;
    bool exists;
    struct crontab_block block;
    struct crontab_entry want;
    struct str lines; /* text of the wanted block */
};

static int plan_entry(struct state_run *run, const struct present_args *want, struct found *ret,
                      struct err *err)
{
    AUTO_BUF struct buf lines = BUF_INIT(CRONS_TEXT_MAX);
    const struct str label = str_trim(str_from(get_cron_label(want)));
    const struct str comment = str_trim(str_from(want->comment ? want->comment : ""));

    if (crons_read(run, want->user, &ret->text, err) < 0)
        return -1;
    ret->want =
        (struct crontab_entry){ make_schedule(run, want),
                                str_trim(str_from(get_cron_command(want))), want->commented };
    ret->exists = crontab_find(ret->text, label, ret->want.command, &ret->block);
    /* Salt knows its entries by its label: with ours it would add them again */
    if (ret->exists && ret->block.salts && str_find_char(comment, '\n', 0) == STR_NONE)
        crontab_print_salts(label, comment, &ret->want, &lines);
    else
        crontab_print(label, comment, &ret->want, &lines);
    ret->lines = buf_copy(&lines, run->arena);
    return 0;
}

static bool is_cron_current(const struct found *found)
{
    return found->exists &&
           str_eq(str_slice(found->text, found->block.at, found->block.size), found->lines);
}

static void report_cron_difference(struct state_run *run, const struct present_args *want,
                                   const struct found *found)
{
    const struct crontab_entry *now = &found->block.entry;
    AUTO_BUF struct buf parts = BUF_INIT(BUF_NO_LIMIT);

    if (!found->exists) {
        state_differs(run, "cron entry \"%s\" does not exist", get_cron_label(want));
        state_made(run, "created cron entry \"%s\"", get_cron_label(want));
        return;
    }
    if (!lines_equal(now->command, found->want.command, true))
        buf_printf(&parts, "; command \"%.*s\" != \"%.*s\"", STR_ARG(now->command),
                   STR_ARG(found->want.command));
    if (!lines_equal(now->schedule, found->want.schedule, true))
        buf_printf(&parts, "; schedule \"%.*s\" != \"%.*s\"", STR_ARG(now->schedule),
                   STR_ARG(found->want.schedule));
    if (!found->block.marked)
        buf_printf(&parts, "; entry is missing identifier comment \"%s\"", get_cron_label(want));
    if (now->disabled != found->want.disabled)
        buf_add_text(&parts,
                     now->disabled ? "; entry is commented out" : "; entry is not commented out");
    if (parts.n == 0)
        buf_add_text(&parts, "; comment or blanks differ");
    state_differs(run, "cron entry \"%s\": %s", get_cron_label(want), buf_text(&parts) + 2);
    state_made(run, "changed cron entry \"%s\": %s", get_cron_label(want), buf_text(&parts) + 2);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    struct found found;

    if (plan_entry(run, want, &found, err) < 0)
        return -1;
    if (is_cron_current(&found))
        state_say(run, "cron entry \"%s\" already converged", get_cron_label(want));
    else
        report_cron_difference(run, want, &found);
    return 0;
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(CRONS_TEXT_MAX);
    struct found found;
    struct str before = STR("");

    if (plan_entry(run, want, &found, err) < 0)
        return -1;
    if (is_cron_current(&found)) {
        state_unchanged(run);
        return 0;
    }
    if (found.exists)
        before = arena_str(run->arena, str_slice(found.text, found.block.at, found.block.size));
    crontab_put(found.text, found.exists ? &found.block : NULL, found.lines, &out);
    if (edit_finish(&out, err) < 0 || state_note(run, "before", value_str(before), err) < 0 ||
        crons_write(run, want->user, buf_view(&out), err) < 0)
        return -1;
    state_say(run, "set cron entry \"%s\" for user %s", get_cron_command(want), want->user);
    state_detail(run, "user", "%s", want->user);
    state_detail(run, "command", "%s", get_cron_command(want));
    state_detail(run, "schedule", "%.*s", STR_ARG(found.want.schedule));
    return 0;
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;

    return crons_revert(run, want->user, get_cron_label(want), err);
}

const struct module module_cron_present = {
    .name = "cron.present",
    .summary = "an entry in the crontab of a user",
    .details = "An unmarked entry with the same command is adopted. Everything else in the crontab "
               "is left alone.",
    .example = "name: backup\ncommand: /usr/local/bin/backup\nuser: root\nminute: 30\nhour: 3\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .lock = CRONS_LOCK,
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = present_revert,
};
