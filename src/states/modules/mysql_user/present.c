/* mysql_user.present - manages a MySQL account and its authentication. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/mysql/server.h"
#include "states/modules/mysql_user/identity.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct present_args

struct present_args {
    const char *name, *host, *password, *password_hash, *auth_plugin;
    int password_column;
    bool allow_passwordless, unix_socket;
    struct server_login login;
};

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the user", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("host", STR, ARGS, host, "the host it logs in from", .default_text = "localhost"),
    PARAM("password", STR, ARGS, password, "the password; takes precedence over password_hash", .flags = PARAM_SECRET),
    PARAM("password_hash", STR, ARGS, password_hash, "the stored hash of the password, such as *6C89...", .flags = PARAM_SECRET),
    PARAM("allow_passwordless", BOOL, ARGS, allow_passwordless, "the account may have no password"),
    PARAM("unix_socket", BOOL, ARGS, unix_socket, "with allow_passwordless: the system user of this name logs in by the socket"),
    PARAM("auth_plugin", STR, ARGS, auth_plugin, "the plugin that checks the password", .default_text = IDENTITY_NATIVE, .flags = PARAM_FILLED),
    PARAM("password_column", CHOICE, ARGS, password_column, "a column of Salt's; not needed here", .choices = "Password|authentication_string"),
    SERVER_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

static const char *find_given_text(const char *text)
{
    return text && text[0] != '\0' ? text : NULL;
}

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct present_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_LINE, where, diags) |
                 validate_text("host", want->host, VALIDATE_WORD, where, diags) |
                 server_validate(&want->login, where, diags);

    if (!validate_is_variable(str_from(want->auth_plugin)))
        result = value_diag(diags, value_point(where, "auth_plugin"),
                            "'auth_plugin' may contain only letters, digits and '_'");
    if (!find_given_text(want->password) && !find_given_text(want->password_hash) &&
        !want->allow_passwordless)
        result = value_diag(diags, where,
                            "'password' or 'password_hash' is required, unless "
                            "'allow_passwordless' is true");
    return result;
}

/* --- checking --------------------------------------------------------------------------- */

static bool is_socket(struct str plugin)
{
    return str_is(plugin, "unix_socket") || str_is(plugin, "auth_socket");
}

/* The hash to store; NULL: computed by a plugin that adds salt, or none. */
static int find_wanted_hash(struct state_run *run, const struct present_args *want,
                            const char **ret, struct err *err)
{
    *ret = find_given_text(want->password) ? NULL : find_given_text(want->password_hash);
    if (find_given_text(want->password) && strcmp(want->auth_plugin, IDENTITY_NATIVE) == 0 &&
        identity_hash_native(run->arena, want->password, ret, err) < 0)
        return -1;
    if (*ret)
        state_secret(run, str_from(*ret));
    return 0;
}

static int compare_identity(struct state_run *run, const struct present_args *want,
                            const char *statement, bool *ret_same, struct err *err)
{
    struct mysql_identity now;
    const char *hash;

    identity_parse(run->arena, str_from(statement), &now);
    if (now.hash.n > 0)
        state_secret(run, now.hash);
    if (find_wanted_hash(run, want, &hash, err) < 0)
        return -1;
    *ret_same = false;
    if (now.several)
        return 0;
    if (!find_given_text(want->password) && !hash) {
        *ret_same =
            want->unix_socket ? is_socket(now.plugin) : now.hash.n == 0 && !is_socket(now.plugin);
        return 0;
    }
    if (!str_is(now.plugin, want->auth_plugin))
        return 0;
    if (hash) {
        *ret_same = str_is(now.hash, hash);
        return 0;
    }
    return server_try_login(run, &want->login, want->name, want->password, ret_same, err);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const char *statement = NULL;
    bool same = false;

    if (server_is_missing(run, &want->login, "the user"))
        return 0;
    if (server_show_account(run, &want->login, want->name, want->host, &statement, err) < 0)
        return -1;
    if (!statement) {
        state_differs(run, "user '%s'@'%s' does not exist", want->name, want->host);
        state_made(run, "created user '%s'@'%s'", want->name, want->host);
        return 0;
    }
    if (compare_identity(run, want, statement, &same, err) < 0)
        return -1;
    if (same) {
        state_say(run, "user '%s'@'%s' already exists", want->name, want->host);
        return 0;
    }
    state_differs(run, "user '%s'@'%s' logs in with another password or plugin", want->name,
                  want->host);
    state_made(run, "changed how user '%s'@'%s' logs in", want->name, want->host);
    return 0;
}

