/*
 * The value of an unknown name. The lenient kind is Jinja2's Undefined: it prints as nothing, is
 * false, has no items, and fails in any other use. The strict kind is StrictUndefined: it allows
 * only `is defined`, `default` and the like.
 */
#include "language/jinja/object.h"

#include "core/base/buf.h"
#include "core/base/suggest.h"
#include "language/jinja/container.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"

/* Names longer than this are cut in messages. */
#define NAME_SHOWN_MAX 200

struct undefined {
    struct object object;
    const char *text; /* NULL: built from the next two */
    struct value name;
    struct value owner;
    bool has_owner;
};

static int print_nothing(struct render *render, struct object *object, struct buf *out)
{
    const struct value v = object_value(object);

    (void)out;
    return undefined_check(render, &v);
}

static int list_nothing(struct render *render, struct object *object, struct value_list **ret)
{
    const struct value v = object_value(object);

    if (undefined_check(render, &v) < 0)
        return -1;
    *ret = container_new_list(render, 0);
    return 0;
}

static int length_nothing(struct render *render, struct object *object, size_t *ret)
{
    const struct value v = object_value(object);

    if (undefined_check(render, &v) < 0)
        return -1;
    *ret = 0;
    return 0;
}

static bool is_never_true(struct object *object)
{
    (void)object;
    return false;
}

/* type(self) is type(other); only called for undefined values. */
static bool is_always_equal(struct object *a, struct object *b)
{
    (void)a;
    (void)b;
    return true;
}

static const struct object_type undefined_type = {
    .name = "Undefined",
    .print = print_nothing,
    .list = list_nothing,
    .length = length_nothing,
    .is_true = is_never_true,
    .equal = is_always_equal,
    .is_undefined = true,
};

static const struct object_type strict_type = {
    .name = "StrictUndefined",
    .print = print_nothing,
    .list = list_nothing,
    .length = length_nothing,
    .is_true = is_never_true,
    .equal = is_always_equal,
    .is_undefined = true,
};

static struct value make_undefined(struct render *render, bool lenient, struct undefined content)
{
    struct undefined *made = ARENA_NEW(render->arena, struct undefined);

    *made = content;
    made->object.type = lenient ? &undefined_type : &strict_type;
    return object_value(&made->object);
}

struct value undefined_new(struct render *render, struct str name, const struct value *owner)
{
    const struct value key = value_str(name);

    return make_undefined(render, render->options->lenient,
                          (struct undefined){ .name = key,
                                              .owner = owner ? *owner : value_null(),
                                              .has_owner = owner != NULL });
}

struct value undefined_new_item(struct render *render, const struct value *key,
                                const struct value *owner)
{
    return make_undefined(render, render->options->lenient,
                          (struct undefined){ .name = *key, .owner = *owner, .has_owner = true });
}

struct value undefined_because(struct render *render, bool lenient, const char *text)
{
    return make_undefined(render, lenient || render->options->lenient,
                          (struct undefined){ .text = text });
}

int undefined_test(struct render *render, const struct value *v, bool *ret)
{
    *ret = value_is_undefined(v);
    if (v->kind == VALUE_OBJECT && v->object->type->is_missing)
        return v->object->type->is_missing(render, v->object, ret);
    return 0;
}

/* Jinja2's name for the owner of a missing attribute: "dict object". */
static const char *describe_owner(struct render *render, const struct value *owner)
{
    static const struct {
        const char *type, *full;
    } modules[] = {
        { "Markup", "markupsafe.Markup" },
        { "Macro", "jinja2.runtime.Macro" },
        { "LoopContext", "jinja2.runtime.LoopContext" },
        { "Namespace", "jinja2.utils.Namespace" },
        { "Cycler", "jinja2.utils.Cycler" },
        { "Joiner", "jinja2.utils.Joiner" },
        { "TemplateModule", "jinja2.environment.TemplateModule" },
        { "datetime", "datetime.datetime" },
    };
    const char *type = op_type_name(owner);

    if (owner->kind == VALUE_NULL)
        return "None";
    for (size_t i = 0; i < ARRAY_LEN(modules); i++)
        if (str_is(str_from(type), modules[i].type))
            type = modules[i].full;
    return arena_printf(render->arena, "%s object", type);
}

static const char *name_text(struct render *render, const struct value *name)
{
    AUTO_BUF struct buf text = BUF_INIT(NAME_SHOWN_MAX);

    if (op_repr(render, name, &text) < 0)
        return "?";
    return arena_strdup(render->arena, buf_text(&text));
}

static const char *print_undefined_error(struct render *render, const struct undefined *undefined)
{
    const char *name;

    if (undefined->text)
        return undefined->text;
    name = name_text(render, &undefined->name);
    if (!undefined->has_owner)
        return arena_printf(render->arena, "%s is undefined", name);
    if (undefined->name.kind != VALUE_STR)
        return arena_printf(render->arena, "%s has no element %s",
                            describe_owner(render, &undefined->owner), name);
    return arena_printf(render->arena, "'%s' has no attribute %s",
                        describe_owner(render, &undefined->owner), name);
}

/* The nearest key of the map. */
static void suggest_key(struct render *render, const struct undefined *undefined)
{
    const struct value_map *map;
    struct suggest near;
    struct str best;

    if (undefined->owner.kind != VALUE_MAP || undefined->name.kind != VALUE_STR)
        return;
    map = container_map(render, &undefined->owner);
    suggest_init(&near, undefined->name.s);
    for (size_t i = 0; i < map->count; i++)
        if (map->pairs[i].key.kind == VALUE_STR)
            suggest_offer(&near, map->pairs[i].key.s);
    best = suggest_best(&near);
    if (best.p)
        render_hint(render, "did you mean '%.*s'?", STR_ARG(best));
}

int undefined_fail(struct render *render, const struct value *v)
{
    const struct undefined *undefined = (const struct undefined *)v->object;

    if (render->failed)
        return -1;
    (void)render_fail(render, RENDER_UNDEFINED, "%s", print_undefined_error(render, undefined));
    if (!undefined->text && undefined->has_owner)
        suggest_key(render, undefined);
    else if (!undefined->text && render->explain)
        render->explain(render, undefined->name.s);
    return -1;
}

int undefined_check_object(struct render *render, const struct value *v)
{
    return v->object->type == &strict_type ? undefined_fail(render, v) : 0;
}
