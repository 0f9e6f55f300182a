#include "test.h"

#include "base/arena.h"
#include "base/diag.h"
#include "base/err.h"
#include "data/params.h"
#include "data/value.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_YAML };

/* A field of every kind. */
struct all {
    bool flag;
    enum param_tristate maybe;
    int64_t count;
    double ratio;
    const char *name;
    struct str text;
    const char *path;
    mode_t mode;
    int64_t wait;
    int64_t size;
    enum format format;
    struct param_strs words;
    struct param_strmap env;
    const struct value *list, *map, *any;
    const char *password;
    bool mode_given;
};

#define ARGS struct all
static const struct param table[] = {
    PARAM("flag", BOOL, ARGS, flag, "a switch"),
    PARAM("maybe", TRISTATE, ARGS, maybe, "a switch that may be left alone"),
    PARAM("count", INT, ARGS, count, "how many", PARAM_RANGE(-5, 100), .default_text = "3"),
    PARAM("ratio", DOUBLE, ARGS, ratio, "how much"),
    PARAM("name", STR, ARGS, name, "who it is", .flags = PARAM_PRIMARY | PARAM_REQUIRED,
          .aliases = "title,label"),
    PARAM("text", TEXT, ARGS, text, "what it says"),
    PARAM("path", PATH, ARGS, path, "where it is", .aliases = "file"),
    PARAM("mode", MODE, ARGS, mode, "permissions", .default_text = "0644",
          PARAM_GIVEN(ARGS, mode_given)),
    PARAM("wait", DURATION, ARGS, wait, "how long", .default_text = "10s"),
    PARAM("size", SIZE, ARGS, size, "how large"),
    PARAM("format", CHOICE, ARGS, format, "how it looks", .choices = "text|json|yaml",
          .default_text = "json"),
    PARAM("words", STRS, ARGS, words, "some words"),
    PARAM("env", STRMAP, ARGS, env, "names and values"),
    PARAM("list", LIST, ARGS, list, "any list"),
    PARAM("map", MAP, ARGS, map, "any map"),
    PARAM("any", ANY, ARGS, any, "anything"),
    PARAM("password", STR, ARGS, password, "a secret", .flags = PARAM_SECRET),
    { 0 },
};

static const struct params_policy coercing = { 0 };

struct fixture {
    struct arena arena;
    struct diags diags;
    struct value_map *map;
    struct all args;
};

static struct fixture *begin(void)
{
    static struct fixture f;

    f = (struct fixture){ .arena = ARENA_INIT };
    f.diags.arena = &f.arena;
    f.map = value_map_new(&f.arena, 0);
    return &f;
}

static void put(struct fixture *f, const char *key, struct value v)
{
    value_map_set(&f->arena, f->map, value_text(key), v);
}

static int decode(struct fixture *f, const struct params_policy *policy)
{
    struct value map = value_map(f->map);

    return params_decode(&f->arena, table, policy, &map, &f->args, &f->diags);
}

TEST(a_sound_table_passes_its_check)
{
    struct err err = { 0 };

    CHECK_INT(params_check(table, &err), 0);
    CHECK_STR(err.text, "");
}

TEST(what_is_not_given_has_its_default)
{
    struct fixture *f = begin();

    put(f, "name", value_text("x"));
    CHECK_INT(decode(f, &coercing), 0);
    CHECK_INT(f->args.count, 3);
    CHECK_INT(f->args.mode, 0644);
    CHECK(!f->args.mode_given);
    CHECK_INT(f->args.wait, 10000000000);
    CHECK_INT(f->args.format, FORMAT_JSON);
    CHECK_INT(f->args.maybe, PARAM_IS_UNSET);
    CHECK(!f->args.map && !f->args.any && f->args.words.n == 0);
    arena_done(&f->arena);
}

TEST(the_primary_parameter_takes_the_value_of_the_policy)
{
    struct fixture *f = begin();
    struct value id = value_text("web");
    struct params_policy policy = { .primary = &id };

    CHECK_INT(decode(f, &policy), 0);
    CHECK_STR(f->args.name, "web");
    put(f, "title", value_text("given"));
    CHECK_INT(decode(f, &policy), 0);
    CHECK_STR(f->args.name, "given");
    arena_done(&f->arena);
}
