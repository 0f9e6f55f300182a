/* sys.argspec - the arguments of functions, in the form of Salt. */
#include <string.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "states/modules/sys/catalog.h"
#include "states/state/manual.h"
#include "states/state/module.h"

#define ARGS struct argspec_args

struct argspec_args {
    struct param_strs names;
};

static const struct param argspec_params[] = {
    PARAM("name", STRS, ARGS, names, "a function (file.managed), a module (file), or a pattern",
          .flags = PARAM_PRIMARY, .aliases = "module"),
    { 0 },
};

/* One row: names, and defaults of the last ones. */
struct spec {
    struct arena *arena;
    struct value_list *names, *defaults;
    bool takes_words, takes_pairs;
};

static void add_argspec_argument(struct spec *spec, struct str name, bool is_optional,
                                 struct value otherwise)
{
    value_list_push(spec->arena, spec->names, value_str(name));
    if (is_optional || spec->defaults->count > 0)
        value_list_push(spec->arena, spec->defaults, otherwise);
}

/* A literal, as signatures and tables of parameters have them. */
static struct value read_literal(struct arena *arena, struct str text)
{
    int64_t number;
    struct err err;

    if (str_is(text, "none"))
        return value_null();
    if (str_is(text, "true") || str_is(text, "false"))
        return value_bool(str_is(text, "true"));
    if (number_parse_int(text, &number, &err) == 0)
        return value_int(number);
    if (text.n >= 2 && text.p[0] == '\'')
        text = str_slice(text, 1, text.n - 2);
    return value_str(arena_str(arena, text));
}

/* "key, default?, delimiter=':', *rest, **named". */
static void read_signature(struct spec *spec, const char *signature)
{
    struct str rest = str_from(signature);

    while (rest.p && rest.n > 0) {
        struct str otherwise = str_trim(str_cut(&rest, ','));
        struct str name = str_cut(&otherwise, '=');

        if (str_starts(name, STR("**")))
            spec->takes_pairs = true;
        else if (str_starts(name, STR("*")))
            spec->takes_words = true;
        else if (otherwise.p)
            add_argspec_argument(spec, name, true, read_literal(spec->arena, otherwise));
        else if (str_ends(name, STR("?")))
            add_argspec_argument(spec, str_slice(name, 0, name.n - 1), true, value_null());
        else
            add_argspec_argument(spec, name, false, value_null());
    }
}

static void read_params(struct spec *spec, const struct param *params)
{
    const struct param *param;

    for (param = params; param->name; param++)
        spec->takes_pairs |= (param->flags & PARAM_REST) != 0;
    for (size_t i = 0; (param = params_at(params, i)); i++)
        if (!(param->flags & PARAM_HIDDEN))
            add_argspec_argument(spec, str_from(param->name), !(param->flags & PARAM_REQUIRED),
                                 param->default_text
                                     ? read_literal(spec->arena, str_from(param->default_text))
                                     : value_null());
}

static struct value print_spec(const struct spec *spec)
{
    struct value_map *map = value_map_new(spec->arena, 4);

    value_map_set(spec->arena, map, value_text("args"), value_list(spec->names));
    value_map_set(spec->arena, map, value_text("defaults"),
                  spec->defaults->count > 0 ? value_list(spec->defaults) : value_null());
    value_map_set(spec->arena, map, value_text("varargs"),
                  spec->takes_words ? value_bool(true) : value_null());
    value_map_set(spec->arena, map, value_text("kwargs"),
                  spec->takes_pairs ? value_bool(true) : value_null());
    return value_map(map);
}

static struct value describe_function(struct state_run *run,
                                      const struct manual_function *functions, struct str name)
{
    struct spec spec = { .arena = run->arena,
                         .names = value_list_new(run->arena, 8),
                         .defaults = value_list_new(run->arena, 8) };
    const struct module *module = module_find(name);

    if (module)
        read_params(&spec, module->params);
    for (const struct manual_function *one = functions; !module && one->name; one++)
        if (str_is(name, one->name))
            read_signature(&spec, one->signature);
    return print_spec(&spec);
}

static int argspec_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct argspec_args *want = args;
    const struct value names = catalog_matching(run, &want->names, false);
    const struct manual_function *functions = catalog_functions(run);
    struct value_map *map = value_map_new(run->arena, names.list->count);

    if (names.list->count == 0)
        return err_set(err, ERR_NOT_FOUND, "no function matches '%s'", want->names.p[0]);
    for (size_t i = 0; i < names.list->count; i++)
        value_map_set(run->arena, map, names.list->items[i],
                      describe_function(run, functions, names.list->items[i].s));
    *ret = value_map(map);
    return 0;
}

const struct module module_sys_argspec = {
    .name = "sys.argspec",
    .summary = "the arguments of functions, with their defaults",
    .details =
        "As in Salt: `args` are the names, `defaults` those of the last of them, `varargs` and "
        "`kwargs` are true when the function takes any words or any pairs.",
    .params = argspec_params,
    .args_size = sizeof(struct argspec_args),
    .call = argspec_call,
};
