#include "test.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "core/data/yaml.h"

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
    const struct value *list, *map, *any, *rest;
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
    PARAM_REFUSED("signature", "nothing checks it"),
    PARAM_REFUSED("verify", "it is always done", .default_text = "true"),
    PARAM_IDLE("drive", "Windows only"),
    PARAM("*", MAP, ARGS, rest, "more words", .flags = PARAM_REST, .when = "text"),
    { 0 },
};

static const struct params_policy coercing = { 0 };
static const struct params_policy strict = { .strict = true };

struct fixture {
    struct arena arena;
    struct diags diags;
    struct value map;
    struct all args;
};

/* One for each test, which is a process of its own. */
static struct fixture fix;

static int decode(const struct params_policy *policy, const char *json)
{
    struct err err;

    arena_done(&fix.arena);
    fix = (struct fixture){ .arena = ARENA_INIT };
    fix.diags.arena = &fix.arena;
    CHECK_INT(json_decode(&fix.arena, str_from(json), &fix.map, &err), 0);
    return params_decode(&fix.arena, table, policy, &fix.map, &fix.args, &fix.diags);
}

static const char *messages(const struct diags *diags)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    diags_print(diags, &out);
    return arena_strdup(diags->arena, buf_text(&out));
}

TEST(a_sound_table_passes_its_check)
{
    struct err err = { 0 };

    CHECK_INT(params_check(table, &err), 0);
    CHECK_STR(err.text, "");
}

TEST(mistakes_in_a_table_are_reported)
{
    static const struct param twice[] = {
        PARAM("a", BOOL, ARGS, flag, "one", .aliases = "b"),
        PARAM("b", BOOL, ARGS, flag, "two"),
        { 0 },
    };
    static const struct param bad_default[] = {
        PARAM("a", INT, ARGS, count, "one", .default_text = "many"),
        { 0 },
    };
    static const struct param no_choices[] = {
        PARAM("a", CHOICE, ARGS, format, "one"),
        { 0 },
    };
    static const struct param primaries[] = {
        PARAM("a", STR, ARGS, name, "one", .flags = PARAM_PRIMARY),
        PARAM("b", STR, ARGS, name, "two", .flags = PARAM_PRIMARY),
        { 0 },
    };
    struct err err;

    CHECK_INT(params_check(twice, &err), -1);
    CHECK_STR(err.text, "'b' is listed twice");
    CHECK_INT(params_check(bad_default, &err), -1);
    CHECK_STR(err.text, "default: 'a' must be a whole number, got \"many\"");
    CHECK_INT(params_check(no_choices, &err), -1);
    CHECK_HAS(err.text, "'a' has choices and is not a choice, or the reverse");
    CHECK_INT(params_check(primaries, &err), -1);
    CHECK_STR(err.text, "'a' and 'b' are both primary");
}

TEST(a_missing_parameter_has_its_default)
{
    CHECK_INT(decode(&coercing, "{\"name\": \"x\", \"wait\": null}"), 0);
    CHECK_INT(fix.args.count, 3);
    CHECK_INT(fix.args.mode, 0644);
    CHECK(!fix.args.mode_given);
    CHECK_INT(fix.args.wait, 10000000000);
    CHECK_INT(fix.args.format, FORMAT_JSON);
    CHECK_INT(fix.args.maybe, PARAM_IS_UNSET);
    CHECK(!fix.args.map && !fix.args.any && fix.args.words.n == 0);
}

TEST(a_given_parameter_is_marked_as_given)
{
    CHECK_INT(decode(&coercing, "{\"name\": \"x\", \"mode\": \"0644\", \"any\": null}"), 0);
    CHECK(fix.args.mode_given);
    CHECK(value_is(fix.args.any, VALUE_NULL));
}

TEST(the_primary_parameter_takes_the_value_of_the_policy)
{
    struct value id = value_text("web");
    struct params_policy policy = { .primary = &id };

    CHECK_INT(decode(&policy, "{}"), 0);
    CHECK_STR(fix.args.name, "web");
    CHECK_INT(decode(&policy, "{\"title\": \"given\"}"), 0);
    CHECK_STR(fix.args.name, "given");
}

static const struct param places[] = {
    PARAM("wait", DURATION, ARGS, wait, "how long"),
    PARAM_REFUSED("signature", "nothing checks it"),
    PARAM("name", STR, ARGS, name, "who it is", .flags = PARAM_PRIMARY),
    PARAM("words", STRS, ARGS, words, "some words"),
    { 0 },
};

