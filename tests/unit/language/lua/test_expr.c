#include "language/lua/expr.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/yaml.h"
#include "language/lua/sandbox.h"
#include "test.h"

/* A case: a document, what scripts see, a top-level chunk. */
struct run {
    struct arena arena;
    struct diags diags;
    struct sandbox *sandbox;
    struct value document, context;
};

static int group_names(void *user, const struct value *args, size_t count, struct arena *arena,
                       struct value *ret, struct err *err)
{
    struct value_list *list = value_list_new(arena, 2);

    (void)user;
    if (count != 1)
        return err_set(err, ERR_INVALID, "'getgroups' must be a user");
    value_list_push(arena, list, args[0]);
    value_list_push(arena, list, value_text("users"));
    *ret = value_list(list);
    return 0;
}

/* success() or success('dep'): true for all but 'broken', an error for names with a blank. */
static int success(void *user, const struct value *args, size_t count, struct arena *arena,
                   struct value *ret, struct err *err)
{
    (void)user;
    (void)arena;
    if (count > 0 && str_find_char(args[0].s, ' ', 0) != STR_NONE)
        return err_set(err, ERR_NOT_FOUND, "no dependency '%.*s'", STR_ARG(args[0].s));
    *ret = value_bool(count == 0 || !str_is(args[0].s, "broken"));
    return 0;
}

static int64_t noon(void *user)
{
    (void)user;
    return 1709208000; /* 2024-02-29 12:00:00 UTC */
}

static int32_t two_hours_east(void *user, int64_t seconds)
{
    (void)user;
    (void)seconds;
    return 7200;
}

static int read_section(struct run *run, const struct golden *golden, const char *name,
                        struct value *ret)
{
    static const struct yaml_options options = { .dialect = YAML_DIALECT_1_2,
                                                 .tags = yaml_all_tags };
    struct str text = golden_section(golden, name);

    *ret = value_null();
    if (!text.p)
        return 0;
    return yaml_parse(&run->arena, name, text, &options, ret, &run->diags);
}

static int set_up(struct run *run, const struct golden *golden)
{
    static const struct sandbox_options options = {
        .memory_max = (size_t)8 << 20,
        .steps_max = 200000,
        .now = noon,
        .utc_offset = two_hours_east,
    };
    struct value script;
    struct err err;

    run->diags = (struct diags)DIAGS_INIT(&run->arena);
    run->sandbox = sandbox_new(&options);
    CHECK(sandbox_add_function(run->sandbox, "os.getgroups", group_names, NULL, &err) == 0);
    CHECK(sandbox_add_function(run->sandbox, "success", success, NULL, &err) == 0);
    if (read_section(run, golden, "context", &run->context) < 0 ||
        read_section(run, golden, "yaml", &run->document) < 0 ||
        read_section(run, golden, "script", &script) < 0)
        return -1;
    for (size_t i = 0; run->context.kind == VALUE_MAP && i < run->context.map->count; i++) {
        const struct value_pair *pair = &run->context.map->pairs[i];

        CHECK(sandbox_set(run->sandbox, pair->key.s.p, &pair->value, &err) == 0);
    }
    if (script.kind == VALUE_MAP)
        return expr_run_script(run->sandbox, value_get(&script, "lua"), &run->diags);
    return 0;
}

static int run_case(const struct golden *golden, struct buf *out)
{
    struct run run = { .arena = ARENA_INIT };
    struct value result;
    struct err err;
    int failed = set_up(&run, golden);

    if (!failed)
        failed = expr_eval_value(run.sandbox, &run.document, &run.arena, &result, &run.diags);
    if (!failed)
        CHECK(json_print(out, &result, JSON_STYLE_SPACED | JSON_STYLE_NAN, &err) == 0);
    else
        diags_print(&run.diags, out);
    sandbox_free(run.sandbox);
    arena_done(&run.arena);
    return failed;
}

