#include "fleet/wire/exec.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "test.h"

/* Arguments and secrets as JSON; what both give together, or why not. */
static const struct {
    const char *args, *secrets, *all;
} cases[] = {
    { "{}", "{\"password\":\"x\"}", "{\"password\":\"x\"}" },
    { "{\"user\":\"u\"}", "{\"password\":\"x\"}", "{\"user\":\"u\",\"password\":\"x\"}" },
    { "{\"env\":{\"A\":\"a\"}}", "{\"env.B\":\"x\",\"env.C\":\"y\"}",
      "{\"env\":{\"A\":\"a\",\"B\":\"x\",\"C\":\"y\"}}" },
    { "{}", "{\"pillar.db.password\":\"x\"}", "{\"pillar\":{\"db\":{\"password\":\"x\"}}}" },
    { "{\"a\":\"b\"}", "{}", "{\"a\":\"b\"}" },
    { "null", "{\"a\":\"x\"}", "{\"a\":\"x\"}" },
    { "{\"env\":\"text\"}", "{\"env.B\":\"x\"}", "secret argument 'env.B': 'env' is not a map" },
    { "{\"a\":\"b\"}", "{\"a\":\"x\"}", "argument 'a' is given twice" },
    { "{\"a\":{\"b\":\"c\"}}", "{\"a\":\"x\"}", "argument 'a' is given twice" },
    { "{}", "{\"\":\"x\"}", "'' is not the name of an argument" },
    { "{}", "{\"a..b\":\"x\"}", "'a..b' is not the name of an argument" },
    { "{}", "{\"a.\":\"x\"}", "'a.' is not the name of an argument" },
    { "{}", "{\"a\":1}", "a secret argument is not a text" },
};

static struct value read_json(struct arena *arena, const char *text)
{
    struct value v;
    struct diags diags = DIAGS_INIT(arena);

    CHECK_INT(json_parse(arena, "test", str_from(text), &v, &diags), 0);
    return v;
}

TEST(secret_arguments_are_laid_over_the_others)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(4096);
        const struct value args = read_json(&arena, cases[i].args);
        const struct value secrets = read_json(&arena, cases[i].secrets);
        struct value all;
        struct err err;

        if (exec_lay_secrets(&arena, &args, &secrets, &all, &err) < 0) {
            CHECK_STR(err.text, cases[i].all);
            continue;
        }
        CHECK_INT(json_print(&out, &all, JSON_STYLE_COMPACT, &err), 0);
        CHECK_STR(buf_text(&out), cases[i].all);
    }
}

TEST(only_secret_arguments_are_marked_and_the_given_ones_stay_as_they_are)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value args = read_json(&arena, "{\"env\":{\"A\":\"a\"}}");
    const struct value secrets = read_json(&arena, "{\"env.B\":\"x\"}");
    struct value all;
    struct err err;

    CHECK_INT(exec_lay_secrets(&arena, &args, &secrets, &all, &err), 0);
    CHECK(value_path(&all, STR("env.B"), '.')->flags & VALUE_SECRET);
    CHECK(!(value_path(&all, STR("env.A"), '.')->flags & VALUE_SECRET));
    CHECK_INT(value_get(&args, "env")->map->count, 1);
}
