/* mysql_user.absent - removes a MySQL account. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/mysql/server.h"
#include "states/modules/mysql_user/identity.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name, *host;
    struct server_login login;
};

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "the user", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("host", STR, ARGS, host, "the host it logs in from", .default_text = "localhost"),
    SERVER_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct absent_args *want = args;

    return validate_text("name", want->name, VALIDATE_LINE, where, diags) |
           validate_text("host", want->host, VALIDATE_WORD, where, diags) |
           server_validate(&want->login, where, diags);
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    const char *statement = NULL;

    if (server_is_missing(run, &want->login, "the user"))
        return 0;
    if (server_show_account(run, &want->login, want->name, want->host, &statement, err) < 0)
        return -1;
    if (!statement) {
        state_say(run, "user '%s'@'%s' does not exist", want->name, want->host);
        return 0;
    }
    state_differs(run, "user '%s'@'%s' exists", want->name, want->host);
    state_made(run, "removed user '%s'@'%s'", want->name, want->host);
    return 0;
}

/* The statements that restore the account with its grants. */
static int note_account(struct state_run *run, const struct absent_args *want,
                        const char *statement, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct value_list *before = value_list_new(run->arena, 4);
    struct server_rows grants;

    buf_add_text(&sql, "SHOW GRANTS FOR ");
    server_add_account(&sql, want->name, want->host);
    buf_add_char(&sql, ';');
    if (server_run(run, &want->login, &sql, &grants, err) < 0)
        return -1;
    value_list_push(run->arena, before, value_text(statement));
    VEC_EACH (&grants.list, row)
        value_list_push(run->arena, before, value_str(row->fields[0]));
    return state_note(run, "before", value_list(before), err);
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const char *statement = NULL;

    if (server_show_account(run, &want->login, want->name, want->host, &statement, err) < 0)
        return -1;
    if (!statement) {
        state_unchanged(run);
        return 0;
    }
    if (note_account(run, want, statement, err) < 0)
        return -1;
    buf_add_text(&sql, "DROP USER ");
    server_add_account(&sql, want->name, want->host);
    buf_add_char(&sql, ';');
    state_detail(run, "user", "%s", want->name);
    state_detail(run, "host", "%s", want->host);
    return server_run(run, &want->login, &sql, NULL, err);
}

static int absent_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    const struct value *before = state_noted(run, "before");
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const char *statement = NULL;

    if (server_show_account(run, &want->login, want->name, want->host, &statement, err) < 0)
        return -1;
    if (!before || before->kind != VALUE_LIST || statement) {
        state_unchanged(run);
        return 0;
    }
    for (size_t i = 0; i < before->list->count; i++) {
        struct mysql_identity identity;

        identity_parse(run->arena, before->list->items[i].s, &identity);
        state_secret(run, identity.hash);
        buf_add_str(&sql, before->list->items[i].s);
        buf_add_text(&sql, ";\n");
    }
    state_say(run, "created user '%s'@'%s' again, with its grants", want->name, want->host);
    return server_run(run, &want->login, &sql, NULL, err);
}

const struct module module_mysql_user_absent = {
    .name = "mysql_user.absent",
    .summary = "remove a MySQL or MariaDB account",
    .details = "A revert restores it with its password and grants.",
    .example = "name: frank\nhost: localhost\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .lock = SERVER_LOCK,
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
    .revert = absent_revert,
};