TEST(expressions_match_the_cases)
{
    test_golden("language/lua/expr.txt", run_case);
}

TEST(the_library_matches_the_cases)
{
    test_golden("language/lua/library.txt", run_case);
}

TEST(mistakes_are_reported_with_place_and_suggestion)
{
    test_golden("language/lua/errors.txt", run_case);
}

/* --- what does not fit a case ------------------------------------------------------- */

TEST(a_closed_mark_or_a_tag_makes_a_value_dynamic)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    static const struct {
        const char *yaml;
        bool dynamic;
    } cases[] = {
        { "a", false },
        { "'${{ x }}$'", true },
        { "'${{ x }}'", false },
        { "'$x ${y} {{ z }}'", false },
        { "!lua return 1", true },
        { "!other text", false },
        { "a: [1, {b: '${{ x }}$'}]", true },
        { "a: [1, {b: x}]", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK(yaml_parse(&arena, NULL, str_from(cases[i].yaml),
                         &(struct yaml_options){ .tags = yaml_all_tags }, &v, &diags) == 0);
        CHECK_INT(expr_is_dynamic(&v), cases[i].dynamic);
    }
}

static void eval(struct sandbox *sandbox, struct arena *arena, const char *text, struct value *ret)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value v = value_text(text);
    AUTO_BUF struct buf out = BUF_INIT(4096);

    if (expr_eval_value(sandbox, &v, arena, ret, &diags) == 0)
        return;
    diags_print(&diags, &out);
    *ret = value_str(buf_copy(&out, arena));
}

TEST(a_result_is_not_dynamic_again)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct sandbox *sandbox = sandbox_new(NULL);
    struct value v, result;

    CHECK(yaml_parse(&arena, "f", STR("!lua return {'a'}"),
                     &(struct yaml_options){ .tags = yaml_all_tags }, &v, &diags) == 0);
    CHECK(expr_eval_value(sandbox, &v, &arena, &result, &diags) == 0);
    CHECK(!expr_is_dynamic(&result));
    CHECK_INT(result.line, 1);
    CHECK_STR(value_place(&result).file, "f");
    sandbox_free(sandbox);
}

TEST(parts_of_an_older_value_are_refused)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct sandbox *sandbox = sandbox_new(NULL);
    struct value_map *map = value_map_new(&arena, 1);
    struct value deps = value_map(map), got;
    struct err err;

    value_map_set(&arena, map, value_text("list"), value_list(value_list_new(&arena, 0)));
    CHECK(sandbox_set(sandbox, "deps", &deps, &err) == 0);
    eval(sandbox, &arena, "${{ (function() global.old = deps; return #deps.list end)() }}$", &got);
    CHECK_INT(got.kind, VALUE_INT);
    CHECK(sandbox_set(sandbox, "deps", NULL, &err) == 0);
    eval(sandbox, &arena, "${{ deps == nil }}$", &got);
    CHECK(got.kind == VALUE_BOOL && got.b);
    eval(sandbox, &arena, "${{ global.old.list }}$", &got);
    CHECK_HAS(got.s.p, "this table belongs to an earlier 'deps'");
    eval(sandbox, &arena, "${{ global }}$", &got);
    CHECK_HAS(got.s.p, "the value holds a table of an earlier evaluation");
    eval(sandbox, &arena, "${{ global.old == global.old }}$", &got);
    CHECK(got.kind == VALUE_BOOL); /* the same object needs no look */
    sandbox_free(sandbox);
}