static void check_places(struct param_strs words, const struct param *of, size_t bound,
                         const char *expected)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct value_map *map = value_map_new(&arena, 0);
    struct value all = value_map(map);
    struct err err;

    value_map_set(&arena, map, value_text("wait"), value_text("given"));
    CHECK_INT(params_bind_words(&arena, of, &words, map), bound);
    CHECK_INT(json_print(&out, &all, 0, &err), 0);
    CHECK_STR(buf_text(&out), expected);
}

TEST(arguments_without_a_name_have_places_and_the_last_place_takes_the_rest_if_it_is_a_list)
{
    static const char *const four[] = { "web", "1s", "a", "b" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map;

    CHECK_INT(params_places(params_none), 0);
    CHECK_INT(params_places(places), SIZE_MAX);
    check_places((struct param_strs){ 1, four }, places, 1,
                 "{\"wait\":\"given\",\"name\":\"web\"}");
    check_places((struct param_strs){ 3, four }, places, 3,
                 "{\"wait\":\"given\",\"name\":\"web\",\"words\":\"a\"}");
    check_places((struct param_strs){ 4, four }, places, 4,
                 "{\"wait\":\"given\",\"name\":\"web\",\"words\":[\"a\",\"b\"]}");
    map = value_map_new(&arena, 0);
    value_map_set(&arena, map, value_text("wait"), value_text("given"));
    CHECK(!params_find_twice(places, 1, map));
    CHECK_STR(params_find_twice(places, 2, map)->name, "wait");
    check_places((struct param_strs){ 2, four }, params_none, 0, "{\"wait\":\"given\"}");
}

TEST(allowed_keys_are_not_unknown_and_are_suggested)
{
    static const char *const keys[] = { "require", "onlyif", NULL };
    struct params_policy policy = { .allowed = keys };

    CHECK_INT(decode(&policy, "{\"name\": \"x\", \"require\": [1], \"onlyif\": 1}"), 0);
    CHECK_INT(decode(&policy, "{\"name\": \"x\", \"requier\": [1]}"), -1);
    CHECK_HAS(messages(&fix.diags), "did you mean 'require'?");
}

TEST(unknown_keys_can_be_warnings)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags warnings = DIAGS_INIT(&arena);
    struct params_policy policy = { .unknown = &warnings, .owner = "file.x" };

    CHECK_INT(decode(&policy, "{\"name\": \"x\", \"zzzzzzz\": 1}"), 0);
    CHECK_INT(diags_count(&fix.diags), 0);
    CHECK_STR(messages(&warnings), "file.x has no parameter 'zzzzzzz'\n");
}

TEST(an_unsupported_parameter_is_refused_by_name_with_the_reason)
{
    const struct params_policy owned = { .owner = "file.managed" };

    CHECK_INT(decode(&owned, "{\"name\": \"x\", \"signature\": \"a.sig\"}"), -1);
    CHECK_STR(messages(&fix.diags),
              "parameter 'signature' of file.managed is not supported: nothing checks it\n");
    CHECK_INT(decode(&owned, "{\"name\": \"x\", \"verify\": false}"), -1);
    CHECK_INT(decode(&owned, "{\"name\": \"x\", \"drive\": \"C\"}"), -1);
    CHECK_STR(messages(&fix.diags),
              "parameter 'drive' of file.managed is not supported: Windows only\n");
}

TEST(a_value_that_asks_for_nothing_is_not_refused)
{
    CHECK_INT(decode(&coercing, "{\"name\": \"x\", \"signature\": null, \"drive\": \"\"}"), 0);
    CHECK_INT(decode(&coercing, "{\"name\": \"x\", \"signature\": [], \"drive\": false}"), 0);
    CHECK_INT(decode(&coercing, "{\"name\": \"x\", \"verify\": true}"), 0);
}

TEST(a_parameter_without_effect_is_a_warning_if_unknown_keys_are)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags warnings = DIAGS_INIT(&arena);
    const struct params_policy loose = { .unknown = &warnings };

    CHECK_INT(decode(&loose, "{\"name\": \"x\", \"drive\": \"C\"}"), 0);
    CHECK_STR(messages(&warnings), "parameter 'drive' is not supported: Windows only\n");
    CHECK_INT(decode(&loose, "{\"name\": \"x\", \"signature\": \"a.sig\"}"), -1);
}

