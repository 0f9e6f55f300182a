/* mysql_grants.absent - revokes privileges of a MySQL account. */
#include "core/base/err.h"
#include "states/modules/mysql_grants/grants.h"
#include "states/state/module.h"

static const struct param absent_params[] = {
    GRANTS_PARAMS,
    { 0 },
};

/* Revoking ALL revokes what exists; a single privilege is revoked even from ALL. */
static struct privileges find_granted_extra(struct state_run *run, const struct mysql_grants *now)
{
    struct privileges extra = { 0 };

    VEC_EACH (&now->want.list, one)
        if (str_is(one->word, "ALL PRIVILEGES")) {
            VEC_EACH (&now->have.list, old)
                if (!str_is(old->word, "GRANT OPTION"))
                    privileges_add(run->arena, &extra, *old);
        } else if (privileges_cover(&now->have, one)) {
            privileges_add(run->arena, &extra, *one);
        }
    return extra;
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct grants_args *want = args;
    struct privileges extra;
    struct mysql_grants now;

    if (server_is_missing(run, &want->login, "the grant"))
        return 0;
    if (grants_read(run, want, &now, err) < 0)
        return -1;
    extra = find_granted_extra(run, &now);
    if (extra.list.n == 0) {
        state_say(run, "'%s'@'%s' has none of the privileges", want->user, want->host);
        return 0;
    }
    state_differs(run, "'%s'@'%s' has %s on %.*s", want->user, want->host,
                  privileges_text(run->arena, &extra), STR_ARG(now.object));
    state_made(run, "revoked %s on %.*s from '%s'@'%s'", privileges_text(run->arena, &extra),
               STR_ARG(now.object), want->user, want->host);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct privileges none = { 0 };
    const struct grants_args *want = args;
    struct privileges extra;
    struct mysql_grants now;

    if (grants_read(run, want, &now, err) < 0)
        return -1;
    extra = find_granted_extra(run, &now);
    if (extra.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    if (grants_note(run, &now, err) < 0)
        return -1;
    state_detail(run, "user", "%s", want->user);
    state_detail(run, "object", "%.*s", STR_ARG(now.object));
    return grants_change(run, want, now.object, &extra, &none, err);
}

const struct module module_mysql_grants_absent = {
    .name = "mysql_grants.absent",
    .summary = "revoke privileges of a MySQL or MariaDB account",
    .example = "name: frank_app\ngrant: select,insert\ndatabase: app.*\nuser: frank\n",
    .params = absent_params,
    .args_size = sizeof(struct grants_args),
    .lock = SERVER_LOCK,
    .validate = grants_validate,
    .check = absent_check,
    .apply = absent_apply,
    .revert = grants_revert,
};
