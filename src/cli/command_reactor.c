/* zester reactor: rules for events. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/fleet_link.h"
#include "cli/pairs.h"
#include "compile/tree.h"
#include "data/json.h"
#include "data/value.h"
#include "nats/conn.h"
#include "reactor/reaction.h"
#include "reactor/rule_check.h"
#include "reactor/rule_set.h"
#include "sys/clock.h"
#include "sys/path.h"
#include "wire/question.h"
#include "wire/subject.h"

/* Timeout of a master. */
#define ANSWER_NS (INT64_C(5) * 1000000000)

/* --- check ----------------------------------------------------------------------- */

struct files {
    VEC(struct rule_file) list;
};

static int read_files(struct cli *cli, const struct tree *tree, const char *folder,
                      struct files *ret_files, struct err *err)
{
    struct tree_names names;

    if (tree_list(tree, cli->arena, "", &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, path) {
        struct rule_file file = { *path, path_join(cli->arena, folder, *path), { NULL, 0 } };

        if (!str_ends(str_from(*path), STR(RULE_SET_SUFFIX)))
            continue;
        if (tree_read(tree, cli->arena, *path, &file.text, err) < 0)
            return -1;
        VEC_PUSH_IN(cli->arena, &ret_files->list, file);
    }
    return 0;
}

static int64_t print_time(void *user)
{
    (void)user;
    return clock_now();
}

static void print_lints(const struct diags *lints)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    diags_print(lints, &out);
    (void)fputs(buf_text(&out), stderr);
}

static const char *plural_of(size_t n)
{
    return n == 1 ? "" : "s";
}

static int check_files(struct cli *cli, const char *folder, const struct files *files)
{
    const struct reaction_options options = { .now = print_time, .lenient = true };
    struct diags diags = DIAGS_INIT(cli->arena), lints = DIAGS_INIT(cli->arena);
    struct reaction_env *env = reaction_env_new(&options);
    struct rule_check_result result;
    const int status = rule_check(env, files->list.p, files->list.n, &result, &diags, &lints);

    reaction_env_free(env);
    if (status < 0)
        (void)cli_diags(cli, &diags);
    print_lints(&lints);
    if (status < 0)
        return cli_error(cli, "%s: %zu mistake%s", folder, diags_count(&diags),
                         plural_of(diags_count(&diags)));
    printf("%s: %zu rule%s, %zu reaction file%s", folder, result.rules, plural_of(result.rules),
           result.files, plural_of(result.files));
    if (diags_count(&lints) > 0)
        printf(", %zu warning%s", diags_count(&lints), plural_of(diags_count(&lints)));
    printf("\n");
    return CLI_OK;
}

static int run_check(struct cli *cli, const void *args, struct param_strs operands)
{
    const char *folder = operands.p[0];
    struct files files = { VEC_INIT };
    struct tree *tree;
    struct err err;
    int status;

    (void)args;
    tree = tree_new(folder, &err);
    if (!tree)
        return cli_err(cli, &err);
    if (read_files(cli, tree, folder, &files, &err) < 0)
        status = cli_err(cli, &err);
    else if (files.list.n == 0)
        status = cli_error(cli, "no " RULE_SET_SUFFIX " files in '%s'", folder);
    else
        status = check_files(cli, folder, &files);
    tree_free(tree);
    return status;
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
    FLEET_OPTIONS(ARGS, fleet),
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

static int ask_master(struct fleet *fleet, const struct question_test *question,
                      struct question_tested *ret_tested, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct nats_pub pub = { .subject = str_from(subject_template(SUBJECT_REACTOR_TEST)) };
    struct str reply;

    if (record_encode(&bytes, &question_test_type, question, err) < 0)
        return -1;
    pub.payload = buf_view(&bytes);
    if (fleet_request(fleet, &pub, ANSWER_NS, &reply, err) < 0) {
        if (err->code == ERR_NOT_FOUND)
            return err_set(err, ERR_NOT_FOUND, "no master with an enabled reactor is running");
        return err_wrap(err, "the masters");
    }
    if (record_decode(fleet->arena, &question_tested_type, 0, reply, ret_tested, err) < 0)
        return err_wrap(err, "the answer");
    return ret_tested->err[0] ? err_set(err, ERR_INVALID, "%s", ret_tested->err) : 0;
}

static struct value list_texts(struct arena *arena, const struct param_strs *texts)
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
        value_map_set(arena, row, value_text("actions"), list_texts(arena, &match->actions));
        value_map_set(arena, row, value_text("errors"), list_texts(arena, &match->errors));
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

static int run_test(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct test_args *want = args;
    struct question_test question = { .key = operands.p[0] };
    struct question_tested tested;
    struct fleet *fleet;
    struct err err;
    int result;

    if (read_data(cli, want, &question.data, &err) < 0 ||
        fleet_open(cli->arena, &want->fleet, &fleet, &err) < 0)
        return cli_err(cli, &err);
    result = ask_master(fleet, &question, &tested, &err);
    fleet_close(fleet);
    return result < 0 ? cli_err(cli, &err)
                      : print_tested(cli, want->fleet.format, question.key, &tested);
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
            "possible without an event: syntax, and names of actions and fields.\n"
            "Rules that are valid but probably wrong are warnings.\n",
        .examples = "  zester reactor check /var/lib/zester/reactor\n",
        .options = params_none,
        .least = 1,
        .most = 1,
        .run = run_check,
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
        .run = run_test,
    },
    { 0 },
};

const struct command command_reactor = {
    .name = "reactor",
    .operands = "",
    .summary = "check and test the rules of the reactor",
    .examples = "  zester reactor check /var/lib/zester/reactor\n"
                "  zester reactor test web-01/deploy\n",
    .commands = reactor_commands,
};
