/* zester operator: people with credentials of their own, and what they may do. */
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/audit.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/fleet/operator/operator_book.h"
#include "commands/cli/fleet/list.h"
#include "core/data/time_text.h"
#include "fleet/nats/conn.h"
#include "core/sys/clock.h"

#define LIFE_MAX_NS (INT64_C(366) * 86400 * 1000000000)
#define REMOVE_NS   (INT64_C(30) * 1000000000)

struct operator_args {
    struct fleet_options fleet;
    enum operator_role role;
    bool has_role, no_approval;
    const char *target, *out, *dir;
    struct param_strs functions, approvals;
    int64_t life;
};

#define ARGS struct operator_args

/* clang-format off */
#define POLICY_OPTIONS                                                                                                                                                       \
    PARAM("role",     CHOICE, ARGS, role, "the kind of requests that the operator may make", PARAM_GIVEN(ARGS, has_role), .choices = OPERATOR_ROLE_CHOICES, .default_text = "operator"),    \
    PARAM("target",   STR,    ARGS, target, "only peels that match this expression (all)", .kind_text = "TARGET"),                                                          \
    PARAM("function", STRS,   ARGS, functions, "only functions that match; may be repeated (all)", .kind_text = "GLOB"),                                                    \
    PARAM("approval", STRS,   ARGS, approvals, "functions that a second person has to approve; may be repeated (none)", .kind_text = "GLOB")
#define ISSUE_OPTIONS                                                                                                                                                       \
    PARAM("expires", DURATION, ARGS, life, "validity of the credentials", PARAM_RANGE(CLOCK_SECOND, LIFE_MAX_NS), .default_text = "720h"),                                  \
    PARAM("out",     STR,      ARGS, out, "the file to write (NAME.creds)", .kind_text = "FILE"),                                                                           \
    PARAM("dir",     STR,      ARGS, dir, "the folder of the account's seed (that of the configuration)", .kind_text = "DIR")

