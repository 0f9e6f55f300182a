#include "language/jinja/filters/builtins.h"
#include "test.h"

#include "core/base/arena.h"
#include "language/jinja/jinja.h"
#include "language/jinja/render.h"
#include "language/jinja/signature.h"

static const struct jinja_options options = { .builtins = &filter_builtins };

TEST(a_signature_knows_its_parameters)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct signature *s = signature_new(
        &arena, "value, width=4, sep=', ', ratio=0.5, first=false, other?, *rest, **named");

    CHECK_INT(s->count, 6);
    CHECK_INT(s->required, 1);
    CHECK_INT(s->bound, 8);
    CHECK(s->rest && s->named);
    CHECK_INT(s->params[1].value.i, 4);
    CHECK_STR(s->params[2].value.s.p, ", ");
    CHECK(s->params[3].value.d > 0.4 && s->params[3].value.d < 0.6);
    CHECK_INT(s->params[4].value.kind, VALUE_BOOL);
    CHECK(value_is_absent(&s->params[5].value));
    CHECK_INT(signature_new(&arena, "")->bound, 0);
}

/* Bind "a, b=2, c?" and show what arrived, or what went wrong. */
static const char *bind(struct arena *arena, const char *text, const struct value *first,
                        size_t count, const char *named)
{
    static const struct value numbers[] = { { .kind = VALUE_INT, .i = 10 },
                                            { .kind = VALUE_INT, .i = 11 },
                                            { .kind = VALUE_INT, .i = 12 },
                                            { .kind = VALUE_INT, .i = 13 } };
    const struct value_pair pair = { value_text(named ? named : ""), value_int(99) };
    const struct function_call call = { numbers, count, &pair, named ? 1 : 0 };
    const struct signature *s = signature_new(arena, text);
    struct value args[SIGNATURE_MAX];
    struct render render;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    render_init(&render, NULL, &options, arena);
    if (signature_bind(s, &render, "f", first, &call, args) < 0)
        return render.error_text;
    for (uint32_t i = 0; i < s->bound; i++) {
        if (value_is_absent(&args[i]))
            buf_add_text(&out, "- ");
        else if (args[i].kind == VALUE_LIST)
            buf_printf(&out, "*%zu ", args[i].list->count);
        else if (args[i].kind == VALUE_MAP)
            buf_printf(&out, "**%zu ", args[i].map->count);
        else
            buf_printf(&out, "%lld ", (long long)args[i].i);
    }
    return buf_copy(&out, arena).p;
}

TEST(a_call_is_bound_by_place_by_name_and_by_default)
{
    static const struct {
        const char *signature;
        bool first;
        size_t count;
        const char *named, *bound;
    } cases[] = {
        { "a, b=2, c?", false, 1, NULL, "10 2 - " },
        { "a, b=2, c?", true, 1, NULL, "7 10 - " },
        { "a, b=2, c?", false, 1, "c", "10 2 99 " },
        { "a, b=2, c?", false, 3, NULL, "10 11 12 " },
        { "a, *rest", true, 3, NULL, "7 *3 " },
        { "*rest", true, 2, NULL, "*3 " },
        { "a, **named", false, 1, "x", "10 **1 " },
        { "a, *rest, **named", false, 1, NULL, "10 *0 **0 " },
        { "a, b", false, 1, NULL, "f() missing 1 required positional argument: 'b'" },
        { "a, b", false, 0, "b", "f() missing 1 required positional argument: 'a'" },
        { "a", false, 2, NULL, "f() takes 1 positional argument but 2 were given" },
        { "", true, 0, NULL, "f() takes 0 positional arguments but 1 was given" },
        { "a, b=1", false, 3, NULL, "f() takes from 1 to 2 positional arguments but 3 were given" },
        { "a", false, 1, "a", "f() got multiple values for argument 'a'" },
        { "a", false, 1, "z", "f() got an unexpected keyword argument 'z'" },
    };
    const struct value seven = value_int(7);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;

        CHECK_STR(bind(&arena, cases[i].signature, cases[i].first ? &seven : NULL, cases[i].count,
                       cases[i].named),
                  cases[i].bound);
    }
}

TEST(a_function_has_one_signature_however_often_it_is_asked)
{
    static struct function functions[200];
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct signature *first[ARRAY_LEN(functions)];
    struct signatures signatures;

    signatures_init(&signatures, &arena);
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        functions[i].signature = i % 2 ? "a" : "a, b";
        first[i] = signatures_get(&signatures, &functions[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        CHECK(signatures_get(&signatures, &functions[i]) == first[i]);
        CHECK_INT(first[i]->count, i % 2 ? 1 : 2);
    }
}
