/* Golden cases of templates, and what a text file cannot say: limits, hosts, caches. */
#include "language/jinja/filters/builtins.h"
#include "test.h"

#include <stdlib.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "language/jinja/function.h"
#include "language/jinja/jinja.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"

/* --- golden cases -------------------------------------------------------------------- */

/* Sections: template, context (JSON), options (words), and other templates as "file NAME". */
static int load_section(void *user, struct str name, struct arena *arena, struct str *ret_text,
                        struct err *err)
{
    const struct golden *golden = user;

    (void)err;
    *ret_text = golden_section(golden, arena_printf(arena, "file %.*s", STR_ARG(name)));
    if (ret_text->p && ret_text->n > 0)
        ret_text->n--; /* the line end before the next section is not the template's */
    return 0;
}

static bool has_word(struct str words, const char *word)
{
    return words.p && str_find(words, str_from(word), 0) != STR_NONE;
}

static struct value read_context(const struct golden *golden, struct arena *arena)
{
    struct diags diags = DIAGS_INIT(arena);
    struct str text = golden_section(golden, "context");
    struct value context = value_map(value_map_new(arena, 0));

    if (text.p)
        CHECK_INT(json_parse(arena, golden->name, text, &context, &diags), 0);
    return context;
}

static int run_golden(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str words = golden_section(golden, "options");
    const struct jinja_options options = {
        .builtins = &filter_builtins,
        .lenient = has_word(words, "lenient"),
        .autoescape = has_word(words, "autoescape"),
        .trim_blocks = has_word(words, "trim_blocks"),
        .lstrip_blocks = has_word(words, "lstrip_blocks"),
        .drop_trailing_newline = !has_word(words, "keep_trailing_newline"),
        .load = load_section,
        .user = (void *)(uintptr_t)golden,
    };
    struct jinja *jinja = jinja_new(&options);
    struct value context = read_context(golden, &arena);
    struct diags diags = DIAGS_INIT(&arena);
    int rc = jinja_render(jinja, "main", golden_section(golden, "template"), &context, out, &diags);

    jinja_free(jinja);
    if (rc < 0)
        diags_print(&diags, out);
    else
        buf_add_char(out, '\n');
    return rc;
}

