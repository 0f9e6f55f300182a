#include "logs_test.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "kepler/logs/log_sql.h"
#include "core/sql/sql_query.h"

static const struct log_filter everything;

static const char *fill_store(void)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);

    write_lines(store, "web",
                "started\n{\"msg\":\"slow\",\"level\":\"warn\",\"http\":{\"status\":503}}\n");
    write_lines(store, "db", "ready\nconnection reset\n");
    write_lines(store, "web", "connection reset\nit's done\n");
    log_store_free(store);
    return folder;
}

/* The ids of the lines that match, or the error. */
static const char *find_within(const char *folder, const struct log_filter *filter,
                               const char *text, uint64_t tail)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct log_line *line = NULL;
    struct log_sql *sql;
    int rc = log_sql_open(folder, filter, str_from(text), &sql, &err);

    if (rc < 0)
        return arena_strdup(&arena, err.text);
    if (tail != ALL)
        rc = log_sql_tail(sql, tail, &err);
    while (rc == 0 && (rc = log_sql_next(sql, &line, &err)) == 0 && line)
        buf_printf(&out, "%s%" PRIu64, out.n ? " " : "", line->seq);
    log_sql_free(sql);
    return rc < 0 ? arena_strdup(&arena, err.text) : buf_copy(&out, &arena).p;
}

static const char *find(const char *folder, const char *text)
{
    return find_within(folder, &everything, text, ALL);
}

TEST(a_clause_finds_lines_by_every_column)
{
    static const struct {
        const char *clause, *ids;
    } cases[] = {
        { "1", "1 2 3 4 5 6" },
        { "0", "" },
        { "NULL", "" },
        { "id = 3", "3" },
        { "id > 2 AND id <= 4", "3 4" },
        { "id BETWEEN 5 AND 100", "5 6" },
        { "id > 4.5", "5 6" },
        { "id > '4'", "5 6" },
        { "id < 1 OR id > 5", "6" },
        { "id > 9223372036854775807", "" },
        { "id IN (6, 1, 99)", "1 6" },
        { "service = 'db'", "3 4" },
        { "service = 'DB'", "" },
        { "service = 'DB' COLLATE NOCASE", "3 4" },
        { "service IN ('db', 'web', 'x') AND id > 3", "4 5 6" },
        { "service IN ('x')", "" },
        { "service = 'web' AND service = 'db'", "" },
        { "service = 'web' OR id = 3", "1 2 3 5 6" },
        { "(service = 'db' AND id < 4) OR (service = 'web' AND id > 4)", "3 5 6" },
        { "NOT service = 'web'", "3 4" },
        { "hook IS NULL AND id = 1", "1" },
        { "level = 'warn'", "2" },
        { "line = 'slow'", "2" },
        { "line LIKE '%RESET'", "4 5" },
        { "line GLOB '*RESET'", "" },
        { "line = 'it''s done' -- the end", "6" },
        { "attributes ->> '$.http.status' >= 500", "2" },
        { "json_extract(attributes, '$.http.status') = 503", "2" },
        { "attributes IS NULL AND service = 'web'", "1 5 6" },
        { "timestamp > 1700000000000", "1 2 3 4 5 6" },
        { "timestamp < 1700000000000", "" },
        { "abs(timestamp / 1000 - unixepoch()) < 1000", "1 2 3 4 5 6" },
        { "id = (SELECT max(id) FROM logs WHERE service = 'db')", "4" },
        { "EXISTS (SELECT 1 FROM logs b WHERE b.id = logs.id + 1 AND b.line = logs.line)", "4" },
        { "line IN (SELECT line FROM logs GROUP BY line HAVING count(*) > 1)", "4 5" },
        { "id IN (SELECT id FROM logs WHERE id < 3 UNION SELECT 6)", "1 2 6" },
    };
    const char *folder = fill_store();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        printf("%s\n", cases[i].clause);
        CHECK_STR(find(folder, cases[i].clause), cases[i].ids);
    }
}

TEST(a_clause_that_is_not_a_condition_is_refused)
{
    static const struct {
        const char *clause, *why;
    } cases[] = {
        { "", "is empty" },
        { " \n ", "is empty" },
        { "id = ?", "'?' is not allowed" },
        { "id = ?1", "'?' is not allowed" },
        { "id = :a", "too many SQL variables" },
        { "id = @a", "too many SQL variables" },
        { "id = $a", "too many SQL variables" },
        { "nonsense(", "incomplete input" },
        { "nme = 'x'", "no such column: nme" },
        { "line = \"text\"", "no such column: text" },
        { "1; SELECT 1", "syntax error" },
        { "1); DELETE FROM logs; --", "not one expression" },
        { "1) ORDER BY (random()", "not authorized" },
        { "1) ORDER BY (id", "not one expression" },
        { "1) LIMIT (1", "not one expression" },
        { "1) GROUP BY (service", "not one expression" },
        { "1) UNION SELECT (1", "not one expression" },
        { "1) THEN 1 END FROM logs WHERE (1", "syntax error" },
        { "1 /*", "incomplete input" },
        { "1)", "syntax error" },
        { "(1", "incomplete input" },
        { "ATTACH '/etc/passwd' AS x", "syntax error" },
        { "PRAGMA database_list", "syntax error" },
        { "EXISTS (SELECT 1 FROM pragma_database_list)", "not authorized" },
        { "EXISTS (SELECT 1 FROM sqlite_master)", "not authorized" },
        { "EXISTS (SELECT 1 FROM sqlite_schema)", "not authorized" },
        { "EXISTS (SELECT 1 FROM json_each('[1]'))", "vtable constructor failed" },
        { "EXISTS (SELECT 1 FROM other)", "no such table: other" },
        { "EXISTS (DELETE FROM logs)", "syntax error" },
        { "zester_row IS NULL", "prohibited" },
        { "EXISTS (SELECT zester_row FROM logs)", "prohibited" },
        { "load_extension('/tmp/x.so')", "not authorized to use function: load_extension" },
        { "readfile('/etc/passwd') = ''", "no such function: readfile" },
        { "randomblob(1000000000) = ''", "not authorized to use function: randomblob" },
        { "zeroblob(1000000000) = ''", "not authorized to use function: zeroblob" },
        { "printf('%1000000000d', 1) = ''", "not authorized to use function: printf" },
        { "fts3_tokenizer('simple') = ''", "not authorized to use function" },
        { "sqlite_version() = ''", "not authorized to use function: sqlite_version" },
        { "id IN (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)",
          "not authorized" },
        { "coalesce(1,2,3,4,5,6,7,8,9)", "too many arguments" },
        { "id IN (SELECT 1 UNION SELECT 2 UNION SELECT 3)", "too many terms in compound SELECT" },
    };
    const char *folder = fill_store();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *text = find(folder, cases[i].clause);

        printf("%s: %s\n", cases[i].clause, text);
        CHECK(strstr(text, cases[i].why));
    }
}

