#include "commands/cli/fleet/answers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "test.h"

#define PEELS 12

#define OUTPUT_MAX 8192

static const char *print_styled(struct arena *arena, const struct fleet_answers *answers,
                                const struct fleet_answers_style *style)
{
    struct cli cli = { .arena = arena };
    FILE *file = tmpfile();
    int before = dup(STDOUT_FILENO);
    char *text = arena_alloc(arena, OUTPUT_MAX);
    size_t n;

    (void)fflush(stdout);
    (void)dup2(fileno(file), STDOUT_FILENO);
    (void)fleet_answers_print(&cli, answers, style);
    (void)fflush(stdout);
    (void)dup2(before, STDOUT_FILENO);
    (void)close(before);
    rewind(file);
    n = fread(text, 1, OUTPUT_MAX - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    return text;
}

/* The output of a function. */
static const char *print_answers(struct arena *arena, const struct fleet_answers *answers,
                                 const char *function)
{
    const struct fleet_answers_style style = { .function = function };

    return print_styled(arena, answers, &style);
}

static void add_answer(struct fleet_answers *answers, size_t i, const char *error)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 16);
    struct exec_response response = {
        .peel_id = answers->list[i].peel, .jid = "", .success = error[0] == '\0', .error = error
    };
    const struct exec_result result = {
        .name = "test.nop:x", .diff = "", .duration = (int64_t)i, .error = error, .skip_reason = ""
    };
    struct err err;

    VEC_PUSH_IN(answers->arena, &response.results.list, result);
    CHECK(record_encode(&bytes, &exec_response_type, &response, &err) == 0);
    fleet_answers_set(answers, answers->list[i].peel, &(struct str){ bytes.p, bytes.n }, "");
}

TEST(an_error_of_the_whole_answer_is_printed_below_its_plain_results)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *peels[] = { "p" };
    const struct exec_response response = { .peel_id = "p", .jid = "", .error = "no more room" };
    const struct exec_result result = {
        .name = "test.ping:ping", .diff = "true", .error = "", .skip_reason = ""
    };
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 16);
    struct exec_response whole = response;
    struct fleet_answers answers;
    struct err err;

    VEC_PUSH_IN(&arena, &whole.results.list, result);
    CHECK(record_encode(&bytes, &exec_response_type, &whole, &err) == 0);
    fleet_answers_init(&answers, &arena, &(struct param_strs){ 1, peels });
    fleet_answers_set(&answers, "p", &(struct str){ bytes.p, bytes.n }, "");
    CHECK_STR(print_answers(&arena, &answers, "test.ping"), "p:\n"
                                                            "    true\n"
                                                            "    ERROR: no more room\n");
    add_answer(&answers, 0, "broken");
    CHECK_STR(print_answers(&arena, &answers, "test.ping"), "p:\n    ERROR: broken\n");
}

TEST(equal_results_of_many_peels_are_one_block_however_long_each_took_and_failures_come_last)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *peels[PEELS];
    struct fleet_answers answers;

    for (size_t i = 0; i < PEELS; i++)
        peels[i] = arena_printf(&arena, "p%02zu", i);
    fleet_answers_init(&answers, &arena, &(struct param_strs){ PEELS, peels });
    for (size_t i = 0; i < PEELS; i++)
        add_answer(&answers, i, i == 7 ? "broken" : "");
    CHECK_STR(print_answers(&arena, &answers, "state.apply"),
              "11 peels (p00, p01, p02, p03, p04, p05, p06, p08 and 3 more):\n"
              "    test.nop:x:\n"
              "        changed: false\n"
              "p07:\n"
              "    test.nop:x:\n"
              "        error: broken\n"
              "        changed: false\n"
              "\n"
              "12 peels: 0 changed, 1 failed, 11 unchanged, 0 without answer\n");
}

/* --- a fleet ------------------------------------------------------------------------- */

/* Fifteen peels: ten web servers, five databases. Two of those have a full disk, and the last web
 * server does not answer. */
#define FLEET_PEELS 15

static struct value details_of(struct arena *arena, const char *key, const char *text)
{
    struct value_map *map = value_map_new(arena, 1);

    value_map_set(arena, map, value_text(key), value_text(text));
    return value_map(map);
}