static const struct param add_options[] = {
    POLICY_OPTIONS,
    ISSUE_OPTIONS,
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param issue_options[] = {
    ISSUE_OPTIONS,
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param set_options[] = {
    POLICY_OPTIONS,
    PARAM("no-approval", BOOL, ARGS, no_approval, "no function needs the approval of a second person"),
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};

static const struct param plain_options[] = {
    FLEET_OPTIONS(ARGS, fleet),
    { 0 },
};
/* clang-format on */

static struct value_time read_policy_time(void)
{
    return (struct value_time){ .seconds = bus_time_seconds() };
}

/* --- what is asked for ---------------------------------------------------------------- */

static bool runs_jobs(enum operator_role role)
{
    return role == OPERATOR_OPERATOR || role == OPERATOR_ADMIN;
}

static int check_policy_globs(struct cli *cli, const char *option, const struct param_strs *globs)
{
    struct err err;

    for (size_t i = 0; i < globs->n; i++)
        if (operator_check_glob(globs->p[i], &err) < 0)
            return cli_usage(cli, "--%s: %s", option, err.text);
    return CLI_OK;
}

static int check_policy_args(struct cli *cli, const struct operator_args *want,
                             enum operator_role role)
{
    struct err err;

    if (!runs_jobs(role) && (want->target || want->functions.n > 0 || want->approvals.n > 0))
        return cli_usage(cli,
                         "--target, --function and --approval limit jobs, and the role '%s' runs "
                         "none",
                         operator_role_name(role));
    if (want->approvals.n > 0 && want->no_approval)
        return cli_usage(cli, "--approval and --no-approval exclude each other");
    if (want->target && fleet_check_target(cli->arena, want->target, &err) < 0)
        return cli_usage(cli, "--target: %s", err.text);
    if (check_policy_globs(cli, "function", &want->functions) != CLI_OK)
        return CLI_ERROR;
    return check_policy_globs(cli, "approval", &want->approvals);
}

/* Options that were not given change nothing. */
static void take_args(const struct operator_args *want, struct operator_policy *policy)
{
    static const char *const all[] = { "*" };
    const struct param_strs none = { 0 };

    if (!runs_jobs(policy->role)) {
        policy->target = "";
        policy->functions = policy->approvals = none;
        return;
    }
    if (want->target || !policy->target[0])
        policy->target = want->target ? want->target : "*";
    if (want->functions.n > 0 || policy->functions.n == 0)
        policy->functions = want->functions.n > 0 ? want->functions : (struct param_strs){ 1, all };
    if (want->approvals.n > 0 || want->no_approval)
        policy->approvals = want->approvals;
}

/* --- add and issue -------------------------------------------------------------------- */

static int find_issue(struct cli *cli, const struct operator_args *want, const char *name,
                      struct operator_issue *ret, struct err *err)
{
    struct fleet_target target;

    if (fleet_find(cli->arena, &want->fleet, &target, err) < 0)
        return -1;
    *ret = (struct operator_issue){
        .auth_dir = want->dir ? want->dir : target.auth_dir,
        .file = want->out ? want->out : arena_printf(cli->arena, "%s.creds", name),
        .life = want->life,
    };
    return 0;
}

/* The file first: without it the key is useless. */
static int issue_and_write(struct cli *cli, struct fleet *fleet, const struct operator_args *want,
                           struct operator_policy *policy, uint64_t revision, struct err *err)
{
    struct operator_issue issue;

    if (find_issue(cli, want, policy->name, &issue, err) < 0 ||
        operator_book_issue(fleet, &issue, policy, err) < 0)
        return -1;
    if (operator_book_write(fleet, policy, revision, err) == 0)
        return 0;
    operator_book_withdraw(fleet, &issue);
    return -1;
}

static int add_operator(struct cli *cli, struct fleet *fleet, const struct operator_args *want,
                        const char *name, struct operator_policy *policy, struct err *err)
{
    struct operator_policy earlier;
    uint64_t revision = 0;

    *policy = (struct operator_policy){ .name = name,
                                        .role = want->role,
                                        .target = "",
                                        .created = read_policy_time(),
                                        .updated = read_policy_time(),
                                        .created_by = fleet_user(cli->arena) };
    take_args(want, policy);
    if (operator_book_find(fleet, name, true, &earlier, &revision, err) < 0) {
        if (err->code != ERR_NOT_FOUND)
            return -1;
    } else if (!earlier.removed) {
        return err_set(err, ERR_BUSY,
                       "operator '%s' already exists: 'zester operator set' changes it, 'zester "
                       "operator issue' makes new credentials",
                       name);
    } else {
        policy->keys = earlier.keys; /* revoked ones stay so */
    }
    return issue_and_write(cli, fleet, want, policy, revision, err);
}

static int print_issued(struct cli *cli, const struct operator_args *want,
                        const struct operator_policy *policy)
{
    const char *file = want->out ? want->out : arena_printf(cli->arena, "%s.creds", policy->name);
    const struct operator_key *key = &policy->keys.list.p[policy->keys.list.n - 1];
    struct value_map *map = value_map_new(cli->arena, 4);
    const struct value result = value_map(map);

    if (want->fleet.format == FLEET_TEXT) {
        printf("Wrote credentials for %s (role %s, until %s) to %s\n", policy->name,
               operator_role_name(policy->role), time_text(cli->arena, key->expires), file);
        return CLI_OK;
    }
    value_map_set(cli->arena, map, value_text("name"), value_text(policy->name));
    value_map_set(cli->arena, map, value_text("role"),
                  value_text(operator_role_name(policy->role)));
    value_map_set(cli->arena, map, value_text("file"), value_text(file));
    value_map_set(cli->arena, map, value_text("expires"),
                  value_text(time_text(cli->arena, key->expires)));
    return fleet_print(cli, want->fleet.format, &result);
}

static int check_add(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct operator_args *want = args;
    struct err err;

    if (operator_check_name(operands.p[0], &err) < 0)
        return cli_usage(cli, "%s", err.text);
    return check_policy_args(cli, want, want->role) == CLI_OK ? CLI_OK : CLI_ERROR;
}

static int run_add(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct operator_args *want = args;
    struct fleet *fleet = cli->fleet;
    struct operator_policy policy;
    struct err err;
    int result = fleet_require_admin(fleet, "add operators", &err);

    if (result == 0)
        result = add_operator(cli, fleet, want, operands.p[0], &policy, &err);
    if (!fleet->operator_name)
        fleet_audit(cli, fleet, AUDIT_OPERATOR_ADD, operands.p[0], result < 0 ? &err : NULL);
    return result < 0 ? cli_err(cli, &err) : print_issued(cli, want, &policy);
}

/* --- changes of one that is there ------------------------------------------------------ */

/* Changes the policy before it is written. */
typedef int change_fn(struct cli *cli, struct fleet *fleet, const struct operator_args *want,
                      struct operator_policy *policy, uint64_t revision, struct err *err);

static int change_operator(struct cli *cli, const struct operator_args *want, const char *name,
                           enum audit_act act, change_fn *change,
                           struct operator_policy *ret_policy)
{
    struct fleet *fleet = cli->fleet;
    uint64_t revision;
    struct err err;
    int result = fleet_require_admin(fleet, "change operators", &err);

    if (result == 0)
        result = operator_book_find(fleet, name, false, ret_policy, &revision, &err);
    if (result == 0) {
        ret_policy->updated = read_policy_time();
        result = change(cli, fleet, want, ret_policy, revision, &err);
    }
    if (!fleet->operator_name)
        fleet_audit(cli, fleet, act, name, result < 0 ? &err : NULL);
    return result < 0 ? cli_err(cli, &err) : CLI_OK;
}

static int run_operator_issue(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct operator_args *want = args;
    struct operator_policy policy;

    if (change_operator(cli, want, operands.p[0], AUDIT_OPERATOR_ISSUE, issue_and_write, &policy) !=
        CLI_OK)
        return CLI_ERROR;
    return print_issued(cli, want, &policy);
}

static int set_policy(struct cli *cli, struct fleet *fleet, const struct operator_args *want,
                      struct operator_policy *policy, uint64_t revision, struct err *err)
{
    const bool was_deaf = policy->role == OPERATOR_ENROLLER;

    if (want->has_role)
        policy->role = want->role;
    if (check_policy_args(cli, want, policy->role) != CLI_OK)
        return err_set(err, ERR_INVALID, "nothing was changed");
    take_args(want, policy);
    if (operator_book_write(fleet, policy, revision, err) < 0)
        return -1;
    if (was_deaf != (policy->role == OPERATOR_ENROLLER))
        (void)fprintf(stderr,
                      "warning: access to returns and events is part of the credentials of %s; "
                      "issue new ones: zester operator issue %s\n",
                      policy->name, policy->name);
    return 0;
}

static int check_set(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct operator_args *want = args;

    (void)operands;
    if (!want->has_role && !want->target && want->functions.n == 0 && want->approvals.n == 0 &&
        !want->no_approval)
        return cli_usage(cli, "nothing to change: give --role, --target, --function or --approval");
    return CLI_OK;
}

static int run_set(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct operator_args *want = args;
    struct operator_policy policy;

    if (change_operator(cli, want, operands.p[0], AUDIT_OPERATOR_SET, set_policy, &policy) !=
        CLI_OK)
        return CLI_ERROR;
    printf("Updated operator '%s'\n", policy.name);
    return CLI_OK;
}

/* --- list and show -------------------------------------------------------------------- */

static struct value make_texts_value(struct arena *arena, const struct param_strs *texts)
{
    struct value_list *list = value_list_new(arena, texts->n);

    for (size_t i = 0; i < texts->n; i++)
        value_list_push(arena, list, value_text(texts->p[i]));
    return value_list(list);
}

static struct value time_value(struct arena *arena, struct value_time time)
{
    return time.seconds ? value_text(time_text(arena, time)) : value_null();
}

static struct value keys_value(struct arena *arena, const struct operator_policy *policy)
{
    struct value_list *list = value_list_new(arena, policy->keys.list.n);

    VEC_EACH (&policy->keys.list, key) {
        struct value_map *map = value_map_new(arena, 4);

        value_map_set(arena, map, value_text("public_key"), value_text(key->public_key));
        value_map_set(arena, map, value_text("issued"), time_value(arena, key->issued));
        value_map_set(arena, map, value_text("expires"), time_value(arena, key->expires));
        value_map_set(arena, map, value_text("revoked"), time_value(arena, key->revoked));
        value_list_push(arena, list, value_map(map));
    }
    return value_list(list);
}

static struct value describe_operator(struct arena *arena, const struct operator_policy *policy)
{
    const int64_t now = bus_time_seconds();
    struct value_map *map = value_map_new(arena, 10);

    value_map_set(arena, map, value_text("name"), value_text(policy->name));
    value_map_set(arena, map, value_text("role"), value_text(operator_role_name(policy->role)));
    value_map_set(arena, map, value_text("state"), value_text(operator_book_state(policy, now)));
    value_map_set(arena, map, value_text("target"), value_text(policy->target));
    value_map_set(arena, map, value_text("functions"), make_texts_value(arena, &policy->functions));
    value_map_set(arena, map, value_text("approvals"), make_texts_value(arena, &policy->approvals));
    value_map_set(arena, map, value_text("created"), time_value(arena, policy->created));
    value_map_set(arena, map, value_text("created_by"), value_text(policy->created_by));
    value_map_set(arena, map, value_text("expires"), time_value(arena, operator_book_end(policy)));
    value_map_set(arena, map, value_text("keys"), keys_value(arena, policy));
    return value_map(map);
}

static const struct fleet_column list_columns[] = {
    FLEET_COLUMN("NAME", "name"),
    FLEET_COLUMN("ROLE", "role"),
    FLEET_COLUMN("STATE", "state"),
    FLEET_COLUMN("TARGET", "target", .empty = "-"),
    FLEET_COLUMN("FUNCTIONS", "functions", .empty = "-"),
    FLEET_COLUMN("APPROVALS", "approvals", .empty = "-"),
    FLEET_COLUMN("EXPIRES", "expires", .empty = "-"),
};

static int run_operator_list(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct operator_args *want = args;
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, list_columns);
    struct operator_book book;
    struct err err;

    (void)operands;
    if (operator_book_read(cli->fleet, &book, &err) < 0)
        return cli_err(cli, &err);
    VEC_EACH (&book.list, policy)
        fleet_list_add(&list, describe_operator(cli->arena, policy), policy);
    return fleet_list_print(cli, want->fleet.format, &list);
}

static int run_operator_show(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct operator_args *want = args;
    struct operator_policy policy;
    struct value whole;
    uint64_t revision;
    struct err err;

    if (operator_book_find(cli->fleet, operands.p[0], true, &policy, &revision, &err) < 0)
        return cli_err(cli, &err);
    whole = describe_operator(cli->arena, &policy);
    return fleet_print(cli, want->fleet.format == FLEET_TEXT ? FLEET_YAML : want->fleet.format,
                       &whole);
}

/* --- remove --------------------------------------------------------------------------- */

static int ask_removal(struct cli *cli, struct fleet *fleet, const struct operator_args *want,
                       const char *name, struct err *err)
{
    const struct operator_removal request = { name, fleet_user(cli->arena) };
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct operator_removed reply;
    struct str answer;

    if (fleet_require_admin(fleet, "remove operators", err) < 0 ||
        record_encode(&bytes, &operator_removal_type, &request, err) < 0)
        return -1;
    if (fleet_request(
            fleet,
            &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_OPERATOR_REMOVE)),
                                .payload = buf_view(&bytes) },
            want->fleet.has_timeout ? want->fleet.timeout : REMOVE_NS, &answer, err) < 0)
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no master is running")
                                          : -1;
    if (record_decode(cli->arena, &operator_removed_type, 1, answer, &reply, err) < 0)
        return -1;
    if (reply.err[0])
        return err_set(err, ERR_INVALID, "%s", reply.err);
    if (reply.warning[0])
        (void)fprintf(stderr, "warning: %s\n", reply.warning);
    return 0;
}