TEST(a_text_without_tags_stands_for_itself)
{
    const struct {
        struct str text;
        bool plain;
    } cases[] = {
        { STR(""), true },
        { STR("a: {b: 1}\n"), true },
        { STR("{"), true },
        { STR("a: {\0%"), true },
        { STR("{{ x }}"), false },
        { STR("a {% if x"), false },
        { STR("a: {b}{# c"), false },
        { STR("a\r\nb"), false },
        { STR("{ {% raw"), false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(jinja_is_plain(cases[i].text), cases[i].plain);
}

TEST(expressions_have_the_values_of_jinja2)
{
    test_golden("language/jinja/expressions.txt", run_golden);
}

TEST(statements_write_the_same_as_jinja2)
{
    test_golden("language/jinja/statements.txt", run_golden);
}

TEST(loops_know_where_they_are)
{
    test_golden("language/jinja/loops.txt", run_golden);
}

TEST(names_belong_to_the_scopes_of_jinja2)
{
    test_golden("language/jinja/scopes.txt", run_golden);
}

TEST(macros_bind_their_arguments)
{
    test_golden("language/jinja/macros.txt", run_golden);
}

TEST(templates_use_other_templates)
{
    test_golden("language/jinja/templates.txt", run_golden);
}

TEST(blocks_replace_blocks_of_parents)
{
    test_golden("language/jinja/inheritance.txt", run_golden);
}

TEST(an_undefined_variable_comes_with_a_hint)
{
    test_golden("language/jinja/missing.txt", run_golden);
}

TEST(whitespace_is_controlled_by_tags_and_options)
{
    test_golden("language/jinja/whitespace.txt", run_golden);
}

TEST(data_is_loaded_by_salt_tags)
{
    test_golden("language/jinja/data.txt", run_golden);
}

TEST(filters_of_salt_do_as_in_salt)
{
    test_golden("language/jinja/salt.txt", run_golden);
}

TEST(undefined_values_fail_or_pass_as_asked)
{
    test_golden("language/jinja/undefined.txt", run_golden);
}

TEST(mistakes_are_reported_with_place_and_hint)
{
    test_golden("language/jinja/mistakes.txt", run_golden);
}

TEST(errors_carry_the_way_that_led_to_them)
{
    test_golden("language/jinja/errors.txt", run_golden);
}

/* --- what a file cannot say ------------------------------------------------------------ */

struct result {
    int rc;
    const char *text; /* output, or what went wrong */
};

static struct result render_in(struct arena *arena, struct jinja *jinja, const char *text,
                               const struct value *context)
{
    struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(arena);
    struct value none = value_map(value_map_new(arena, 0));
    struct result result;

    result.rc = jinja_render(jinja, "t", str_from(text), context ? context : &none, &out, &diags);
    if (result.rc < 0)
        diags_print(&diags, &out);
    result.text = buf_copy(&out, arena).p;
    buf_done(&out);
    return result;
}

static struct result render_once(struct arena *arena, const struct jinja_options *options,
                                 const char *text)
{
    struct jinja *jinja = jinja_new(options);
    struct result result = render_in(arena, jinja, text, NULL);

    jinja_free(jinja);
    return result;
}

TEST(every_limit_is_an_error_that_names_it)
{
    static const struct {
        struct jinja_limits limits;
        const char *template, *error;
    } cases[] = {
        { { .template_bytes = 10 }, "{{ 'longer than ten' }}", "more than the limit of 10" },
        { { .output_bytes = 5 }, "123456", "larger than the limit of 5 bytes" },
        { { .output_bytes = 5 }, "{{ 'a' * 6 }}", "larger than the limit of 5 bytes" },
        { { .steps = 100 }, "{% for i in range(101) %}{% endfor %}", "limit of 100 steps" },
        { { .nesting = 5 }, "{{ ((((((1)))))) }}", "deeper than the limit of 5" },
        { { .nesting = 3 },
          "{% if 1 %}{% if 1 %}{% if 1 %}{% if 1 %}{% endif %}{% endif %}{% endif %}{% endif %}",
          "deeper than the limit of 3" },
        { { .recursion = 20 },
          "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
          "deeper than the limit of 20" },
        { { .memory_bytes = 100000 },
          "{% set l = [] %}{% for i in range(100000) %}{% do l.append('a' ~ i) %}{% endfor %}",
          "more than the limit of 100000 bytes" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct jinja_options options = { .builtins = &filter_builtins,
                                               .limits = cases[i].limits };
        struct result result = render_once(&arena, &options, cases[i].template);

        CHECK_INT(result.rc, -1);
        CHECK_HAS(result.text, cases[i].error);
    }
}

TEST(a_loop_over_a_range_needs_no_memory_for_its_numbers)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct jinja_options options = { .builtins = &filter_builtins,
                                           .limits.memory_bytes = 1 << 20 };
    struct result result =
        render_once(&arena, &options,
                    "{% for i in range(300) %}{% for j in range(9, 3000) if j > 2997 %}"
                    "{% if i == 299 %}{{ j }}/{{ loop.length }}{{ loop.last }} {% endif %}"
                    "{% endfor %}{% endfor %}");

    CHECK_STR(result.text, "2998/2False 2999/2True ");
    CHECK_INT(result.rc, 0);
}

static int64_t tick(void *user)
{
    int64_t *clock = user;

    return *clock += 1000000;
}

TEST(a_template_that_runs_too_long_is_stopped)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    int64_t clock = 0;
    const struct jinja_options options = {
        .builtins = &filter_builtins, .now = tick, .user = &clock, .limits.nanoseconds = 5000000
    };
    struct result result =
        render_once(&arena, &options,
                    "{% for i in range(100000) %}{% for j in range(9) %}{% endfor %}{% endfor %}");

    CHECK_INT(result.rc, -1);
    CHECK_HAS(result.text, "longer than the limit of 5 ms");
}

TEST(deep_expressions_fail_instead_of_breaking_the_stack)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct jinja_options options = { .builtins = &filter_builtins };

    buf_add_text(&text, "{{ 1");
    for (int i = 0; i < 5000; i++)
        buf_add_text(&text, "+1");
    buf_add_text(&text, " }}");
    CHECK_HAS(render_once(&arena, &options, buf_text(&text)).text, "deeper than the limit of 1000");
}

static int call_greet(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const char *greeting = bound->user;

    *ret = value_text(arena_printf(render->arena, "%s %.*s", greeting, STR_ARG(bound->args[0].s)));
    return 0;
}

static int call_refuse(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)bound;
    (void)ret;
    return render_fail(render, RENDER_HOST, "the host says no");
}

