/* Any bytes as a template: parse, and run with a fixed context and tiny limits. The first byte
 * chooses options. */
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "language/jinja/filters/builtins.h"
#include "language/jinja/jinja.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char context_text[] =
    "{\"x\": 1, \"s\": \"text\", \"l\": [1, 2, 3], \"d\": {\"a\": 1, \"b\": {\"c\": [true, null]}},"
    " \"f\": 1.5, \"h\": \"<&>\", \"users\": [{\"name\": \"ann\", \"age\": 3}]}";

static int load(void *user, struct str name, struct arena *arena, struct str *ret_text,
                struct err *err)
{
    const struct str *self = user;

    (void)arena;
    (void)err;
    if (str_is(name, "self"))
        *ret_text = *self;
    if (str_is(name, "base"))
        *ret_text = STR("<{% block a %}{{ x }}{% endblock %}{% block b scoped %}{% endblock %}>");
    if (str_is(name, "mod"))
        *ret_text = STR("{% macro m(a, b=2) %}{{ a }}{{ caller() }}{% endmacro %}{% set v = 1 %}");
    return 0;
}

static uint64_t count_up(void *user)
{
    static uint64_t n;

    (void)user;
    return n++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct value context;
    struct str text;
    uint8_t bits;

    if (size == 0)
        return 0;
    bits = data[0];
    /* the views of a template end in NUL: a copy */
    text = arena_str(&arena, (struct str){ (const char *)data + 1, size - 1 });
    if (json_parse(&arena, "context", str_from(context_text), &context, &diags) < 0)
        __builtin_trap();

    const struct jinja_options options = {
        .builtins = &filter_builtins,
        .lenient = bits & 1,
        .autoescape = bits & 2,
        .trim_blocks = bits & 4,
        .lstrip_blocks = bits & 8,
        .drop_trailing_newline = bits & 16,
        .limits = { .template_bytes = 1 << 16,
                    .output_bytes = 1 << 16,
                    .memory_bytes = 1 << 23,
                    .nesting = 50,
                    .recursion = 30,
                    .steps = 5000 },
        .load = load,
        .random = count_up,
        .user = &text,
    };
    struct jinja *jinja = jinja_new(&options);

    (void)jinja_check(jinja, "check", text, (const char *const[]){ "x", NULL }, &diags);
    (void)jinja_render(jinja, "fuzz", text, &context, &out, &diags);
    jinja_free(jinja);
    buf_clear(&out);
    diags_print(&diags, &out);
    return 0;
}