TEST(unknown_keys_are_kept_for_a_module_that_uses_them)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags warnings = DIAGS_INIT(&arena);
    const struct params_policy loose = { .unknown = &warnings };

    CHECK_INT(decode(&loose, "{\"name\": \"x\", \"text\": \"t\", \"port\": 80}"), 0);
    CHECK_STR(messages(&warnings), "");
    CHECK_INT(value_get(fix.args.rest, "port")->i, 80);
    CHECK_INT(decode(&loose, "{\"name\": \"x\", \"port\": 80}"), 0);
    CHECK_HAS(messages(&warnings), "no parameter 'port'");
    CHECK(!fix.args.rest);
    CHECK_INT(decode(&coercing, "{\"name\": \"x\", \"text\": \"t\", \"port\": 80}"), -1);
}

TEST(a_document_that_is_not_a_map_is_refused)
{
    CHECK_INT(decode(&coercing, "[1]"), -1);
    CHECK_STR(messages(&fix.diags), "must be a map, got a list\n");
    CHECK_INT(params_decode(&fix.arena, table, &coercing, NULL, &fix.args, &fix.diags), -1);
    CHECK_HAS(messages(&fix.diags), "'name' is missing");
}

TEST(text_may_hold_nul_and_strings_may_not)
{
    CHECK_INT(decode(&coercing, "{\"name\": \"x\", \"text\": \"a\\u0000b\"}"), 0);
    CHECK_INT(fix.args.text.n, 3);
    CHECK_INT(decode(&coercing, "{\"name\": \"a\\u0000b\"}"), -1);
    CHECK_HAS(messages(&fix.diags), "'name' must not contain a NUL byte");
}

/* --- places: values as a reader of documents would make them ----------------------------- */

static struct value placed(struct value v, const struct value_source *source, uint32_t line,
                           uint16_t column)
{
    v.source = source;
    v.line = line;
    v.column = column;
    return v;
}

TEST(mistakes_are_shown_where_they_are)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const struct value_source source = { .file = "web.zy", .text = STR("name: x\nmdoe: 1\n") };
    struct value_map *map = value_map_new(&arena, 2);
    struct value v = value_map(map);
    struct all args = { 0 };

    value_map_set(&arena, map, placed(value_text("name"), &source, 1, 1),
                  placed(value_text("x"), &source, 1, 7));
    value_map_set(&arena, map, placed(value_text("mdoe"), &source, 2, 1),
                  placed(value_int(1), &source, 2, 7));
    CHECK_INT(params_decode(&arena, table, &coercing, &v, &args, &diags), -1);
    CHECK_STR(messages(&diags), "web.zy:2:1: no parameter 'mdoe'\n"
                                "    2 | mdoe: 1\n"
                                "      | ^\n"
                                "      = did you mean 'mode'?\n");
}

TEST(a_secret_is_never_shown_not_even_by_its_line)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const struct value_source source = {
        .file = "web.zy",
        .text = STR("{name: [], password: hunter2}\npasword: hunter2\n"),
    };
    struct value_map *map = value_map_new(&arena, 3);
    struct value v = value_map(map);
    struct all args = { 0 };

    value_map_set(&arena, map, placed(value_text("name"), &source, 1, 2),
                  placed(value_list(value_list_new(&arena, 0)), &source, 1, 8));
    value_map_set(&arena, map, placed(value_text("password"), &source, 1, 12),
                  placed(value_text("hunter2\0x"), &source, 1, 22));
    value_map_set(&arena, map, placed(value_text("pasword"), &source, 2, 1),
                  placed(value_text("hunter2"), &source, 2, 10));
    CHECK_INT(params_decode(&arena, table, &coercing, &v, &args, &diags), -1);
    CHECK_STR(messages(&diags), "web.zy:1:8: 'name' must be text, got a list\n"
                                "web.zy:2:1: no parameter 'pasword'\n"
                                "      = did you mean 'password'?\n");
}