TEST(a_clause_has_limits)
{
    AUTO_BUF struct buf deep = BUF_INIT(BUF_NO_LIMIT), pattern = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf large = BUF_INIT(BUF_NO_LIMIT);
    const char *folder = fill_store();

    for (int i = 0; i < 30; i++)
        buf_add_text(&deep, "NOT ");
    buf_add_text(&deep, "1");
    CHECK(strstr(find(folder, buf_text(&deep)), "too large (maximum depth 2"));
    buf_add_text(&pattern, "line LIKE '");
    buf_fill(&pattern, '%', 101);
    buf_add_text(&pattern, "'");
    CHECK(strstr(find(folder, buf_text(&pattern)), "pattern too complex"));
    buf_fill(&large, '1', SQL_QUERY_SIZE_MAX + 1);
    CHECK_STR(find(folder, buf_text(&large)), "longer than 4096 bytes");
}

/* The clock of SQLite is looked at while it computes, and while rows are read for it. */
TEST(a_search_ends_at_its_time_limit)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct log_line *line;
    struct log_sql *sql;

    for (int i = 0; i < 2000; i++)
        buf_printf(&text, "line %d\n", i);
    write_lines(store, "web", buf_text(&text));
    log_store_free(store);
    CHECK_INT(log_sql_open(folder, &everything,
                           STR("0 = (SELECT count(*) FROM logs a, logs b, logs c WHERE a.line > "
                               "b.line AND b.line > c.line AND c.id > logs.id)"),
                           &sql, &err),
              0);
    log_sql_hurry(sql, 50000000);
    CHECK_INT(log_sql_next(sql, &line, &err), -1);
    CHECK_INT(err.code, ERR_TIMEOUT);
    CHECK(strstr(err.text, "takes longer than 5 s"));
    log_sql_free(sql);
}

TEST(tail_and_filter_combine_with_the_clause)
{
    const char *folder = fill_store();
    static const char *const web[] = { "web" };
    const struct log_filter of_web = { .services = web, .service_count = 1 };

    CHECK_STR(find_within(folder, &everything, "1", 2), "5 6");
    CHECK_STR(find_within(folder, &everything, "service = 'db'", 1), "4");
    CHECK_STR(find_within(folder, &everything, "1", 0), "");
    CHECK_STR(find_within(folder, &everything, "1", 100), "1 2 3 4 5 6");
    CHECK_STR(find_within(folder, &of_web, "1", ALL), "1 2 5 6");
    CHECK_STR(find_within(folder, &of_web, "service = 'db'", ALL), "");
    CHECK_STR(find_within(folder, &of_web, "service IN ('db', 'web') AND id > 2", ALL), "5 6");
    CHECK_STR(find_within(path_join(&arena, test_folder(), "none"), &everything, "1", ALL), "");
}

TEST(a_search_continues_with_new_lines_after_the_end)
{
    const char *folder = fill_store();
    const struct log_line *line;
    struct log_store *store;
    struct log_sql *sql;

    CHECK_INT(log_sql_open(folder, &everything, STR("line LIKE '%reset%'"), &sql, &err), 0);
    log_sql_keep_cleared(sql, false);
    CHECK_INT(log_sql_tail(sql, 0, &err), 0);
    CHECK_INT(log_sql_next(sql, &line, &err), 0);
    CHECK(!line);
    store = open_store(folder, NULL);
    write_lines(store, "web", "nothing\n");
    write_lines(store, "db", "again a reset\n");
    CHECK_INT(log_store_clear(store, "db", &err), 0);
    CHECK_INT(log_sql_next(sql, &line, &err), 0);
    CHECK(line);
    CHECK_INT(line->seq, 8);
    CHECK_INT(log_sql_next(sql, &line, &err), 0);
    CHECK(!line);
    log_sql_free(sql);
    log_store_free(store);
}

TEST(a_clause_works_on_any_bytes)
{
    const char *folder = log_folder();
    struct log_store *store = open_store(folder, NULL);

    write_lines(store, "web", "\xff\xfe bad\n{\"a\":\"\\u0000\"}\n\n{\"msg\": 1\n");
    log_store_free(store);
    CHECK_STR(find(folder, "line LIKE '%bad'"), "1");
    CHECK_STR(find(folder, "length(line) = 0"), "3");
    CHECK_STR(find(folder, "json_valid(attributes)"), "2");
}
