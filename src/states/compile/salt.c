#include "states/compile/salt.h"

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/dotted.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"
#include "states/compile/builtin.h"
#include "states/compile/lookup_functions.h"
#include "states/compile/matching.h"
#include "states/compile/renderer.h"
#include "states/compile/reshape.h"
#include "states/compile/slsutil.h"
#include "states/compile/unsupported.h"
#include "core/data/json.h"
#include "states/state/call.h"
#include "states/state/host.h"
#include "states/state/module.h"

static const struct function *const tables[] = { builtin_salt_functions, lookup_functions,
                                                 matching_functions, reshape_functions,
                                                 slsutil_functions };

static const struct function *find_salt(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct function *f = tables[i]; f->name; f++)
            if (str_is(name, f->name))
                return f;
    return NULL;
}

const struct function *salt_at(size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        for (const struct function *f = tables[t]; f->name; f++)
            if (i-- == 0)
                return f;
    return NULL;
}

bool salt_has(struct str name)
{
    return find_salt(name);
}

bool salt_takes_many(struct str name)
{
    const struct function *function = find_salt(name);

    return function && function->signature[0] == '*';
}

static struct str suggest_salt(struct str name)
{
    struct suggest best;

    suggest_init(&best, name);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct function *f = tables[i]; f->name; f++)
            suggest_offer(&best, str_from(f->name));
    for (size_t i = 0; i < module_count; i++)
        if (module_table[i]->call)
            suggest_offer(&best, str_from(module_table[i]->name));
    return suggest_best(&best);
}

static int make_module_arguments(struct render *render, const struct module *module,
                                 const struct function_call *call, struct value *ret)
{
    struct value_map *map = container_new_map(render, call->count + call->named_count);

    if (params_bind(render->arena, module->params, call->args, call->count, map) < call->count)
        return render_fail(render, RENDER_TYPE, "%s() takes fewer than %zu arguments", module->name,
                           call->count);
    for (size_t i = 0; i < call->named_count; i++)
        value_map_set(render->arena, map, call->named[i].key, call->named[i].value);
    *ret = value_map(map);
    return 0;
}

static int call_function_module(struct render *render, struct builtin_context *context,
                                const struct module *module, const struct function_call *call,
                                struct value *ret)
{
    struct diags diags = DIAGS_INIT(render->arena);
    struct value given;
    struct err err;

    if (render_ask_host(render, module->name) < 0)
        return -1;
    if (make_module_arguments(render, module, call, &given) < 0)
        return -1;
    if (call_function(render->arena, context->host, module, &given, NULL, ret, &diags) == 0)
        return 0;
    (void)diags_to_err(&diags, &err);
    return render_fail(render, RENDER_HOST, "%s(): %s", module->name, err.text);
}

int salt_dispatch(struct render *render, void *user, struct str name,
                  const struct function_call *call, struct value *ret)
{
    struct builtin_context *context = user;
    const struct function *function = find_salt(name);
    const struct module *module = module_find(name);

    if (function)
        return function_call(render, function, context, call, ret);
    if (module && module->call)
        return call_function_module(render, context, module, call, ret);

    const char *reason = unsupported_reason(name);
    const struct str near = reason ? (struct str){ NULL, 0 } : suggest_salt(name);
    if (reason)
        (void)render_fail(render, RENDER_NOT_FOUND, "'%.*s' is not supported: %s", STR_ARG(name),
                          reason);
    else if (module)
        (void)render_fail(render, RENDER_NOT_FOUND, "'%.*s' is a state, not a function",
                          STR_ARG(name));
    else
        (void)render_fail(render, RENDER_NOT_FOUND, "unknown module \"%.*s\"", STR_ARG(name));
    if (near.p && !module)
        render_hint(render, "did you mean '%.*s'?", STR_ARG(near));
    return -1;
}

int salt_names(struct render *render, void *user, struct value_list **ret)
{
    struct value_list *names = container_new_list(render, module_count);

    (void)user;
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct function *f = tables[i]; f->name; f++)
            value_list_push(render->arena, names, value_text(f->name));
    for (size_t i = 0; i < module_count; i++)
        if (module_table[i]->call && !find_salt(str_from(module_table[i]->name)))
            value_list_push(render->arena, names, value_text(module_table[i]->name));
    *ret = names;
    return 0;
}

struct value salt_value(struct arena *arena, struct builtin_context *context)
{
    return dotted_new(arena, salt_dispatch, salt_names, context);
}

int salt_call_by_hand(struct arena *arena, struct state_host *host, const char *name,
                      const struct value *words, const struct value *pairs, struct value *ret,
                      struct diags *diags)
{
    const struct str text = STR("{{ salt_call(name, *words, **pairs) | tojson }}");
    struct renderer *renderer = renderer_new(host, NULL);
    AUTO_BUF struct buf out = BUF_INIT(JSON_SIZE_MAX);
    struct value context = value_map(value_map_new(arena, 3));
    struct err err;
    int result;

    value_map_set(arena, context.map, value_text("name"), value_text(name));
    value_map_set(arena, context.map, value_text("words"), *words);
    value_map_set(arena, context.map, value_text("pairs"), *pairs);
    result = renderer_run(renderer, "command.sls", text, &context, &out, diags);
    renderer_free(renderer);
    if (result == 0 && json_decode(arena, buf_view(&out), ret, &err) < 0)
        result = diag_err(diags, (struct place){ 0 }, &err);
    return result;
}

static int call_salt_call(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *rest = container_list(render, &bound->args[1]);
    const struct value_map *named = container_map(render, &bound->args[2]);
    const struct function_call call = { rest->items, rest->count, named->pairs, named->count };
    struct str name;

    if (argument_text(render, &bound->args[0], &name) < 0)
        return -1;
    return salt_dispatch(render, bound->user, name, &call, ret);
}

const struct function salt_globals[] = {
    { "salt_call", "name, *args, **named", call_salt_call, "call a function by name" },
    { 0 },
};
