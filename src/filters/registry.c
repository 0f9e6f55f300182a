/* Which name is which filter, test or global. */
#include "jinja/function.h"

#include "base/map.h"
#include "base/suggest.h"
#include "filters/filter.h"
#include "filters/global.h"
#include "jinja/render.h"
#include "filters/test.h"

static const struct function *const filter_tables[] = {
    filter_list_functions,    filter_pick_functions, filter_number_functions,
    filter_text_functions,    filter_wrap_functions, filter_markup_functions,
    filter_link_functions,    filter_data_functions, filter_pretty_functions,
    filter_set_functions,     filter_time_functions, filter_regex_functions,
    filter_net_functions,     filter_hash_functions, filter_combine_functions,
    filter_compare_functions, filter_key_functions,  NULL,
};
static const struct function *const test_tables[] = { test_functions, NULL };
static const struct function *const global_tables[] = { global_functions, NULL };

static const struct {
    const char *kind;
    const struct function *const *tables;
} kinds[] = {
    { "filter", filter_tables },
    { "test", test_tables },
    { "global", global_tables },
};

const struct function *const *function_tables(const char *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(str_from(kind), kinds[i].kind))
            return kinds[i].tables;
    return NULL;
}

/* Names are looked up when a template is compiled, once for each place that uses one: a walk over
 * a hundred short names is nothing beside reading the text. */
static const struct function *find(const struct function *const *tables, struct str name)
{
    for (; *tables; tables++)
        for (const struct function *f = *tables; f->name; f++)
            if (f->name[0] == (name.n > 0 ? name.p[0] : '\0') && str_is(name, f->name))
                return f;
    return NULL;
}

const struct function *filter_find(struct str name)
{
    return find(filter_tables, name);
}

const struct function *test_find(struct str name)
{
    return find(test_tables, name);
}

const struct function *global_find(struct str name)
{
    return find(global_tables, name);
}

struct str function_suggest(const char *kind, struct str name)
{
    struct suggest near;

    suggest_init(&near, name);
    for (const struct function *const *table = function_tables(kind); *table; table++)
        for (const struct function *f = *table; f->name; f++)
            suggest_offer(&near, str_from(f->name));
    return suggest_best(&near);
}

static int unknown(struct render *render, const char *kind, struct str name)
{
    struct str best = function_suggest(kind, name);

    (void)render_fail(render, RENDER_NOT_FOUND, "no %s named '%.*s'", kind, STR_ARG(name));
    if (best.p)
        render_hint(render, "did you mean '%.*s'?", STR_ARG(best));
    return -1;
}

/* The piped value in front of the other arguments. */
static int apply(struct render *render, const struct function *function, const struct value *value,
                 const struct call *call, struct value *ret)
{
    struct value *args = arena_alloc(render->arena, (call->count + 1) * sizeof(*args));
    const struct call whole = { args, call->count + 1, call->named, call->named_count };

    args[0] = *value;
    for (size_t i = 0; i < call->count; i++)
        args[i + 1] = call->args[i];
    return function_call(render, function, NULL, &whole, ret);
}

int filter_apply(struct render *render, struct str name, const struct value *value,
                 const struct call *call, struct value *ret)
{
    const struct function *function = filter_find(name);

    return function ? apply(render, function, value, call, ret) : unknown(render, "filter", name);
}

int test_apply(struct render *render, struct str name, const struct value *value,
               const struct call *call, bool *ret)
{
    const struct function *function = test_find(name);
    struct value answer;

    if (!function)
        return unknown(render, "test", name);
    if (apply(render, function, value, call, &answer) < 0)
        return -1;
    *ret = answer.b;
    return 0;
}
