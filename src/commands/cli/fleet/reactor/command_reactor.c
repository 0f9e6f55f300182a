/* zester reactor: rules for events. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/pairs.h"
#include "commands/cli/fleet/reactor/reactor_replay.h"
#include "fleet/master/reactor/rule_files.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/conn.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rule_check.h"
#include "fleet/reactor/rule_set.h"
#include "core/sys/clock.h"
#include "fleet/wire/outcome.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

/* Timeout of a master. */
#define ANSWER_NS (INT64_C(5) * 1000000000)

/* --- check ----------------------------------------------------------------------- */

static int64_t print_check_time(void *user)
{
    (void)user;
    return clock_now();
}

/* As compilers do: "file:line: warning: text". */
static void print_lints(struct arena *arena, struct diags *lints)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH (&lints->list, lint)
        lint->text = arena_printf(arena, "warning: %s", lint->text);
    diags_print(lints, &out);
    (void)fputs(buf_text(&out), stderr);
}

static const char *find_plural_ending(size_t n)
{
    return n == 1 ? "" : "s";
}

static void add_diags(struct arena *arena, struct value_map *out, const char *key,
                      const struct diags *diags)
{
    struct value_list *rows = value_list_new(arena, diags->list.n);

    VEC_EACH (&diags->list, diag) {
        struct value_map *row = value_map_new(arena, 5);

        value_map_set(arena, row, value_text("file"), value_text(diag->at.file));
        value_map_set(arena, row, value_text("line"), value_int(diag->at.line));
        value_map_set(arena, row, value_text("column"), value_int(diag->at.column));
        value_map_set(arena, row, value_text("message"), value_text(diag->text));
        if (diag->hint)
            value_map_set(arena, row, value_text("hint"), value_text(diag->hint));
        value_list_push(arena, rows, value_map(row));
    }
    value_map_set(arena, out, value_text(key), value_list(rows));
}

static int print_check(struct cli *cli, enum fleet_format format,
                       const struct rule_check_result *result, const struct diags *mistakes,
                       const struct diags *warnings)
{
    struct value_map *out = value_map_new(cli->arena, 4);
    const struct value whole = value_map(out);

    value_map_set(cli->arena, out, value_text("rules"), value_int((int64_t)result->rules));
    value_map_set(cli->arena, out, value_text("files"), value_int((int64_t)result->files));
    add_diags(cli->arena, out, "mistakes", mistakes);
    add_diags(cli->arena, out, "warnings", warnings);
    return fleet_print(cli, format, &whole);
}

static int report_check(struct cli *cli, const char *folder, const struct rule_check_result *result,
                        struct diags *mistakes, struct diags *warnings)
{
    const size_t wrong = diags_count(mistakes), odd = diags_count(warnings);

    if (wrong > 0)
        (void)cli_diags(cli, mistakes);
    print_lints(cli->arena, warnings);
    if (wrong > 0)
        return cli_error(cli, "%s: %zu mistake%s", folder, wrong, find_plural_ending(wrong));
    printf("%s: %zu rule%s, %zu reaction file%s", folder, result->rules,
           find_plural_ending(result->rules), result->files, find_plural_ending(result->files));
    if (odd > 0)
        printf(", %zu warning%s", odd, find_plural_ending(odd));
    printf("\n");
    return CLI_OK;
}

struct check_args {
    enum fleet_format format;
};

/* clang-format off */
static const struct param check_options[] = {
    PARAM("format", CHOICE, struct check_args, format, "output format", .choices = "text|json|yaml", .default_text = "text"),
    { 0 },
};
/* clang-format on */

static int run_reactor_check(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct reaction_options options = { .now = print_check_time, .lenient = true };
    const enum fleet_format format = ((const struct check_args *)args)->format;
    struct diags mistakes = DIAGS_INIT(cli->arena), warnings = DIAGS_INIT(cli->arena);
    struct rule_check_result result;
    struct reaction_env *env;
    struct rule_files files;
    struct err err;
    int status;

    if (rule_files_read(cli->arena, operands.p[0], &files, &err) < 0)
        return cli_err(cli, &err);
    env = reaction_env_new(&options);
    status = rule_check(env, files.list.p, files.list.n, &result, &mistakes, &warnings);
    reaction_env_free(env);
    if (format == FLEET_TEXT)
        return report_check(cli, operands.p[0], &result, &mistakes, &warnings);
    (void)print_check(cli, format, &result, &mistakes, &warnings);
    return status < 0 ? CLI_ERROR : CLI_OK;
}

