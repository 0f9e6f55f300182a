#include "language/jinja/dotted.h"

#include "core/base/arena.h"
#include "language/jinja/argument.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"

struct dotted {
    struct object object;
    dotted_fn *call;
    dotted_names_fn *names;
    void *user;
    struct str name; /* the name so far; empty: none */
};

static int dotted_get(struct render *render, struct object *object, struct str name,
                      struct value *ret, bool *ret_found)
{
    const struct dotted *from = container_of(object, struct dotted, object);
    struct dotted *next = ARENA_NEW(render->arena, struct dotted);

    *next = *from;
    next->name = from->name.n == 0 ? arena_str(render->arena, name)
                                   : str_from(arena_printf(render->arena, "%.*s.%.*s",
                                                           STR_ARG(from->name), STR_ARG(name)));
    *ret = object_value(&next->object);
    *ret_found = true;
    return 0;
}

static int dotted_item(struct render *render, struct object *object, const struct value *key,
                       struct value *ret, bool *ret_found)
{
    struct str name;

    if (argument_text(render, key, &name) < 0)
        return -1;
    return dotted_get(render, object, name, ret, ret_found);
}

static int dotted_list(struct render *render, struct object *object, struct value_list **ret)
{
    const struct dotted *dotted = container_of(object, struct dotted, object);

    return dotted->names(render, dotted->user, ret);
}

/* Is there a function with this name, or one that continues with a dot: salt.pkg? */
static int dotted_is_missing(struct render *render, struct object *object, bool *ret)
{
    const struct dotted *dotted = container_of(object, struct dotted, object);
    const struct str name = dotted->name;
    struct value_list *all;

    if (dotted->names(render, dotted->user, &all) < 0)
        return -1;
    *ret = name.n > 0;
    for (size_t i = 0; *ret && i < all->count; i++) {
        const struct str other = all->items[i].s;

        if (str_starts(other, name) && (other.n == name.n || other.p[name.n] == '.'))
            *ret = false;
    }
    return 0;
}

/* salt.get('x.y', default), as for any map: the function, or the default. */
static int find_dotted_function(struct render *render, struct object *object,
                                const struct function_call *call, struct value *ret)
{
    bool found, missing;

    if (call->count == 0 || call->count > 2)
        return render_fail(render, RENDER_TYPE, "get() takes a name and a default");
    if (dotted_item(render, object, &call->args[0], ret, &found) < 0 ||
        dotted_is_missing(render, ret->object, &missing) < 0)
        return -1;
    if (missing)
        *ret = call->count > 1 ? call->args[1] : value_null();
    return 0;
}

static int list_dotted_names(struct render *render, struct object *object, struct value *ret)
{
    struct value_list *names;

    if (dotted_list(render, object, &names) < 0)
        return -1;
    *ret = value_list(names);
    return 0;
}

static int dotted_call(struct render *render, struct object *object,
                       const struct function_call *call, struct value *ret)
{
    const struct dotted *dotted = container_of(object, struct dotted, object);
    struct dotted whole = *dotted;

    whole.name = STR("");
    if (str_is(dotted->name, "get"))
        return find_dotted_function(render, &whole.object, call, ret);
    if (str_is(dotted->name, "keys"))
        return list_dotted_names(render, &whole.object, ret);
    return dotted->call(render, dotted->user, dotted->name, call, ret);
}

static const struct object_type dotted_type = {
    .name = "salt",
    .get = dotted_get,
    .item = dotted_item,
    .call = dotted_call,
    .list = dotted_list,
    .is_missing = dotted_is_missing,
};

struct value dotted_new(struct arena *arena, dotted_fn *call, dotted_names_fn *names, void *user)
{
    struct dotted *dotted = ARENA_NEW(arena, struct dotted);

    *dotted =
        (struct dotted){ .object = { &dotted_type }, .call = call, .names = names, .user = user };
    dotted->name = STR("");
    return object_value(&dotted->object);
}
