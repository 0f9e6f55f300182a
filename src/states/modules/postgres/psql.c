#include "states/modules/postgres/psql.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/account.h"
#include "core/sys/process.h"

/* For one call of the client; a statement may wait long for a lock. */
#define CALL_TIMEOUT ((int64_t)600 * 1000000000)

/* Between fields and between rows; texts of the database do not hold them. */
#define FIELD_END "\x1f"
#define ROW_END   "\x1e"

int psql_validate(const struct psql_login *login, const struct value *where, struct diags *diags)
{
    return validate_text("user", login->runas, VALIDATE_USER, where, diags) |
           validate_text("maintenance_db", login->database, VALIDATE_LINE, where, diags) |
           validate_text("db_user", login->user, VALIDATE_LINE, where, diags) |
           validate_text("db_host", login->host, VALIDATE_LINE, where, diags) |
           validate_text("db_port", login->port, VALIDATE_WORD, where, diags);
}

static void add_psql_quoted(struct buf *sql, struct str text, char quote)
{
    buf_add_char(sql, quote);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == quote)
            buf_add_char(sql, quote);
        buf_add_char(sql, text.p[i]);
    }
    buf_add_char(sql, quote);
}

void psql_add_text(struct buf *sql, struct str text)
{
    add_psql_quoted(sql, text, '\'');
}

void psql_add_name(struct buf *sql, struct str name)
{
    add_psql_quoted(sql, name, '"');
}

/* --- the client ------------------------------------------------------------------------- */

static bool is_server_local(const struct psql_login *login)
{
    return !login->host || login->host[0] == '/';
}

/* From the settings, under the names that Salt gives them. */
static struct psql_login complete_psql_login(struct state_run *run, const struct psql_login *login)
{
    const struct value *settings = state_settings(run);
    struct psql_login all = *login;
    const struct account *account = NULL;
    const struct {
        const char *key;
        const char **field;
    } fields[] = {
        { "postgres.host", &all.host },
        { "postgres.port", &all.port },
        { "postgres.user", &all.user },
        { "postgres.pass", &all.password },
        { "postgres.maintenance_db", &all.database },
    };
    struct err ignored;

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!*fields[i].field)
            *fields[i].field = value_get_text(settings, fields[i].key);
    if (all.password && all.password[0] != '\0')
        state_secret(run, str_from(all.password));
    if (!all.database)
        all.database = "postgres";
    if (!all.runas && is_server_local(&all) && geteuid() == 0 &&
        account_find(run->arena, "postgres", &account, &ignored) == 0 && account)
        all.runas = "postgres";
    return all;
}

static const char *const *make_psql_argv(const struct tool *tool, const struct psql_login *login,
                                         bool alone)
{
    struct tool_words words = { 0 };

    tool_add(tool, &words, "psql");
    tool_add(tool, &words, "--no-psqlrc");
    tool_add(tool, &words, "--no-align");
    tool_add(tool, &words, "--tuples-only");
    tool_add(tool, &words, "--quiet");
    tool_add(tool, &words, "--no-password");
    tool_add(tool, &words, "--set=ON_ERROR_STOP=1");
    if (!alone)
        tool_add(tool, &words, "--single-transaction");
    tool_add(tool, &words, "--field-separator=" FIELD_END);
    tool_add(tool, &words, "--record-separator=" ROW_END);
    tool_add(tool, &words, "--file=-");
    tool_add_option(tool, &words, "host", login->host);
    tool_add_option(tool, &words, "port", login->port);
    tool_add_option(tool, &words, "username", login->user);
    tool_add_option(tool, &words, "dbname", login->database);
    return tool_argv(tool, &words);
}

static int call_psql_client(struct state_run *run, const struct psql_login *login, bool alone,
                            struct str sql, struct process_result *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *env[] = { "PGCLIENTENCODING=UTF8", "PGCONNECT_TIMEOUT=30",
                          "PGOPTIONS=-c standard_conforming_strings=on", NULL, NULL };
    const struct tool_options options = {
        .cwd = "/", .runas = login->runas, .env = env, .input = sql, .timeout = CALL_TIMEOUT
    };

    if (login->password)
        env[3] = arena_printf(run->arena, "PGPASSWORD=%s", login->password);
    return tool_try(&tool, make_psql_argv(&tool, login, alone), &options, ret, err);
}

static void read_psql_rows(struct arena *arena, struct str text, struct psql_rows *rows)
{
    *rows = (struct psql_rows){ 0 };
    if (str_ends(text, STR("\n")))
        text.n--;
    while (text.p && text.n > 0) {
        struct str line = str_cut(&text, ROW_END[0]);
        VEC(struct str) fields = { 0 };

        while (line.p)
            VEC_PUSH_IN(arena, &fields, arena_str(arena, str_cut(&line, FIELD_END[0])));
        VEC_PUSH_IN(arena, &rows->list, (struct psql_row){ fields.p, fields.n });
    }
}

static int run_sql(struct state_run *run, const struct psql_login *login, bool alone,
                   const struct buf *sql, struct psql_rows *ret_rows, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct psql_login all = complete_psql_login(run, login);
    struct process_result result;

    if (call_psql_client(run, &all, alone, buf_view(sql), &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return tool_fail(make_psql_argv(&tool, &all, alone), &result, err);
    if (ret_rows)
        read_psql_rows(run->arena, result.out, ret_rows);
    return 0;
}

int psql_run(struct state_run *run, const struct psql_login *login, const struct buf *sql,
             struct psql_rows *ret_rows, struct err *err)
{
    return run_sql(run, login, false, sql, ret_rows, err);
}

int psql_run_alone(struct state_run *run, const struct psql_login *login, const struct buf *sql,
                   struct err *err)
{
    return run_sql(run, login, true, sql, NULL, err);
}

struct psql_login psql_in(const struct psql_login *login, const char *database)
{
    struct psql_login other = *login;

    other.database = database;
    return other;
}

bool psql_is_missing(struct state_run *run, const struct psql_login *login, const char *what)
{
    /* from a server that does not run, and for the account of one that is not installed */
    static const char *const refusals[] = { "Is the server running", "Connection refused",
                                            "No such file or directory" };
    const struct psql_login all = complete_psql_login(run, login);
    const char *why = "psql is not installed";
    struct process_result result;
    struct err err;

    if (!run->test)
        return false;
    if (tool_find(run->arena, "psql")) {
        size_t i = 0;

        if (call_psql_client(run, &all, true, STR("SELECT 1;\n"), &result, &err) < 0)
            return false;
        while (i < ARRAY_LEN(refusals) &&
               str_find(result.err, str_from(refusals[i]), 0) == STR_NONE)
            i++;
        if (i == ARRAY_LEN(refusals))
            return false;
        why = "no PostgreSQL server is running";
    }
    state_differs(
        run, "%s cannot be checked: %s; an earlier state must install it (apply fails otherwise)",
        what, why);
    return true;
}