/* --- test ------------------------------------------------------------------------ */

struct test_args {
    struct fleet_options fleet;
    struct param_strs data;
    const char *event_json;
};

#define ARGS struct test_args

/* clang-format off */
static const struct param test_options[] = {
    PARAM("data",       STRS, ARGS, data, "a value of the event's data; may be repeated", .kind_text = "KEY=VALUE"),
    PARAM("event-json", STR,  ARGS, event_json, "the event's data, as a JSON object", .kind_text = "JSON"),
    FLEET_OPTIONS_TIMED(ARGS, fleet, "how long to wait for a master", .default_text = "5s"),
    { 0 },
};
/* clang-format on */

/* The object of --event-json, with the pairs of --data on top. */
static int read_data(struct cli *cli, const struct test_args *want, struct value *ret,
                     struct err *err)
{
    struct value base = value_null(), pairs;

    if (want->event_json) {
        if (json_decode(cli->arena, str_from(want->event_json), &base, err) < 0)
            return err_wrap(err, "--event-json");
        if (base.kind != VALUE_MAP)
            return err_set(err, ERR_INVALID, "--event-json: expected an object");
    }
    if (pairs_read(cli->arena, &want->data, &pairs, err) < 0)
        return err_wrap(err, "--data");
    *ret = base.kind == VALUE_MAP && pairs.kind == VALUE_MAP
               ? value_merge(cli->arena, &base, &pairs, VALUE_MERGE_REPLACE)
               : (pairs.kind == VALUE_MAP ? pairs : base);
    return 0;
}

/* `answer` is the type of the reply. */
static int request_master(struct fleet *fleet, const struct nats_pub *pub,
                          const struct record_type *answer, void *ret, struct err *err)
{
    struct str reply;

    if (fleet_request(fleet, pub, ANSWER_NS, &reply, err) < 0) {
        if (err->code == ERR_NOT_FOUND)
            return err_set(err, ERR_NOT_FOUND, "no master with an enabled reactor is running");
        return err_wrap(err, "the masters");
    }
    if (record_decode(fleet->arena, answer, 0, reply, ret, err) < 0)
        return err_wrap(err, "the answer");
    return 0;
}

static int test_at_master(struct fleet *fleet, const struct question_test *question,
                          struct question_tested *ret_tested, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct nats_pub pub = { .subject = str_from(subject_template(SUBJECT_REACTOR_TEST)) };

    if (record_encode(&bytes, &question_test_type, question, err) < 0)
        return -1;
    pub.payload = buf_view(&bytes);
    if (request_master(fleet, &pub, &question_tested_type, ret_tested, err) < 0)
        return -1;
    return ret_tested->err[0] ? err_set(err, ERR_INVALID, "%s", ret_tested->err) : 0;
}

static struct value list_match_texts(struct arena *arena, const struct param_strs *texts)
{
    struct value_list *list = value_list_new(arena, texts->n);

    for (size_t i = 0; i < texts->n; i++)
        value_list_push(arena, list, value_text(texts->p[i]));
    return value_list(list);
}

static struct value describe_tested(struct arena *arena, const char *key,
                                    const struct question_tested *tested)
{
    struct value_map *map = value_map_new(arena, 2);
    struct value_list *list = value_list_new(arena, tested->matched.list.n);

    VEC_EACH (&tested->matched.list, match) {
        struct value_map *row = value_map_new(arena, 3);

        value_map_set(arena, row, value_text("rule"), value_text(match->rule));
        value_map_set(arena, row, value_text("actions"), list_match_texts(arena, &match->actions));
        value_map_set(arena, row, value_text("errors"), list_match_texts(arena, &match->errors));
        value_list_push(arena, list, value_map(row));
    }
    value_map_set(arena, map, value_text("key"), value_text(key));
    value_map_set(arena, map, value_text("matched"), value_list(list));
    return value_map(map);
}