/* --- changing it ------------------------------------------------------------------------ */

static int add_identity(struct state_run *run, const struct present_args *want, struct buf *sql,
                        struct err *err)
{
    const char *hash;
    bool mariadb;

    if (find_wanted_hash(run, want, &hash, err) < 0 ||
        server_is_mariadb(run, &want->login, &mariadb, err) < 0)
        return -1;
    if (hash) {
        buf_printf(sql, " IDENTIFIED WITH %s AS ", want->auth_plugin);
        server_add_text(sql, str_from(hash));
    } else if (find_given_text(want->password)) {
        buf_printf(sql, mariadb ? " IDENTIFIED VIA %s USING PASSWORD(" : " IDENTIFIED WITH %s BY ",
                   want->auth_plugin);
        server_add_text(sql, str_from(want->password));
        buf_add_text(sql, mariadb ? ")" : "");
    } else if (want->unix_socket) {
        buf_printf(sql, " IDENTIFIED WITH %s", mariadb ? "unix_socket" : "auth_socket");
    } else {
        buf_add_text(sql, " IDENTIFIED BY ''");
    }
    return 0;
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const char *statement = NULL;
    bool same = false;

    if (server_show_account(run, &want->login, want->name, want->host, &statement, err) < 0 ||
        (statement && compare_identity(run, want, statement, &same, err) < 0))
        return -1;
    if (same) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "before", statement ? value_text(statement) : value_null(), err) < 0)
        return -1;
    buf_add_text(&sql, statement ? "ALTER USER " : "CREATE USER ");
    server_add_account(&sql, want->name, want->host);
    if (add_identity(run, want, &sql, err) < 0)
        return -1;
    buf_add_char(&sql, ';');
    state_detail(run, "user", "%s", want->name);
    state_detail(run, "host", "%s", want->host);
    return server_run(run, &want->login, &sql, NULL, err);
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct value *before = state_noted(run, "before");
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const char *statement = NULL;
    struct mysql_identity old;

    if (server_show_account(run, &want->login, want->name, want->host, &statement, err) < 0)
        return -1;
    if (!before || !statement) {
        state_unchanged(run);
        return 0;
    }
    if (before->kind == VALUE_STR) {
        identity_parse(run->arena, before->s, &old);
        state_secret(run, old.hash);
        buf_printf(&sql, "%s;", identity_alter(run->arena, before->s));
        state_say(run, "restored how user '%s'@'%s' logs in", want->name, want->host);
    } else {
        buf_add_text(&sql, "DROP USER ");
        server_add_account(&sql, want->name, want->host);
        buf_add_char(&sql, ';');
        state_say(run, "removed user '%s'@'%s'", want->name, want->host);
    }
    return server_run(run, &want->login, &sql, NULL, err);
}

const struct module module_mysql_user_present = {
    .name = "mysql_user.present",
    .summary = "manage a MySQL or MariaDB account and its authentication",
    .details =
        "With the plugin mysql_native_password the server gets the hash of the password and "
        "never the password. For plugins that add salt, a password is checked by logging in.",
    .example = "name: frank\nhost: localhost\npassword: bobcat\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .lock = SERVER_LOCK,
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = present_revert,
};