static void add_fleet_answer(struct fleet_answers *answers, size_t i, bool test)
{
    struct arena *arena = answers->arena;
    const char *peel = answers->list[i].peel;
    const bool fails = i < 2;
    const struct exec_result results[] = {
        { .name = "file.managed:conf",
          .changed = true,
          .diff = arena_printf(arena,
                               "created file /etc/app.conf\n"
                               "--- /dev/null\n"
                               "+++ /etc/app.conf\n"
                               "@@ -0,0 +1,2 @@\n"
                               "+name = %s\n"
                               "+workers = 2\n"
                               "wrote %zu bytes to /etc/app.conf (mode 644)",
                               peel, 20 + strlen(peel)),
          .duration = (int64_t)i,
          .error = "",
          .skip_reason = "" },
        { .name = "pkg.installed:app", .diff = "", .error = "", .skip_reason = "" },
        { .name = "cmd.run:migrate",
          .changed = !fails,
          .diff = "",
          .details = details_of(arena, fails ? "stderr" : "stdout", fails ? "disk full" : "done"),
          .error = fails ? "exit status 1: disk full" : "",
          .skip_reason = "" },
        { .name = "cmd.run:reload",
          .diff = "",
          .error = "",
          .skipped = true,
          .skip_reason = fails ? "require_failed" : "onchanges_not_met" },
    };
    struct exec_response response = {
        .peel_id = peel, .jid = "", .success = !fails, .test = test, .error = ""
    };
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 16);
    struct err err;

    for (size_t j = 0; j < ARRAY_LEN(results); j++)
        VEC_PUSH_IN(arena, &response.results.list, results[j]);
    CHECK(record_encode(&bytes, &exec_response_type, &response, &err) == 0);
    fleet_answers_set(answers, peel, &(struct str){ bytes.p, bytes.n }, "");
}

static void make_fleet(struct arena *arena, struct fleet_answers *answers, bool test)
{
    const char *peels[FLEET_PEELS];

    for (size_t i = 0; i < FLEET_PEELS; i++)
        peels[i] = i < 5 ? arena_printf(arena, "db-%zu", i) : arena_printf(arena, "web-%zu", i);
    fleet_answers_init(answers, arena, &(struct param_strs){ FLEET_PEELS, peels });
    for (size_t i = 0; i < FLEET_PEELS; i++)
        if (strcmp(answers->list[i].peel, "web-9") == 0)
            fleet_answers_set(answers, "web-9", NULL, "UNREACHABLE: no answer");
        else
            add_fleet_answer(answers, i, test);
}

#define FLEET_CHANGES                                                                              \
    "12 peels (db-2, db-3, db-4, web-10, web-11, web-12, web-13, web-14 and 4 more; * is the "     \
    "name of each):\n"                                                                             \
    "    file.managed:conf:\n"                                                                     \
    "        changed: true\n"                                                                      \
    "        diff:\n"                                                                              \
    "            created file /etc/app.conf\n"                                                     \
    "            --- /dev/null\n"                                                                  \
    "            +++ /etc/app.conf\n"                                                              \
    "            @@ -0,0 +1,2 @@\n"                                                                \
    "            +name = *\n"                                                                      \
    "            +workers = 2\n"                                                                   \
    "    cmd.run:migrate:\n"                                                                       \
    "        changed: true\n"                                                                      \
    "        stdout: done\n"                                                                       \
    "    1 unchanged, 1 skipped\n"                                                                 \
    "2 peels (db-0, db-1):\n"                                                                      \
    "    changed       file.managed:conf\n"                                                        \
    "    cmd.run:migrate:\n"                                                                       \
    "        error: exit status 1: disk full\n"                                                    \
    "        changed: false\n"                                                                     \
    "        stderr: disk full\n"                                                                  \
    "    1 unchanged, 1 skipped\n"                                                                 \
    "web-9:\n"                                                                                     \
    "    UNREACHABLE: no answer\n"                                                                 \
    "\n"                                                                                           \
    "15 peels: 12 changed, 2 failed, 0 unchanged, 1 without answer; took 1.5 s\n"

TEST(a_run_on_fifteen_peels_shows_what_changed_once_and_then_what_failed_and_the_totals)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct fleet_answers_style style = { .function = "state.apply", .took = 1500000000 };
    struct fleet_answers answers;

    make_fleet(&arena, &answers, false);
    CHECK_STR(print_styled(&arena, &answers, &style), FLEET_CHANGES);
}