static int print_tested(struct cli *cli, enum fleet_format format, const char *key,
                        const struct question_tested *tested)
{
    const struct value result = describe_tested(cli->arena, key, tested);

    if (format != FLEET_TEXT)
        return fleet_print(cli, format, &result);
    if (tested->matched.list.n == 0)
        printf("no rule matches '%s'\n", key);
    VEC_EACH (&tested->matched.list, match) {
        printf("%s\n", match->rule);
        if (match->actions.n + match->errors.n == 0)
            printf("  nothing to do\n");
        for (size_t i = 0; i < match->actions.n; i++)
            printf("  %s\n", match->actions.p[i]);
        for (size_t i = 0; i < match->errors.n; i++)
            printf("  error: %s\n", match->errors.p[i]);
    }
    return CLI_OK;
}

static int run_reactor_test(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct test_args *want = args;
    struct question_test question = { .key = operands.p[0] };
    struct question_tested tested = { .err = "" };
    struct err err;

    if (read_data(cli, want, &question.data, &err) < 0)
        return cli_err(cli, &err);
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    return test_at_master(cli->fleet, &question, &tested, &err) < 0
               ? cli_err(cli, &err)
               : print_tested(cli, want->fleet.format, question.key, &tested);
}

/* --- retry ----------------------------------------------------------------------- */

struct retry_args {
    struct fleet_options fleet;
    bool all;
};

/* clang-format off */
static const struct param retry_options[] = {
    PARAM("all", BOOL, struct retry_args, all, "every event that was given up"),
    FLEET_OPTIONS(struct retry_args, fleet),
    { 0 },
};
/* clang-format on */

struct exhausted {
    struct arena *arena;
    VEC(const char *) ids;
};

static void note_exhausted(void *self, const struct nats_kv_entry *entry)
{
    struct exhausted *exhausted = self;
    struct outcome outcome;
    struct err err;

    if (record_decode(exhausted->arena, &outcome_type, 0, entry->value, &outcome, &err) == 0 &&
        outcome.outcome == OUTCOME_EXHAUSTED)
        VEC_PUSH_IN(exhausted->arena, &exhausted->ids, arena_strdup(exhausted->arena, outcome.id));
}

/* Ask a master to send an event again, and add what it says to `out`. */
static int retry_event(struct fleet *fleet, const char *id, struct value_list *out, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct nats_pub pub = { .subject = str_from(subject_template(SUBJECT_REACTOR_RETRY)) };
    struct value_map *row = value_map_new(fleet->arena, 3);
    struct question_retried retried = { .err = "" };

    if (record_encode(&bytes, &question_retry_type,
                      &(struct question_retry){ id, fleet_user(fleet->arena) }, err) < 0)
        return -1;
    pub.payload = buf_view(&bytes);
    if (request_master(fleet, &pub, &question_retried_type, &retried, err) < 0)
        return -1;
    if (retried.err[0])
        return err_set(err, ERR_INVALID, "event '%.256s': %s", id, retried.err);
    value_map_set(fleet->arena, row, value_text("id"), value_text(id));
    value_map_set(fleet->arena, row, value_text("key"), value_text(retried.key));
    value_map_set(fleet->arena, row, value_text("seq"), value_int((int64_t)retried.seq));
    value_list_push(fleet->arena, out, value_map(row));
    return 0;
}

static int retry_events(struct fleet *fleet, const struct retry_args *want,
                        const struct param_strs *named, struct value_list *out, struct err *err)
{
    struct exhausted exhausted = { .arena = fleet->arena };

    for (size_t i = 0; i < named->n; i++)
        VEC_PUSH_IN(fleet->arena, &exhausted.ids, named->p[i]);
    if (want->all &&
        fleet_bucket_each(fleet, STORE_EVENT_OUTCOMES, NULL, note_exhausted, &exhausted, err) < 0)
        return -1;
    VEC_EACH (&exhausted.ids, id)
        if (retry_event(fleet, *id, out, err) < 0)
            return -1;
    return 0;
}

static int print_retried(struct cli *cli, enum fleet_format format, struct value_list *list)
{
    const struct value result = value_list(list);

    if (format != FLEET_TEXT)
        return fleet_print(cli, format, &result);
    for (size_t i = 0; i < list->count; i++)
        printf("%s sent again (%s)\n", value_get_text(&list->items[i], "id"),
               value_get_text(&list->items[i], "key"));
    if (list->count == 0)
        printf("no event was given up\n");
    return CLI_OK;
}

