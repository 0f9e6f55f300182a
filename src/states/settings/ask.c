#include "states/settings/ask.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "core/data/value.h"
#include "language/jinja/argument.h"
#include "language/jinja/dotted.h"
#include "language/jinja/function.h"
#include "language/jinja/jinja.h"
#include "language/jinja/render.h"
#include "states/settings/folder.h"

static const struct ask *get_ask(const struct bound_args *bound)
{
    return bound->user;
}

/* The value at a path, by either separator; else the default, or `missing`. */
static int get_settings_path(struct render *render, const struct bound_args *bound,
                             const struct value *tree, struct value missing, struct value *ret)
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

static int call_settings_facts_get(struct render *render, const struct bound_args *bound,
                                   struct value *ret)
{
    return get_settings_path(render, bound, get_ask(bound)->facts, value_null(), ret);
}

static int call_settings_lookup(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    return get_settings_path(render, bound, get_ask(bound)->settings, value_null(), ret);
}

static int call_salt_grains(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    return get_settings_path(render, bound, get_ask(bound)->grains, value_text(""), ret);
}

static int call_salt_pillar(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    return get_settings_path(render, bound, get_ask(bound)->settings, value_text(""), ret);
}

static int call_settings_grains(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    (void)render;
    *ret = *get_ask(bound)->grains;
    return 0;
}

static int call_settings_pillar(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    (void)render;
    *ret = *get_ask(bound)->settings;
    return 0;
}

static int call_settings_file_exists(struct render *render, const struct bound_args *bound,
                                     struct value *ret)
{
    struct str path, text;
    struct err err;

    if (argument_text(render, &bound->args[0], &path) < 0)
        return -1;
    if (folder_read(render->arena, get_ask(bound)->folder, path, &text, &err) < 0)
        return render_fail(render, RENDER_HOST, "%s(): %s", bound->name, err.text);
    *ret = value_bool(text.p);
    return 0;
}

/* --- shared values ----------------------------------------------------------------- */

static int ask_shared(struct render *render, const struct bound_args *bound, struct str type,
                      struct value *ret)
{
    const struct ask *ask = get_ask(bound);
    const char *scope = value_get_text(ask->settings, "basket_scope");
    struct str target, name;
    struct err err;

    if (argument_text(render, &bound->args[0], &target) < 0 ||
        argument_text(render, &bound->args[1], &name) < 0)
        return -1;
    *ret = value_map(value_map_new(render->arena, 0));
    if (ask->basket &&
        ask->basket(ask->basket_user,
                    &(struct settings_shared){ .target = arena_str(render->arena, target).p,
                                               .type = arena_str(render->arena, type).p,
                                               .name = arena_str(render->arena, name).p,
                                               .scope = scope ? scope : "" },
                    render->arena, ret, &err) < 0)
        return render_fail(render, RENDER_TYPE, "%s", err.text);
    return 0;
}

static int call_mine_get(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str type = STR("");

    if (!value_is_absent(&bound->args[2]) && argument_text(render, &bound->args[2], &type) < 0)
        return -1;
    return ask_shared(render, bound, type, ret);
}

static int call_settings_basket(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    struct value shared;
    struct value_list *list;

    if (ask_shared(render, bound, STR(""), &shared) < 0)
        return -1;
    list = value_list_new(render->arena, shared.map->count);
    for (size_t i = 0; i < shared.map->count; i++) {
        struct value_map *item = value_map_new(render->arena, 2);

        value_map_set(render->arena, item, value_text("peel_id"), shared.map->pairs[i].key);
        value_map_set(render->arena, item, value_text("value"), shared.map->pairs[i].value);
        value_list_push(render->arena, list, value_map(item));
    }
    *ret = value_list(list);
    return 0;
}

/* clang-format off */
static const struct function globals[] = {
    { "basket",       "target, name",  call_settings_basket,    "values that machines of the fleet share under a name: a list of peel_id and value" },
    { "facts_get",    "key, default?", call_settings_facts_get, "a fact by path" },
    { "pillar_get",   "key, default?", call_settings_lookup,    "a setting by path" },
    { "settings_get", "key, default?", call_settings_lookup,    "a setting by path" },
    { 0 },
};

static const struct function salt_functions[] = {
    { "facts.get",          "key, default?",       call_settings_facts_get,   "a fact by path" },
    { "grains.get",         "key, default?",       call_salt_grains,          "a fact by path" },
    { "grains.item",        "key, default?",       call_salt_grains,          "a fact by path" },
    { "grains.items",       "",                    call_settings_grains,      "all facts" },
    { "mine.get",           "tgt, fun, tgt_type?", call_mine_get,             "values that machines of the fleet share under a name, by machine" },
    { "pillar.file_exists", "path, saltenv=none",  call_settings_file_exists, "whether there is a file of settings" },
    { "pillar.get",         "key, default?",       call_salt_pillar,          "a setting by path" },
    { "pillar.items",       "",                    call_settings_pillar,      "all settings so far" },
    { "settings.get",       "key, default?",       call_salt_pillar,          "a setting by path" },
    { "settings.items",     "",                    call_settings_pillar,      "all settings so far" },
    { 0 },
};
/* clang-format on */

/* --- salt['...'] ----------------------------------------------------------------------- */

static int call_salt_function(struct render *render, void *user, struct str name,
                              const struct function_call *call, struct value *ret)
{
    const struct ask *ask = user;
    struct suggest suggest;

    suggest_init(&suggest, name);
    for (const struct function *f = salt_functions; f->name; f++) {
        if (str_is(name, f->name))
            return function_call(render, f, user, call, ret);
        suggest_offer(&suggest, str_from(f->name));
    }
    if (ask->salt)
        return ask->salt(render, ask->salt_user, name, call, ret);
    (void)render_fail(render, RENDER_TYPE, "settings cannot call '%.*s'", STR_ARG(name));
    if (suggest_best(&suggest).p)
        render_hint(render, "did you mean '%.*s'?", STR_ARG(suggest_best(&suggest)));
    return -1;
}

static int list_functions(struct render *render, void *user, struct value_list **ret)
{
    const struct ask *ask = user;

    *ret = value_list_new(render->arena, ARRAY_LEN(salt_functions));
    if (ask->salt_names && ask->salt_names(render, ask->salt_user, ret) < 0)
        return -1;
    for (const struct function *f = salt_functions; f->name; f++)
        value_list_push(render->arena, *ret, value_text(f->name));
    return 0;
}

void ask_add(struct jinja *jinja, struct arena *arena, struct ask *ask)
{
    jinja_add_functions(jinja, globals, ask);
    jinja_add_global(jinja, "salt", dotted_new(arena, call_salt_function, list_functions, ask));
}
