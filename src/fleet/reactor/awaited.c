#include "fleet/reactor/awaited.h"

#include "core/base/arena.h"
#include "core/base/mem.h"
#include "language/jinja/object.h"

static const char *const made_up[] = { "peel" };

/* clang-format off */
const struct awaited_end awaited_worlds[] = {
    { "pending",    false, "", 0, 0, 0, { 0, NULL } },
    { "complete",   true,  "", 1, 1, 1, { 0, NULL } },
    { "partial",    false, "", 2, 1, 1, { 1, made_up } },
    { "timeout",    false, "", 1, 0, 0, { 1, made_up } },
    { "failed",     false, "", 1, 1, 0, { 1, made_up } },
    { "canceled",   false, "", 1, 1, 0, { 1, made_up } },
    { "no_targets", false, "", 0, 0, 0, { 0, NULL } },
    { "aborted",    false, "", 0, 0, 0, { 0, NULL } },
    { "error",      false, "", 0, 0, 0, { 0, NULL } },
};
/* clang-format on */
const size_t awaited_world_count = ARRAY_LEN(awaited_worlds);

struct value awaited_value(struct arena *arena, const struct awaited_end *end)
{
    struct value_map *map = value_map_new(arena, 7);
    struct value_list *failed = value_list_new(arena, end->failed.n);

    for (size_t i = 0; i < end->failed.n; i++)
        value_list_push(arena, failed, value_text(end->failed.p[i]));
    value_map_append(arena, map, value_text("status"), value_text(end->status));
    value_map_append(arena, map, value_text("ok"), value_bool(end->is_ok));
    value_map_append(arena, map, value_text("jid"), value_text(end->jid));
    value_map_append(arena, map, value_text("targets"), value_int(end->targets));
    value_map_append(arena, map, value_text("returned"), value_int(end->returned));
    value_map_append(arena, map, value_text("succeeded"), value_int(end->succeeded));
    value_map_append(arena, map, value_text("failed"), value_list(failed));
    return value_map(map);
}

/* --- the object ----------------------------------------------------------------------- */

struct awaited_proxy {
    struct object object;
    struct awaited *awaited;
};

static void note_awaited_name(struct awaited *awaited, struct str name)
{
    VEC_EACH (&awaited->names, known)
        if (str_eq(*known, name))
            return;
    VEC_PUSH_IN(awaited->arena, &awaited->names, arena_str(awaited->arena, name));
}

static int get_outcome(struct render *render, struct object *object, struct str name,
                       struct value *ret, bool *ret_found)
{
    struct awaited *awaited = ((struct awaited_proxy *)object)->awaited;
    const struct value key = value_str(name);
    const struct value *ended = awaited->ended ? value_map_find(awaited->ended->map, &key) : NULL;

    (void)render;
    note_awaited_name(awaited, name);
    *ret = ended ? *ended : awaited_value(awaited->arena, awaited->assumed);
    *ret_found = true;
    return 0;
}

static int get_awaited_item(struct render *render, struct object *object, const struct value *key,
                            struct value *ret, bool *ret_found)
{
    *ret_found = false;
    if (!value_is_textual(key))
        return 0;
    return get_outcome(render, object, key->s, ret, ret_found);
}

static const struct object_type proxy_type = {
    .name = AWAITED_NAME,
    .get = get_outcome,
    .item = get_awaited_item,
};

struct value awaited_object(struct awaited *awaited)
{
    struct awaited_proxy *proxy = ARENA_NEW(awaited->arena, struct awaited_proxy);

    *proxy = (struct awaited_proxy){ { &proxy_type }, awaited };
    return object_value(&proxy->object);
}
