#include "states/modules/mysql/server.h"

#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/process.h"

/* Forms in which the client prints rows. */
#define BATCH "--batch"
#define XML   "--xml"

/* For one call of the client; a statement may wait long for a lock. */
#define CALL_TIMEOUT ((int64_t)600 * 1000000000)

int server_validate(const struct server_login *login, const struct value *where,
                    struct diags *diags)
{
    const struct {
        const char *key, *text;
    } words[] = {
        { "connection_host", login->host },       { "connection_port", login->port },
        { "connection_user", login->user },       { "connection_db", login->db },
        { "connection_charset", login->charset },
    };
    int result = 0;

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        result |= validate_text(words[i].key, words[i].text, VALIDATE_LINE, where, diags);
    return result;
}

/* --- quoting ---------------------------------------------------------------------------- */

void server_add_text(struct buf *sql, struct str text)
{
    buf_add_char(sql, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'' || text.p[i] == '\\')
            buf_add_char(sql, text.p[i]);
        buf_add_char(sql, text.p[i]);
    }
    buf_add_char(sql, '\'');
}

void server_add_name(struct buf *sql, struct str name)
{
    buf_add_char(sql, '`');
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '`')
            buf_add_char(sql, '`');
        buf_add_char(sql, name.p[i]);
    }
    buf_add_char(sql, '`');
}

void server_add_account(struct buf *sql, const char *user, const char *host)
{
    server_add_text(sql, str_from(user));
    buf_add_char(sql, '@');
    server_add_text(sql, str_from(host));
}

/* --- the client ------------------------------------------------------------------------- */

/* From the settings, under the names that Salt gives them. */
static struct server_login complete_login(struct state_run *run, const struct server_login *login)
{
    const struct value *settings = state_settings(run);
    struct server_login all = *login;
    const struct {
        const char *key;
        const char **field;
    } fields[] = {
        { "mysql.host", &all.host },
        { "mysql.port", &all.port },
        { "mysql.user", &all.user },
        { "mysql.pass", &all.pass },
        { "mysql.db", &all.db },
        { "mysql.unix_socket", &all.socket },
        { "mysql.default_file", &all.default_file },
    };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!*fields[i].field)
            *fields[i].field = value_get_text(settings, fields[i].key);
    if (all.pass && all.pass[0] != '\0')
        state_secret(run, str_from(all.pass));
    return all;
}

/* `form` is the option for the form of rows: "--batch", "--xml". */
static const char *const *make_mysql_argv(const struct tool *tool, const struct server_login *login,
                                          const char *form)
{
    struct tool_words words = { 0 };

    tool_add(tool, &words, tool_find(tool->arena, "mariadb") ? "mariadb" : "mysql");
    if (login->default_file)
        tool_add_option(tool, &words, "defaults-file", login->default_file);
    else if (login->pass)
        tool_add(tool, &words, "--no-defaults");
    tool_add(tool, &words, form);
    tool_add(tool, &words, "--skip-column-names");
    tool_add(tool, &words, "--binary-mode");
    tool_add(tool, &words, "--connect-timeout=30");
    tool_add_option(tool, &words, "default-character-set", login->charset);
    tool_add_option(tool, &words, "host", login->host);
    tool_add_option(tool, &words, "port", login->port);
    tool_add_option(tool, &words, "user", login->user);
    tool_add_option(tool, &words, "socket", login->socket);
    tool_add_option(tool, &words, "database", login->db);
    return tool_argv(tool, &words);
}

static int call_mysql_client(struct state_run *run, const struct server_login *login,
                             const char *form, struct str sql, struct process_result *ret,
                             struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *env[] = { NULL, NULL };
    const struct tool_options options = { .env = env, .input = sql, .timeout = CALL_TIMEOUT };

    if (login->pass)
        env[0] = arena_printf(run->arena, "MYSQL_PWD=%s", login->pass);
    return tool_try(&tool, make_mysql_argv(&tool, login, form), &options, ret, err);
}

/* --- rows ------------------------------------------------------------------------------- */

/* "\t", "\n", "\0" and "\\" as the client prints them in batches. */
static struct str unescape_field(struct arena *arena, struct str field)
{
    static const char from[] = "tn0\\", to[] = "\t\n\0\\";
    char *out = arena_alloc(arena, field.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < field.n; i++) {
        const char *at = field.p[i] == '\\' && i + 1 < field.n && field.p[i + 1] != '\0'
                             ? strchr(from, field.p[i + 1])
                             : NULL;

        out[n++] = at ? to[at - from] : field.p[i];
        i += at != NULL;
    }
    out[n] = '\0';
    return (struct str){ out, n };
}

