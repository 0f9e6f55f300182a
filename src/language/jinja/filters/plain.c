#include "language/jinja/filters/plain.h"

#include "language/jinja/container.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"

static int plain_list(struct render *render, const struct value_list *list, struct value *ret)
{
    struct value_list *made = value_list_new(render->arena, list->count);

    for (size_t i = 0; i < list->count; i++) {
        struct value item;

        if (plain_value(render, &list->items[i], &item) < 0)
            return -1;
        value_list_push(render->arena, made, item);
    }
    *ret = value_list(made);
    return 0;
}

static int plain_map(struct render *render, const struct value_map *map, struct value *ret)
{
    struct value_map *made = value_map_new_like(render->arena, map);

    for (size_t i = 0; i < map->count; i++) {
        struct value item;

        if (plain_value(render, &map->pairs[i].value, &item) < 0)
            return -1;
        value_map_set(render->arena, made, map->pairs[i].key, item);
    }
    *ret = value_map(made);
    return 0;
}

/* An unchanged list of scalars is returned directly. */
static bool is_flat(struct render *render, const struct value *v)
{
    if (v->kind != VALUE_LIST || container_list(render, v) != v->list)
        return false;
    for (size_t i = 0; i < v->list->count; i++)
        if (v->list->items[i].kind >= VALUE_LIST)
            return false;
    return true;
}

int plain_value(struct render *render, const struct value *v, struct value *ret)
{
    const struct value_list *list;
    int result = 0;

    if (v->kind < VALUE_LIST || is_flat(render, v)) {
        *ret = *v;
        return 0;
    }
    if (value_is_undefined(v))
        return undefined_fail(render, v);
    if (v->kind == VALUE_OBJECT && !v->object->type->list)
        return render_fail(render, RENDER_TYPE, "a value of type '%s' is not data",
                           op_type_name(v));
    if (render_enter(render) < 0 || render_step(render, 1) < 0)
        return -1;
    if (v->kind == VALUE_MAP)
        result = plain_map(render, container_map(render, v), ret);
    else
        result = op_list(render, v, &list) < 0 ? -1 : plain_list(render, list, ret);
    if (result == 0 && v->kind == VALUE_LIST)
        ret->flags = v->flags & VALUE_TUPLE;
    render_leave(render);
    return result;
}