TEST(a_wrong_secret_is_redacted)
{
    static const struct param secret[] = {
        PARAM("pin", INT, ARGS, count, "a number", .flags = PARAM_SECRET),
        PARAM("kind", CHOICE, ARGS, format, "a choice", .flags = PARAM_SECRET, .choices = "a|b"),
        { 0 },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct all args = { 0 };
    struct value v;
    struct err err;

    CHECK_INT(json_decode(&arena, STR("{\"pin\": \"99999999999999999999\", \"kind\": \"hunter2\"}"),
                          &v, &err),
              0);
    CHECK_INT(params_decode(&arena, secret, &coercing, &v, &args, &diags), -1);
    CHECK_STR(messages(&diags), "'pin' must be a whole number, got <redacted>\n"
                                "'kind' must be one of 'a', 'b', got <redacted>\n");
}

/* `written` is what stands in the document, `number` what the reader of YAML made of it. */
static int mode_of(const char *written, int64_t number, mode_t *ret_mode)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const struct value_source source = { .file = "web.zy",
                                         .text = str_from(written ? written : "") };
    const struct param *param = params_find(table, STR("mode"));
    struct value v = placed(value_int(number), written ? &source : NULL, 1, 1);
    struct all args = { 0 };
    int result = params_decode_one(&arena, param, &coercing, &v, &args, &diags);

    *ret_mode = args.mode;
    return result;
}