static void read_mysql_rows(struct arena *arena, struct str text, struct server_rows *rows)
{
    *rows = (struct server_rows){ 0 };
    while (text.p && text.n > 0) {
        struct str line = str_cut(&text, '\n');
        VEC(struct str) fields = { 0 };

        while (line.p)
            VEC_PUSH_IN(arena, &fields, unescape_field(arena, str_cut(&line, '\t')));
        VEC_PUSH_IN(arena, &rows->list, (struct server_row){ fields.p, fields.n });
    }
}

int server_run(struct state_run *run, const struct server_login *login, const struct buf *sql,
               struct server_rows *ret_rows, struct err *err)
{
    AUTO_BUF struct buf whole = BUF_INIT(BUF_NO_LIMIT);
    const struct tool tool = run_tool(run);
    const struct server_login all = complete_login(run, login);
    struct process_result result;

    /* Quoting above is for this mode, and statements may hold several lines. */
    buf_add_text(&whole, "SET SESSION sql_mode='';\n");
    buf_add_str(&whole, buf_view(sql));
    buf_add_char(&whole, '\n');
    if (call_mysql_client(run, &all, BATCH, buf_view(&whole), &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return tool_fail(make_mysql_argv(&tool, &all, BATCH), &result, err);
    if (ret_rows)
        read_mysql_rows(run->arena, result.out, ret_rows);
    return 0;
}

int server_run_xml(struct state_run *run, const struct server_login *login, struct str sql,
                   struct str *ret_xml, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct server_login all = complete_login(run, login);
    struct process_result result;

    if (call_mysql_client(run, &all, XML, sql, &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return tool_fail(make_mysql_argv(&tool, &all, XML), &result, err);
    *ret_xml = result.out;
    return 0;
}

bool server_is_missing(struct state_run *run, const struct server_login *login, const char *what)
{
    /* "Can't connect to local server through socket", "Can't connect to server on host" */
    static const char *const refusals[] = { "ERROR 2002", "ERROR 2003" };
    const struct server_login all = complete_login(run, login);
    struct process_result result;
    const char *why = "no MySQL client is installed";
    struct err err;

    if (!run->test)
        return false;
    if (tool_find(run->arena, "mariadb") || tool_find(run->arena, "mysql")) {
        size_t i = 0;

        if (call_mysql_client(run, &all, BATCH, STR("SELECT 1;\n"), &result, &err) < 0)
            return false;
        while (i < ARRAY_LEN(refusals) &&
               str_find(result.err, str_from(refusals[i]), 0) == STR_NONE)
            i++;
        if (i == ARRAY_LEN(refusals))
            return false;
        why = "no MySQL server is running";
    }
    state_differs(
        run, "%s cannot be checked: %s; an earlier state must install it (apply fails otherwise)",
        what, why);
    return true;
}

int server_try_login(struct state_run *run, const struct server_login *login, const char *user,
                     const char *password, bool *ret, struct err *err)
{
    struct server_login all = complete_login(run, login);
    struct process_result result;

    all.user = user;
    all.pass = password;
    all.default_file = NULL;
    all.db = NULL;
    if (call_mysql_client(run, &all, BATCH, STR("SELECT 1;\n"), &result, err) < 0)
        return -1;
    *ret = process_status_ok(result.status);
    return 0;
}

int server_is_mariadb(struct state_run *run, const struct server_login *login, bool *ret,
                      struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct server_rows rows;

    buf_add_text(&sql, "SELECT VERSION();");
    if (server_run(run, login, &sql, &rows, err) < 0)
        return -1;
    *ret = rows.list.n > 0 && rows.list.p[0].n > 0 &&
           str_find(rows.list.p[0].fields[0], STR("MariaDB"), 0) != STR_NONE;
    return 0;
}

int server_show_account(struct state_run *run, const struct server_login *login, const char *user,
                        const char *host, const char **ret_statement, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct server_rows rows;

    *ret_statement = NULL;
    buf_add_text(&sql, "SELECT 1 FROM mysql.user WHERE BINARY User = ");
    server_add_text(&sql, str_from(user));
    buf_add_text(&sql, " AND Host = ");
    server_add_text(&sql, str_from(host));
    buf_add_char(&sql, ';');
    if (server_run(run, login, &sql, &rows, err) < 0)
        return -1;
    if (rows.list.n == 0)
        return 0;
    buf_clear(&sql);
    /* hashes of MySQL 8 hold any bytes; MariaDB passes the comment over */
    buf_add_text(&sql, "/*!80017 SET SESSION print_identified_with_as_hex = ON */;\n");
    buf_add_text(&sql, "SHOW CREATE USER ");
    server_add_account(&sql, user, host);
    buf_add_char(&sql, ';');
    if (server_run(run, login, &sql, &rows, err) < 0)
        return -1;
    if (rows.list.n == 0 || rows.list.p[0].n == 0)
        return err_set(err, ERR_INVALID, "the server did not show the account '%s'@'%s'", user,
                       host);
    *ret_statement = arena_str(run->arena, rows.list.p[0].fields[0]).p;
    return 0;
}