TEST(a_host_gives_functions_and_values)
{
    static const struct function functions[] = {
        { "greet", "name='you'", call_greet, "a greeting" },
        { "refuse", "", call_refuse, "fails" },
        { 0 },
    };
    static char hello[] = "hello";
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct jinja_options options = { .builtins = &filter_builtins };
    struct jinja *jinja = jinja_new(&options);
    struct value_map *context = value_map_new(&arena, 1);
    struct value given;

    jinja_add_functions(jinja, functions, hello);
    jinja_add_global(jinja, "answer", value_int(42));
    value_map_set(&arena, context, value_text("answer"), value_int(43));
    given = value_map(context);
    CHECK_STR(render_in(&arena, jinja, "{{ greet() }} {{ greet(name='me') }}", NULL).text,
              "hello you hello me");
    CHECK_STR(render_in(&arena, jinja, "{{ answer }}", NULL).text, "42");
    CHECK_STR(render_in(&arena, jinja, "{{ answer }}", &given).text, "43");
    CHECK_HAS(render_in(&arena, jinja, "{{ refuse() }}", NULL).text, "t:1:4: the host says no");
    CHECK_HAS(render_in(&arena, jinja, "{{ greet(1, 2) }}", NULL).text,
              "greet() takes from 0 to 1 positional arguments but 2 were given");
    CHECK_HAS(render_in(&arena, jinja, "{{ greet(nme=1) }}", NULL).text,
              "greet() got an unexpected keyword argument 'nme'");
    jinja_free(jinja);
}

/* Counts how often each template is asked for. */
struct counter {
    int loads;
};

static int load_counted(void *user, struct str name, struct arena *arena, struct str *ret_text,
                        struct err *err)
{
    struct counter *counter = user;

    (void)arena;
    counter->loads++;
    if (str_is(name, "broken"))
        return err_set(err, ERR_SYSTEM, "the disk is on fire");
    if (str_is(name, "part"))
        *ret_text = STR("<{{ x }}>");
    return 0;
}

TEST(a_loaded_template_is_parsed_once)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct counter counter = { 0 };
    const struct jinja_options options = { .builtins = &filter_builtins,
                                           .load = load_counted,
                                           .user = &counter };
    struct jinja *jinja = jinja_new(&options);

    for (int i = 0; i < 3; i++)
        CHECK_STR(
            render_in(&arena, jinja, "{% for x in [1, 2] %}{% include 'part' %}{% endfor %}", NULL)
                .text,
            "<1><2>");
    CHECK_INT(counter.loads, 1);
    CHECK_HAS(render_in(&arena, jinja, "{% include 'broken' %}", NULL).text, "the disk is on fire");
    jinja_free(jinja);
}

TEST(a_changed_text_under_the_same_name_is_parsed_again)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct jinja_options options = { .builtins = &filter_builtins };
    struct jinja *jinja = jinja_new(&options);

    CHECK_STR(render_in(&arena, jinja, "one", NULL).text, "one");
    CHECK_STR(render_in(&arena, jinja, "two", NULL).text, "two");
    CHECK_STR(render_in(&arena, jinja, "one", NULL).text, "one");
    jinja_free(jinja);
}

TEST(the_context_never_changes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct jinja_options options = { .builtins = &filter_builtins };
    struct jinja *jinja = jinja_new(&options);
    struct diags diags = DIAGS_INIT(&arena);
    struct value context;
    static const char text[] = "{% do d.update({'b': 2}) %}{% do l.append(2) %}{{ d }}{{ l }}";

    CHECK_INT(json_parse(&arena, "c", STR("{\"d\": {\"a\": 1}, \"l\": [1]}"), &context, &diags), 0);
    CHECK_STR(render_in(&arena, jinja, text, &context).text, "{'a': 1, 'b': 2}[1, 2]");
    CHECK_STR(render_in(&arena, jinja, text, &context).text, "{'a': 1, 'b': 2}[1, 2]");
    CHECK_STR(render_in(&arena, jinja, "{{ d }}{{ l }}", &context).text, "{'a': 1}[1]");
    jinja_free(jinja);
}

TEST(checking_finds_the_mistakes_of_all_tags)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct jinja_options options = { .builtins = &filter_builtins };
    struct jinja *jinja = jinja_new(&options);
    struct diags diags = DIAGS_INIT(&arena);

    CHECK_INT(jinja_check(jinja, "t", STR("{{ 1 + }}\n{% if %}\n{% endif %}{% foo %}{{ x }}"), NULL,
                          &diags),
              -1);
    CHECK_INT(diags_count(&diags), 3);
    CHECK_INT(diags.list.p[1].at.line, 2);
    CHECK_INT(jinja_check(jinja, "t", STR("{{ x }}"), NULL, &diags), 0);
    jinja_free(jinja);
}

