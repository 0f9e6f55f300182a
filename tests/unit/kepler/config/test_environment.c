#include "kepler/config/environment.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "kepler/config/dotenv.h"
#include "kepler/config/requirement.h"
#include "test.h"

static int run_dotenv(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct environment *env = environment_copy(&arena, NULL);
    struct environment *scope = environment_copy(&arena, NULL);
    int failed;

    environment_set(scope, STR("HOME"), STR("/root"));
    failed = dotenv_parse("app.env", golden_section(golden, "input"), scope, env, &diags);
    if (failed)
        diags_print(&diags, out);
    for (const char *const *pair = environment_array(env, &arena); !failed && *pair; pair++)
        buf_printf(out, "[%s]\n", *pair);
    return failed;
}

TEST(env_files_parse_as_the_cases_expect)
{
    test_golden("kepler/kepler/dotenv.txt", run_dotenv);
}

TEST(long_values_are_refused_with_the_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct environment *env = environment_copy(&arena, NULL);
    struct err err;

    buf_add_text(&text, "A=");
    buf_fill(&text, 'x', ENVIRONMENT_TEXT_MAX);
    CHECK_INT(environment_add(env, buf_view(&text), &err), -1);
    CHECK_STR(err.text, "the value of 'A' is longer than 128 KiB");
    CHECK_INT(dotenv_parse("app.env", buf_view(&text), NULL, env, &diags), -1);
    CHECK_STR(diags.list.p[0].text, "the value of 'A' is longer than 128 KiB");
    CHECK_INT(environment_count(env), 0);
}

TEST(a_later_value_keeps_its_first_position)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct environment *env = environment_copy(&arena, NULL);
    const char *const *array;

    environment_merge_array(env, (const char *const[]){ "A=1", "junk", "B=2", "=x", "A=3", NULL });
    array = environment_array(env, &arena);
    CHECK_STR(array[0], "A=3");
    CHECK_STR(array[1], "B=2");
    CHECK(!array[2]);
}

TEST(a_derived_environment_changes_independently)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct environment base, *other;

    environment_init(&base, &arena);
    environment_set(&base, STR("A"), STR("1"));
    environment_set(&base, STR("B"), STR("2"));
    other = environment_share(&arena, &base);
    environment_set(other, STR("A"), STR("3"));
    environment_set(other, STR("C"), STR("4"));
    environment_set(&base, STR("B"), STR("5"));
    CHECK_STR(environment_find(&base, STR("A")), "1");
    CHECK_STR(environment_find(other, STR("A")), "3");
    CHECK_STR(environment_find(other, STR("B")), "2");
    CHECK(!environment_find(&base, STR("C")));
}

TEST(the_callers_secrets_are_not_captured)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct environment *caller = environment_copy(&arena, NULL);
    struct environment *env = environment_copy(&arena, NULL);

    environment_merge_array(
        caller, (const char *const[]){ "KEPLER_TOKEN=x", "A=1", "KEPLER_SOCKET_PATH=y", NULL });
    environment_capture(env, caller);
    CHECK_INT(environment_count(env), 1);
    CHECK_STR(environment_find(env, STR("A")), "1");
}

TEST(versions_compare_only_the_given_parts)
{
    static const struct {
        const char *requirement;
        bool holds;
    } cases[] = {
        { "0.15.2", true },        { "0.15", true },     { "0.14", false },
        { "=0.15.1", false },      { ">=0.15", true },   { ">0.15.2", false },
        { ">0.15", false },        { "<0.16", true },    { "<=0.15.2", true },
        { "^0.15", true },         { "^0.15.3", false }, { "^0.14", false },
        { "~0.15.1", true },       { "~0.14", false },   { "*", true },
        { "0.*", true },           { "0.15.x", true },   { ">=0.15, <0.15.2", false },
        { ">= 0.15 , < 1", true }, { "^0", true },       { "1", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool holds = false;
        struct err err;

        CHECK_INT(requirement_check(str_from(cases[i].requirement), STR("0.15.2"), &holds, &err),
                  0);
        if (holds != cases[i].holds)
            CHECK_STR(cases[i].requirement, cases[i].holds ? "holds" : "does not hold");
    }
}

TEST(invalid_versions_are_refused)
{
    static const char *const bad[] = { "", "1.2.3.4", "a", ">=", "1..2", "*.1", "1,", "-1" };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        bool holds;
        struct err err;

        CHECK_INT(requirement_check(str_from(bad[i]), STR("0.15.2"), &holds, &err), -1);
        CHECK_HAS(err.text, "is not a version");
    }
}
