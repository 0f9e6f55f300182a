#include "commands/cli/fleet/answers.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "test.h"

#define PEELS 12

/* What a function prints on stdout. */
static const char *print_answers(struct arena *arena, const struct fleet_answers *answers,
                                 const char *function)
{
    struct cli cli = { .arena = arena };
    const struct fleet_answers_style style = { FLEET_TEXT, function, false };
    FILE *file = tmpfile();
    int before = dup(STDOUT_FILENO);
    char *text = arena_alloc(arena, 4096);
    size_t n;

    (void)fflush(stdout);
    (void)dup2(fileno(file), STDOUT_FILENO);
    (void)fleet_answers_print(&cli, answers, &style);
    (void)fflush(stdout);
    (void)dup2(before, STDOUT_FILENO);
    (void)close(before);
    rewind(file);
    n = fread(text, 1, 4095, file);
    text[n] = '\0';
    (void)fclose(file);
    return text;
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

TEST(equal_results_of_many_peels_are_one_block_however_long_each_took_and_failures_come_first)
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
              "p07:\n"
              "    test.nop:x:\n"
              "        error: broken\n"
              "        changed: false\n"
              "    ERROR: broken\n"
              "11 peels (p00, p01, p02, p03, p04, p05, p06, p08, p09, p10, p11):\n"
              "    test.nop:x:\n"
              "        changed: false\n");
}
