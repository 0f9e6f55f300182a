#include "test.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "kepler/logs/log_line.h"
#include "kepler/logs/log_query.h"

/* "web.pre_start! text": a line of a service, perhaps of a hook, with ! from standard error. */
static struct log_line line_of(struct arena *arena, struct str text)
{
    struct str source = str_cut(&text, ' ');
    const bool err = str_ends(source, STR("!"));
    struct str hook;

    source.n -= err;
    hook = source;
    source = str_cut(&hook, '.');
    return (struct log_line){
        .time = INT64_C(1700000000000) * 1000000,
        .service = arena_strndup(arena, source.p, source.n),
        .hook = hook.p ? arena_strndup(arena, hook.p, hook.n) : "",
        .stream = err ? SEGMENT_STDERR : SEGMENT_STDOUT,
        .text = text,
    };
}

/* Each query, and the numbers of the lines that match it. */
static int run(const struct golden *golden, struct buf *out)
{
    struct str queries = golden_section(golden, "queries");

    while (queries.n > 0) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct str query = str_cut(&queries, '\n'), lines = golden_section(golden, "lines");
        const struct log_query *parsed;
        struct err err;

        buf_printf(out, "%.*s ->", STR_ARG(query));
        if (log_query_parse(&arena, query, &parsed, &err) < 0) {
            buf_printf(out, " %s\n", err.text);
            continue;
        }
        for (int number = 1; lines.n > 0; number++) {
            const struct log_line line = line_of(&arena, str_cut(&lines, '\n'));

            if (log_query_match(parsed, &line))
                buf_printf(out, " %d", number);
        }
        buf_add_char(out, '\n');
    }
    return 0;
}

TEST(queries_match_the_lines_of_the_cases)
{
    test_golden("kepler/logs/query.txt", run);
}

static int parse(const char *text, size_t n)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct log_query *query;
    struct err err;

    return log_query_parse(&arena, (struct str){ text, n }, &query, &err);
}

TEST(queries_have_limits)
{
    char text[LOG_QUERY_SIZE_MAX + 1];
    size_t n = 0;

    memset(text, 'a', sizeof(text));
    CHECK_INT(parse(text, LOG_QUERY_SIZE_MAX), 0);
    CHECK_INT(parse(text, LOG_QUERY_SIZE_MAX + 1), -1);
    for (; n < 2 * (size_t)LOG_QUERY_TERMS_MAX; n += 2)
        memcpy(text + n, "a ", 2);
    CHECK_INT(parse(text, n), 0);
    CHECK_INT(parse(text, n + 1), -1);
    memset(text, '-', sizeof(text));
    text[LOG_QUERY_DEPTH_MAX - 1] = text[LOG_QUERY_DEPTH_MAX] = 'a';
    CHECK_INT(parse(text, LOG_QUERY_DEPTH_MAX), 0);
    memset(text, '(', LOG_QUERY_DEPTH_MAX);
    CHECK_INT(parse(text, LOG_QUERY_DEPTH_MAX + 1), -1);
}