/* The names that nobody defines, "name line:column" each, when the context has `data` and `tag`. */
static const char *find_unknown(struct arena *arena, const char *text)
{
    const struct jinja_options options = { .builtins = &filter_builtins };
    const char *const known[] = { "data", "tag", NULL };
    struct jinja *jinja = jinja_new(&options);
    struct diags diags = DIAGS_INIT(arena);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    (void)jinja_check(jinja, "t", str_from(text), known, &diags);
    VEC_EACH (&diags.list, diag)
        buf_printf(&out, "%s%s %u:%u", out.n > 0 ? ", " : "", diag->text, diag->at.line,
                   diag->at.column);
    jinja_free(jinja);
    return buf_copy(&out, arena).p;
}

static const struct {
    const char *text, *unknown; /* "": every name is defined */
} name_cases[] = {
    { "{{ data.x }}{{ range(3) }}{{ dict(a=tag) }}", "" },
    { "{{ dta.x }}", "'dta' is not defined 1:4" },
    { "a\n  {{ tag ~ salt['x']('y') }}", "'salt' is not defined 2:12" },
    { "{{ x }}{{ x }}", "'x' is not defined 1:4, 'x' is not defined 1:11" },
    { "{% set x = 1 %}{{ x }}", "" },
    { "{% if tag %}{% set x = 1 %}{% endif %}{{ x }}", "" },
    { "{% set x = y %}", "'y' is not defined 1:12" },
    { "{% for k, v in data.items() if k %}{{ loop.index }}{{ v }}{% endfor %}", "" },
    { "{% for k in data %}{% endfor %}{{ k }}{{ loop }}",
      "'k' is not defined 1:35, 'loop' is not defined 1:42" },
    { "{% for k in data %}{% else %}{{ k }}{% endfor %}", "'k' is not defined 1:33" },
    { "{% macro m(a, b=c) %}{{ a }}{{ b }}{{ caller() }}{{ varargs }}{% endmacro %}{{ m(1) }}",
      "'c' is not defined 1:17" },
    { "{% macro m() %}{{ later }}{% endmacro %}{% set later = 1 %}{{ m() }}", "" },
    { "{% call(x) m() %}{{ x }}{% endcall %}", "'m' is not defined 1:12" },
    { "{% with a = 1, b = a %}{{ a }}{% endwith %}", "'a' is not defined 1:20" },
    { "{% set ns = namespace(n=0) %}{% set ns.n = 1 %}{{ ns.n }}", "" },
    { "{% set n.s = 1 %}", "'n' is not defined 1:8" },
    { "{% import 'a' as b %}{% from 'c' import d as e %}{{ b }}{{ e }}{{ d }}",
      "'d' is not defined 1:67" },
    { "{% set x %}{{ y }}{% endset %}{% filter upper %}{{ z }}{% endfilter %}{{ x }}",
      "'y' is not defined 1:15, 'z' is not defined 1:52" },
    { "{{ x | default(y) }}{{ z | d }}", "'y' is not defined 1:16" },
    { "{{ x | default(1) }}{{ x }}", "'x' is not defined 1:24" },
    { "{% if x is defined %}{{ x }}{% endif %}{{ y is undefined }}{{ z is not defined }}", "" },
    { "{{ x.y | default(1) }}", "'x' is not defined 1:4" },
    { "{{ x if x is defined else 1 }}", "" },
    { "{% block b %}{{ x }}{% for i in y %}{{ z }}{% endfor %}{% endblock %}", "" },
};

TEST(undefined_names_are_found_with_their_places)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(name_cases); i++)
        CHECK_STR(find_unknown(&arena, name_cases[i].text), name_cases[i].unknown);
}

TEST(output_before_a_failure_is_taken_back)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct jinja_options options = { .builtins = &filter_builtins };
    struct jinja *jinja = jinja_new(&options);
    struct value context = value_map(value_map_new(&arena, 0));
    struct diags diags = DIAGS_INIT(&arena);

    buf_add_text(&out, "kept ");
    CHECK_INT(jinja_render(jinja, "t", STR("lost {{ nothing }}"), &context, &out, &diags), -1);
    CHECK_STR(buf_text(&out), "kept ");
    jinja_free(jinja);
}