TEST(a_mode_is_the_intended_one_or_an_error)
{
    static const struct {
        const char *written; /* NULL: no document */
        int64_t number;
        int mode; /* -1: refused */
    } cases[] = {
        { "0644", 0644, 0644 },    { "0o755", 0755, 0755 },  { "01777", 01777, 01777 },
        { "02755", 02755, 02755 }, { "644", 644, 0644 },     { "400", 400, 0400 },
        { "1777", 1777, 01777 },   { "493", 493, 0755 },     { "0644", 644, 0644 },
        { "420", 420, 0644 },      { "511", 511, -1 },       { "264", 264, 0264 },
        { "604", 604, 0604 },      { "705", 705, 0705 },     { "111", 111, 0111 },
        { "0755", 755, 0755 },     { "2775", 2775, 02775 },  { "4755", 4755, 04755 },
        { "0x1ff", 0777, 0777 },   { "*anchor", 420, 0644 }, { "0", 0, 0 },
        { "999", 999, -1 },        { "4096", 4096, -1 },     { "-1", -1, -1 },
        { NULL, 420, 0644 },       { NULL, 493, 0755 },      { NULL, 644, 0644 },
        { NULL, 755, 0755 },       { NULL, 7777, 07777 },    { NULL, 2541, 04755 },
        { NULL, 989, 01735 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        mode_t mode = 0;
        int result = mode_of(cases[i].written, cases[i].number, &mode);

        CHECK_INT(result < 0 ? -1 : (int)mode, cases[i].mode);
    }
}

static int decode_yaml(const char *text, const struct params_policy *policy,
                       enum yaml_dialect dialect)
{
    const struct yaml_options options = { .dialect = dialect };

    arena_done(&fix.arena);
    fix = (struct fixture){ .arena = ARENA_INIT };
    fix.diags.arena = &fix.arena;
    CHECK_INT(yaml_parse(&fix.arena, "web.zy", str_from(text), &options, &fix.map, &fix.diags), 0);
    return params_decode(&fix.arena, table, policy, &fix.map, &fix.args, &fix.diags);
}

TEST(numbers_that_become_text_keep_the_words_of_their_document)
{
    const char *text = "name: 1.10\nwords: [1.20, 2024-01-31, 1:30,0644 , 0x1f, yes, 7]\n"
                       "env: {A: 3.0 } # three\n";

    CHECK_INT(decode_yaml(text, &coercing, YAML_DIALECT_1_1), 0);
    CHECK_STR(fix.args.name, "1.10");
    CHECK_INT(fix.args.words.n, 7);
    CHECK_STR(fix.args.words.p[0], "1.20");
    CHECK_STR(fix.args.words.p[1], "2024-01-31");
    CHECK_STR(fix.args.words.p[2], "1:30");
    CHECK_STR(fix.args.words.p[3], "0644");
    CHECK_STR(fix.args.words.p[4], "0x1f");
    CHECK_STR(fix.args.words.p[5], "true");
    CHECK_STR(fix.args.words.p[6], "7");
    CHECK_STR(fix.args.env.p[0].value, "3.0");
}

TEST(a_mode_in_yaml_is_octal_in_both_dialects_with_and_without_a_zero)
{
    CHECK_INT(decode_yaml("name: x\nmode: 0755 # comment\n", &coercing, YAML_DIALECT_1_1), 0);
    CHECK_INT(fix.args.mode, 0755);
    CHECK_INT(decode_yaml("name: x\nmode: 0o755\n", &strict, YAML_DIALECT_1_2), 0);
    CHECK_INT(fix.args.mode, 0755);
    CHECK_INT(decode_yaml("name: x\nmode: '1777'\n", &strict, YAML_DIALECT_1_2), 0);
    CHECK_INT(fix.args.mode, 01777);
    CHECK_INT(decode_yaml("name: x\nmode: 0755\n", &strict, YAML_DIALECT_1_2), 0);
    CHECK_INT(fix.args.mode, 0755);
    CHECK_INT(decode_yaml("name: x\nmode: 755\n", &coercing, YAML_DIALECT_1_1), 0);
    CHECK_INT(fix.args.mode, 0755);
}

TEST(a_number_that_may_be_two_modes_is_refused)
{
    CHECK_INT(decode_yaml("name: x\nmode: 511\n", &coercing, YAML_DIALECT_1_1), -1);
    CHECK_STR(messages(&fix.diags),
              "web.zy:2:7: 'mode' must be a file mode such as \"0644\", got 511\n"
              "    2 | mode: 511\n"
              "      |       ^\n"
              "      = quote it: \"0511\" (the number 511 is the mode 0777)\n");
}

/* --- golden cases ----------------------------------------------------------------------------- */

static void show_value(struct buf *out, const char *name, const struct value *v)
{
    struct err err;

    if (!v)
        return;
    buf_printf(out, "%s = ", name);
    CHECK_INT(json_print(out, v, JSON_STYLE_COMPACT, &err), 0);
    buf_add_char(out, '\n');
}

static void show_strings(struct buf *out, const struct all *args)
{
    for (size_t i = 0; i < args->words.n; i++)
        buf_printf(out, "words[%zu] = %s\n", i, args->words.p[i]);
    for (size_t i = 0; i < args->env.n; i++)
        buf_printf(out, "env[%s] = %s\n", args->env.p[i].key, args->env.p[i].value);
}

/* Everything that differs from an empty map named 'x'. */
static void show(struct buf *out, const struct all *args)
{
    if (args->flag)
        buf_add_text(out, "flag = true\n");
    if (args->maybe != PARAM_IS_UNSET)
        buf_printf(out, "maybe = %s\n", args->maybe == PARAM_IS_TRUE ? "true" : "false");
    if (args->count != 3)
        buf_printf(out, "count = %lld\n", (long long)args->count);
    if (args->ratio != 0)
        buf_printf(out, "ratio = %g\n", args->ratio);
    if (strcmp(args->name, "x") != 0)
        buf_printf(out, "name = %s\n", args->name);
    if (args->text.p)
        buf_printf(out, "text = %.*s\n", STR_ARG(args->text));
    if (args->path)
        buf_printf(out, "path = %s\n", args->path);
    if (args->mode_given)
        buf_printf(out, "mode = %04o\n", args->mode);
    if (args->wait != 10000000000)
        buf_printf(out, "wait = %lld ns\n", (long long)args->wait);
    if (args->size != 0)
        buf_printf(out, "size = %lld\n", (long long)args->size);
    if (args->format != FORMAT_JSON)
        buf_printf(out, "format = %d\n", (int)args->format);
    show_strings(out, args);
    show_value(out, "list", args->list);
    show_value(out, "map", args->map);
    show_value(out, "any", args->any);
}

static int run_golden(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    bool is_strict = golden_section(golden, "strict").p != NULL;
    const char *section = is_strict ? "strict" : "input";
    struct all args = { 0 };
    struct value map;

    CHECK_INT(json_parse(&arena, NULL, golden_section(golden, section), &map, &diags), 0);
    if (params_decode(&arena, table, is_strict ? &strict : &coercing, &map, &args, &diags) < 0) {
        diags_print(&diags, out);
        return -1;
    }
    show(out, &args);
    return 0;
}

TEST(every_kind_accepts_its_values)
{
    test_golden("core/params/accept.txt", run_golden);
}

TEST(every_mistake_is_reported_in_words_that_help)
{
    test_golden("core/params/refuse.txt", run_golden);
}

static int run_doc(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value doc = params_doc_value(&arena, table);
    struct err err;

    if (golden_section(golden, "people").p) {
        params_print_doc(table, NULL, out);
        return 0;
    }
    for (size_t i = 0; i < doc.list->count; i++) {
        struct value *item = &doc.list->items[i];

        if (golden_section(golden, value_get(item, "name")->s.p).p &&
            json_print(out, item, JSON_STYLE_PRETTY, &err) < 0)
            return -1;
    }
    return 0;
}

TEST(the_table_is_its_own_manual)
{
    test_golden("core/params/doc.txt", run_doc);
}