TEST(a_dry_run_says_what_would_change_and_verbose_output_names_every_peel)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct fleet_answers_style style = { .function = "state.apply", .verbose = true };
    struct fleet_answers answers;
    const char *text;

    make_fleet(&arena, &answers, true);
    text = print_styled(&arena, &answers, &style);
    CHECK(strstr(text, "12 peels (db-2, db-3, db-4, web-10, web-11, web-12, web-13, web-14, web-5, "
                       "web-6, web-7, web-8; * is the name of each):\n") == text);
    CHECK(strstr(text, "        would change: true\n") && strstr(text, "    would change  file."));
    CHECK(!strstr(text, "changed: true"));
    CHECK(strstr(text, "\n15 peels: 12 would change, 2 failed, 0 unchanged, 1 without answer\n"));
}

TEST(terse_output_has_a_line_for_each_state_and_mixed_output_has_failures_in_full)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fleet_answers_style style = { .function = "state.apply", .detail = REPORT_TERSE };
    struct fleet_answers answers;
    const char *text;

    make_fleet(&arena, &answers, false);
    text = print_styled(&arena, &answers, &style);
    CHECK(strstr(text, "):\n"
                       "    changed       file.managed:conf\n"
                       "    unchanged     pkg.installed:app\n"
                       "    changed       cmd.run:migrate\n"
                       "    skipped       cmd.run:reload\n"
                       "2 peels (db-0, db-1):\n"
                       "    changed       file.managed:conf\n"
                       "    unchanged     pkg.installed:app\n"
                       "    failed        cmd.run:migrate\n"
                       "    skipped       cmd.run:reload\n"));
    style.detail = REPORT_MIXED;
    text = print_styled(&arena, &answers, &style);
    CHECK(strstr(text, "2 peels (db-0, db-1):\n"
                       "    changed       file.managed:conf\n"
                       "    unchanged     pkg.installed:app\n"
                       "    cmd.run:migrate:\n"
                       "        error: exit status 1: disk full\n"));
    style.detail = REPORT_FULL;
    text = print_styled(&arena, &answers, &style);
    CHECK(strstr(text, "    pkg.installed:app:\n        changed: false\n"));
    CHECK(strstr(text, "            wrote 26 bytes to /etc/app.conf (mode 644)\n"));
}

TEST(up_to_ten_peels_have_a_header_each_and_what_did_not_change_is_counted)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct fleet_answers_style style = { .function = "state.apply", .took = 1000000000 };
    const char *peels[] = { "db-0", "web-5" };
    struct fleet_answers answers;

    fleet_answers_init(&answers, &arena, &(struct param_strs){ 2, peels });
    add_fleet_answer(&answers, 0, false);
    fleet_answers_set(&answers, "web-5", NULL, "UNREACHABLE: no answer");
    CHECK_STR(print_styled(&arena, &answers, &style),
              "db-0:\n"
              "    file.managed:conf:\n"
              "        changed: true\n"
              "        duration: 0 s\n"
              "        diff:\n"
              "            created file /etc/app.conf\n"
              "            --- /dev/null\n"
              "            +++ /etc/app.conf\n"
              "            @@ -0,0 +1,2 @@\n"
              "            +name = db-0\n"
              "            +workers = 2\n"
              "            wrote 24 bytes to /etc/app.conf (mode 644)\n"
              "    cmd.run:migrate:\n"
              "        error: exit status 1: disk full\n"
              "        changed: false\n"
              "        duration: 0 s\n"
              "        stderr: disk full\n"
              "    1 unchanged, 1 skipped\n"
              "web-5:\n"
              "    UNREACHABLE: no answer\n"
              "\n"
              "2 peels: 0 changed, 1 failed, 0 unchanged, 1 without answer; took 1 s\n");
}

TEST(texts_of_commands_that_name_their_peel_are_not_the_same)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *peels[PEELS];
    struct fleet_answers answers;

    for (size_t i = 0; i < PEELS; i++)
        peels[i] = arena_printf(&arena, "p%02zu", i);
    fleet_answers_init(&answers, &arena, &(struct param_strs){ PEELS, peels });
    for (size_t i = 0; i < PEELS; i++)
        add_answer(&answers, i, peels[i]);
    CHECK(strstr(print_answers(&arena, &answers, "cmd.run"), "p03:\n    ERROR: p03\np04:\n"));
}
