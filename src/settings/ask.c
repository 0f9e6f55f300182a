#include "settings/ask.h"

#include "base/arena.h"
#include "base/suggest.h"
#include "data/value.h"
#include "jinja/argument.h"
#include "jinja/function.h"
#include "jinja/jinja.h"
#include "jinja/object.h"
#include "jinja/render.h"

static const struct ask *ask_of(const struct bound *bound)
{
    return bound->user;
}

/* The value at a path, by either separator; else the default, or `missing`. */
static int get(struct render *render, const struct bound *bound, const struct value *tree,
               struct value missing, struct value *ret)
{
    const struct value *found;
    struct str path;

    if (argument_text(render, &bound->args[0], &path) < 0)
        return -1;
    found = value_path(tree, path, ':');
    if (!found)
        found = value_path(tree, path, '.');
    if (found)
        *ret = *found;
    else
        *ret = value_is_absent(&bound->args[1]) ? missing : bound->args[1];
    return 0;
}

static int call_facts_get(struct render *render, const struct bound *bound, struct value *ret)
{
    return get(render, bound, ask_of(bound)->facts, value_null(), ret);
}

static int call_settings_get(struct render *render, const struct bound *bound, struct value *ret)
{
    return get(render, bound, ask_of(bound)->settings, value_null(), ret);
}

static int call_salt_grains(struct render *render, const struct bound *bound, struct value *ret)
{
    return get(render, bound, ask_of(bound)->grains, value_text(""), ret);
}

static int call_salt_pillar(struct render *render, const struct bound *bound, struct value *ret)
{
    return get(render, bound, ask_of(bound)->settings, value_text(""), ret);
}

static int call_grains_items(struct render *render, const struct bound *bound, struct value *ret)
{
    (void)render;
    *ret = *ask_of(bound)->grains;
    return 0;
}

static int call_pillar_items(struct render *render, const struct bound *bound, struct value *ret)
{
    (void)render;
    *ret = *ask_of(bound)->settings;
    return 0;
}

/* clang-format off */
static const struct function globals[] = {
    { "facts_get",    "key, default?", call_facts_get,    "a fact by path" },
    { "pillar_get",   "key, default?", call_settings_get, "a setting by path" },
    { "settings_get", "key, default?", call_settings_get, "a setting by path" },
    { 0 },
};

static const struct function salt_functions[] = {
    { "facts.get",      "key, default?", call_facts_get,    "a fact by path" },
    { "grains.get",     "key, default?", call_salt_grains,  "a fact by path" },
    { "grains.item",    "key, default?", call_salt_grains,  "a fact by path" },
    { "grains.items",   "",              call_grains_items, "all facts" },
    { "pillar.get",     "key, default?", call_salt_pillar,  "a setting by path" },
    { "pillar.items",   "",              call_pillar_items, "all settings so far" },
    { "settings.get",   "key, default?", call_salt_pillar,  "a setting by path" },
    { "settings.items", "",              call_pillar_items, "all settings so far" },
    { 0 },
};
/* clang-format on */

/* --- salt['...'] ----------------------------------------------------------------------- */

/* salt, salt.grains and salt['grains.get']: what has been named so far. */
struct salt_object {
    struct object object;
    struct ask *ask;
    struct str name; /* empty: salt itself */
};

static int salt_get(struct render *render, struct object *object, struct str name,
                    struct value *ret, bool *ret_found)
{
    const struct salt_object *from = (const struct salt_object *)object;
    struct salt_object *next = ARENA_NEW(render->arena, struct salt_object);

    *next = *from;
    next->name = from->name.n == 0 ? arena_str(render->arena, name)
                                   : str_from(arena_printf(render->arena, "%.*s.%.*s",
                                                           STR_ARG(from->name), STR_ARG(name)));
    *ret = object_value(&next->object);
    *ret_found = true;
    return 0;
}

static int salt_item(struct render *render, struct object *object, const struct value *key,
                     struct value *ret, bool *ret_found)
{
    struct str name;

    if (argument_text(render, key, &name) < 0)
        return -1;
    return salt_get(render, object, name, ret, ret_found);
}

static int salt_call(struct render *render, struct object *object, const struct call *call,
                     struct value *ret)
{
    const struct salt_object *salt = (const struct salt_object *)object;
    struct suggest suggest;

    suggest_init(&suggest, salt->name);
    for (const struct function *f = salt_functions; f->name; f++) {
        if (str_is(salt->name, f->name))
            return function_call(render, f, salt->ask, call, ret);
        suggest_offer(&suggest, str_from(f->name));
    }
    (void)render_fail(render, RENDER_TYPE, "settings cannot call '%.*s'", STR_ARG(salt->name));
    if (suggest_best(&suggest).p)
        render_hint(render, "did you mean '%.*s'?", STR_ARG(suggest_best(&suggest)));
    return -1;
}

static const struct object_type salt_type = {
    .name = "salt",
    .get = salt_get,
    .item = salt_item,
    .call = salt_call,
};

void ask_add(struct jinja *jinja, struct arena *arena, struct ask *ask)
{
    struct salt_object *salt = ARENA_NEW(arena, struct salt_object);

    *salt = (struct salt_object){ .object = { &salt_type }, .ask = ask, .name = STR("") };
    jinja_add_functions(jinja, globals, ask);
    jinja_add_global(jinja, "salt", object_value(&salt->object));
}
