/* mysql_grants.present - grants privileges to a MySQL account. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/mysql_grants/grants.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param present_params[] = {
    GRANTS_PARAMS,
    PARAM("revoke_first", BOOL, struct grants_args, revoke_first, "revoke all other privileges on it"),
    PARAM("ssl_option", ANY, struct grants_args, ssl_option, "what connections of the user require: [{SSL: true}], X509, SUBJECT, ISSUER, CIPHER", .kind_text = "list of maps"),
    { 0 },
};
/* clang-format on */

/* Privileges to revoke and to grant. */
struct grants_plan {
    struct privileges less, more;
    bool ssl;
};

static struct grants_plan plan_grants(struct state_run *run, const struct grants_args *want,
                                      const struct mysql_grants *now)
{
    struct grants_plan plan = { .more = privileges_minus(run->arena, &now->want, &now->have) };

    if (want->revoke_first) {
        plan.less = privileges_minus(run->arena, &now->have, &now->want);
        VEC_EACH (&plan.less.list, one)
            if (str_is(one->word, "ALL PRIVILEGES"))
                plan.more = now->want; /* which go with it */
    }
    plan.ssl = now->account && !grants_has_ssl(run->arena, now->account, want->ssl_option);
    return plan;
}

static void report_plan(struct state_run *run, const struct grants_args *want,
                        const struct mysql_grants *now)
{
    const struct grants_plan plan = plan_grants(run, want, now);
    const struct str object = now->object;

    if (plan.less.list.n > 0) {
        state_differs(run, "'%s'@'%s' has too many privileges on %.*s: %s", want->user, want->host,
                      STR_ARG(object), privileges_text(run->arena, &plan.less));
        state_made(run, "revoked %s on %.*s from '%s'@'%s'",
                   privileges_text(run->arena, &plan.less), STR_ARG(object), want->user,
                   want->host);
    }
    if (plan.more.list.n > 0) {
        state_differs(run, "'%s'@'%s' does not have %s on %.*s", want->user, want->host,
                      privileges_text(run->arena, &plan.more), STR_ARG(object));
        state_made(run, "granted %s on %.*s to '%s'@'%s'", privileges_text(run->arena, &plan.more),
                   STR_ARG(object), want->user, want->host);
    }
    if (plan.ssl)
        state_differs(run, "'%s'@'%s' requires another kind of connection", want->user, want->host);
    if (!run->differs)
        state_say(run, "'%s'@'%s' has %s on %.*s", want->user, want->host,
                  privileges_text(run->arena, &now->want), STR_ARG(object));
}

static int fail_without_account(const struct grants_args *want, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "user '%s'@'%s' does not exist", want->user, want->host);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct grants_args *want = args;
    struct mysql_grants now;

    if (server_is_missing(run, &want->login, "the grant"))
        return 0;
    if (grants_read(run, want, &now, err) < 0)
        return -1;
    if (!now.account && !run->test)
        return fail_without_account(want, err);
    report_plan(run, want, &now);
    if (!now.account)
        state_say(run, "the user does not exist; an earlier state must create it (apply fails "
                       "otherwise)");
    return 0;
}

static int require_ssl(struct state_run *run, const struct grants_args *want, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct str clause;

    if (grants_read_ssl(run->arena, want->ssl_option, &clause, err) < 0)
        return -1;
    buf_add_text(&sql, "ALTER USER ");
    server_add_account(&sql, want->user, want->host);
    buf_printf(&sql, " REQUIRE %.*s;", STR_ARG(clause));
    return server_run(run, &want->login, &sql, NULL, err);
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct grants_args *want = args;
    struct mysql_grants now;
    struct grants_plan plan;

    if (grants_read(run, want, &now, err) < 0)
        return -1;
    if (!now.account)
        return fail_without_account(want, err);
    plan = plan_grants(run, want, &now);
    if (plan.less.list.n + plan.more.list.n == 0 && !plan.ssl) {
        state_unchanged(run);
        return 0;
    }
    if (grants_note(run, &now, err) < 0 ||
        grants_change(run, want, now.object, &plan.less, &plan.more, err) < 0)
        return -1;
    state_detail(run, "user", "%s", want->user);
    state_detail(run, "object", "%.*s", STR_ARG(now.object));
    return plan.ssl ? require_ssl(run, want, err) : 0;
}

const struct module module_mysql_grants_present = {
    .name = "mysql_grants.present",
    .summary = "grant privileges to a MySQL or MariaDB account",
    .details = "The account must exist: see mysql_user.present.",
    .example = "name: frank_app\ngrant: select,insert,update\ndatabase: app.*\nuser: frank\n",
    .params = present_params,
    .args_size = sizeof(struct grants_args),
    .lock = SERVER_LOCK,
    .validate = grants_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = grants_revert,
};