static int run_reactor_retry(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct retry_args *want = args;
    struct value_list *list = value_list_new(cli->arena, operands.n);
    struct err err;
    int result, status;

    if (want->all == (operands.n > 0))
        return cli_error(cli, "expected event ids, or --all");
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    result = retry_events(cli->fleet, want, &operands, list, &err);
    status = result == 0 || list->count > 0 ? print_retried(cli, want->fleet.format, list) : CLI_OK;
    return result < 0 ? cli_err(cli, &err) : status;
}

/* --- replay ---------------------------------------------------------------------- */

#define REPLAY struct reactor_replay_options

/* clang-format off */
static const struct param replay_options[] = {
    PARAM("since",   DURATION, REPLAY, since, "how old the events may be", .default_text = "1d", PARAM_RANGE(1, INT64_MAX)),
    PARAM("rules",   STR,      REPLAY, rules, "a folder of rules instead of the published ones", .kind_text = "DIR"),
    PARAM("changed", BOOL,     REPLAY, changed, "show only events that would be handled differently"),
    FLEET_OPTIONS(REPLAY, fleet),
    { 0 },
};
/* clang-format on */

static int run_replay(struct cli *cli, const void *args, struct param_strs operands)
{
    (void)operands;
    return reactor_replay(cli, args);
}

/* --- the group ------------------------------------------------------------------- */

static const struct command reactor_commands[] = {
    {
        .name = "check",
        .operands = "DIR",
        .summary = "check a folder of rules for mistakes",
        .details =
            "DIR contains top.zy and the reaction files. Mistakes are reported with file, line\n"
            "and column, all at once. Reactions that are templates are checked as far as\n"
            "possible without an event: syntax, names that nothing defines, names of actions and\n"
            "fields, and values that do not depend on the event, also in blocks below conditions.\n"
            "Rules that are valid but probably wrong are warnings.\n"
            "JSON and YAML have rules, files, mistakes and warnings, each with file, line,\n"
            "column, message and hint.\n",
        .examples = "  zester reactor check /var/lib/zester/reactor\n"
                    "  zester reactor check ./reactor --format json\n",
        .options = check_options,
        .args_size = sizeof(struct check_args),
        .least = 1,
        .most = 1,
        .run = run_reactor_check,
    },
    {
        .name = "test",
        .operands = "KEY",
        .summary = "show what rules would do for an event",
        .details =
            "KEY is <origin>/<tag>. A master with an enabled reactor matches it against its\n"
            "rules, renders the reactions and reports what they would do. Nothing is executed.\n",
        .examples = "  zester reactor test _master/enroll/pending/enr-1\n"
                    "  zester reactor test web-01/myco/deploy/finished --data version=1.2.3\n",
        .options = test_options,
        .args_size = sizeof(struct test_args),
        .least = 1,
        .most = 1,
        .run = run_reactor_test,
    },
    {
        .name = "replay",
        .operands = "",
        .summary = "show what rules would do about stored events",
        .details = "Events that are stored are matched against the published rules, or those of a\n"
                   "folder, and compared with what happened. Nothing is executed. Limits that\n"
                   "depend on the moment (throttle, breaker, rates, age) are left out.\n",
        .examples = "  zester reactor replay --since 1d\n"
                    "  zester reactor replay --since 1h --rules ./reactor --changed\n",
        .options = replay_options,
        .args_size = sizeof(struct reactor_replay_options),
        FLEET_CONNECT(REPLAY, fleet),
        .run = run_replay,
    },
    {
        .name = "retry",
        .operands = "[ID...]",
        .summary = "resend events that were given up",
        .details =
            "An event whose reactions fail is delivered five times; then it is given up and its\n"
            "outcome is 'exhausted' (zester event why ID). Masters do not resend it. This command\n"
            "does, with the same id and a new time: blocks that have already acted do not act\n"
            "twice.\n",
        .examples = "  zester reactor retry 2zXIrW5BRYYL9qsa9TZcxkTAWVP\n"
                    "  zester reactor retry --all\n",
        .options = retry_options,
        .args_size = sizeof(struct retry_args),
        .most = COMMAND_MANY,
        .run = run_reactor_retry,
    },
    { 0 },
};

const struct command command_reactor = {
    .name = "reactor",
    .operands = "",
    .summary = "check, test and replay rules of the reactor, resend events",
    .examples = "  zester reactor check /var/lib/zester/reactor\n"
                "  zester reactor test web-01/deploy\n",
    .commands = reactor_commands,
};