TEST(a_secret_that_was_read_makes_the_result_secret)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct sandbox *sandbox = sandbox_new(NULL);
    struct value_map *map = value_map_new(&arena, 2);
    struct value secret = value_text("s3cret"), root = value_map(map), got;
    struct err err;

    secret.flags = VALUE_SECRET;
    value_map_set(&arena, map, value_text("password"), secret);
    value_map_set(&arena, map, value_text("user"), value_text("joe"));
    CHECK(sandbox_set(sandbox, "kepler", &root, &err) == 0);
    eval(sandbox, &arena, "${{ kepler.password }}$", &got);
    CHECK(got.flags & VALUE_SECRET);
    eval(sandbox, &arena, "p=${{ kepler.password }}$ u=${{ kepler.user }}$", &got);
    CHECK_STR(got.s.p, "p=s3cret u=joe");
    CHECK(got.flags & VALUE_SECRET);
    eval(sandbox, &arena, "${{ json.stringify(kepler) }}$", &got);
    CHECK(got.flags & VALUE_SECRET);
    eval(sandbox, &arena, "u=${{ kepler.user }}$", &got);
    CHECK(!(got.flags & VALUE_SECRET));
    sandbox_free(sandbox);
}

TEST(a_guarded_map_raises_for_missing_names)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct sandbox *sandbox = sandbox_new(NULL);
    struct value kepler, got;
    struct err err;

    CHECK(yaml_parse(&arena, NULL, STR("{env: {A: 1}, flags: {}}"), NULL, &kepler, &diags) == 0);
    CHECK(sandbox_set(sandbox, "kepler", &kepler, &err) == 0);
    sandbox_guard(sandbox, value_get(&kepler, "env"), "list it under 'autostart'");
    eval(sandbox, &arena, "${{ kepler.env.A }}$", &got);
    CHECK_INT(got.i, 1);
    eval(sandbox, &arena, "${{ kepler.flags.B }}$", &got);
    CHECK_INT(got.kind, VALUE_NULL);
    eval(sandbox, &arena, "${{ kepler.env.B }}$", &got);
    CHECK_HAS(got.s.p, "'kepler.env.B' does not exist: list it under 'autostart'");
    sandbox_guard(sandbox, value_get(&kepler, "env"), NULL);
    eval(sandbox, &arena, "${{ kepler.env.B }}$", &got);
    CHECK_INT(got.kind, VALUE_NULL);
    sandbox_free(sandbox);
}

TEST(an_expression_is_compiled_once)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct sandbox *sandbox = sandbox_new(NULL);
    struct value got;
    size_t before = 0;

    for (int i = 0; i < 5000; i++) {
        eval(sandbox, &arena, "${{ 1 + 1 }}$", &got);
        CHECK_INT(got.i, 2);
        if (i == 1000)
            before = sandbox_memory(sandbox);
    }
    CHECK(sandbox_memory(sandbox) < before + ((size_t)1 << 20));
    sandbox_free(sandbox);
}

TEST(many_distinct_expressions_do_not_pile_up)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct sandbox *sandbox = sandbox_new(&(struct sandbox_options){ .memory_max = 8 << 20 });
    struct value got;
    char text[64];

    for (int i = 0; i < 30000; i++) {
        (void)snprintf(text, sizeof(text), "${{ %d + 1 }}$", i);
        eval(sandbox, &arena, text, &got);
        CHECK_INT(got.i, i + 1);
    }
    sandbox_free(sandbox);
}

TEST(functions_of_an_earlier_run_keep_their_own_globals)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct sandbox *sandbox = sandbox_new(NULL);
    struct value v, got;

    CHECK(yaml_parse(&arena, "f",
                     STR("!lua |\n  n = (global.n or 0) + 1\n  global.n = n\n"
                         "  global[n] = function() return n end\n"),
                     &(struct yaml_options){ .tags = yaml_all_tags }, &v, &diags) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(expr_eval_value(sandbox, &v, &arena, &got, &diags) == 0);
    eval(sandbox, &arena, "${{ global[1]() }}$ ${{ global[2]() }}$ ${{ global[3]() }}$", &got);
    CHECK_STR(got.s.p, "1 2 3");
    eval(sandbox, &arena, "${{ n }}$", &got);
    CHECK_INT(got.kind, VALUE_NULL);
    sandbox_free(sandbox);
}