static int run_remove(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct operator_args *want = args;
    int status = CLI_OK;
    struct err err;

    for (size_t i = 0; i < operands.n; i++) {
        if (ask_removal(cli, cli->fleet, want, operands.p[i], &err) < 0)
            status = cli_error(cli, "'%s': %s", operands.p[i], err.text);
        else
            printf("%s removed: credentials revoked\n", operands.p[i]);
    }
    return status;
}

/* --- the commands --------------------------------------------------------------------- */

#define OPERATOR_COMMAND(table, function, low, high)                                               \
    .options = (table), .args_size = sizeof(ARGS), .least = (low), .most = (high),                 \
    .run = (function), FLEET_CONNECT(ARGS, fleet)

static const struct command operator_commands[] = {
    { .name = "add",
      .operands = "NAME",
      .summary = "add an operator: personal credentials, limited to a role and a scope",
      .details =
          "Roles: 'viewer' reads jobs, facts and events; 'operator' also runs jobs within\n"
          "--function and --target, cancels its own and sends events (if 'event.send' matches a\n"
          "--function); 'enroller' decides about enrollments and does nothing else; 'admin'\n"
          "may do all that masters do for others, jobs within --function and --target.\n"
          "Every peel of a job has to be inside of --target, or the whole job is refused.\n"
          "With --approval, jobs of matching functions wait for 'zester job approve'.\n"
          "Run it where the keys of the fleet are, with admin.creds. Hand over the file and the\n"
          "CA certificate of the bus: 'zester --creds FILE --nats-ca nats-ca.crt ...'.\n",
      .examples = "  zester operator add alice --target 'web*' --function 'state.*' --function "
                  "test.ping\n"
                  "  zester operator add bob --approval cmd.run --approval 'state.*'\n"
                  "  zester operator add eve --role viewer --expires 8h --out /tmp/eve.creds\n",
      .check = check_add,
      OPERATOR_COMMAND(add_options, run_add, 1, 1) },
    { .name = "issue",
      .operands = "NAME",
      .lookup = "operator list",
      .summary = "issue new credentials for an operator",
      .details =
          "Earlier ones stay valid until they expire, or until the operator is removed.\n"
          "Credentials are never changed: hand the new file over in place of the old one. What\n"
          "the operator may do is not in them; 'zester operator set' changes it.\n"
          "Run it where the keys of the fleet are, with admin.creds.\n",
      .examples = "  zester operator issue alice --expires 8h --out alice-today.creds\n",
      OPERATOR_COMMAND(issue_options, run_operator_issue, 1, 1) },
    { .name = "set",
      .operands = "NAME",
      .lookup = "operator list",
      .summary = "change what an operator may do; credentials stay as they are",
      .details = "Options that are not given change nothing: '--function \'*\'' and '--target "
                 "\'*\'' lift\n"
                 "a limit, '--no-approval' lifts all approvals. It takes effect with the\n"
                 "next request. 'zester operator issue' sets how long credentials are valid.\n",
      .examples = "  zester operator set alice --target 'web* or db*'\n",
      .check = check_set,
      OPERATOR_COMMAND(set_options, run_set, 1, 1) },
    { .name = "list",
      .operands = "",
      .summary = "list operators with role, scope and expiry",
      .examples = "  zester operator list --format json\n",
      OPERATOR_COMMAND(plain_options, run_operator_list, 0, 0) },
    { .name = "show",
      .operands = "NAME",
      .lookup = "operator list",
      .summary = "show the permissions and credentials of an operator",
      .examples = "  zester operator show alice\n",
      OPERATOR_COMMAND(plain_options, run_operator_show, 1, 1) },
    { .name = "remove",
      .operands = "NAME...",
      .lookup = "operator list",
      .summary = "remove operators: servers cut their connections and refuse their credentials",
      .details =
          "The command returns when every server has confirmed. Jobs that were dispatched go on:\n"
          "'zester job list --user NAME' shows them.\n",
      .examples = "  zester operator remove alice\n",
      OPERATOR_COMMAND(plain_options, run_remove, 1, COMMAND_MANY) },
    { 0 },
};

const struct command command_operator = {
    .name = "operator",
    .operands = "",
    .summary = "manage operators: personal credentials and permissions",
    .examples = "  zester operator add alice --target 'web*' --function 'state.*'\n"
                "  zester operator list\n",
    .commands = operator_commands,
};
