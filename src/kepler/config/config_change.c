#include "kepler/config/config_change.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "kepler/config/config.h"
#include "core/data/words.h"
#include "kepler/config/config_dump.h"

#define ENVIRONMENT "environment"
#define HIDDEN      "***"

static const char *const kind_names[] = {
    [CONFIG_CHANGE_NONE] = "none",         [CONFIG_CHANGE_START] = "start",
    [CONFIG_CHANGE_STOP] = "stop",         [CONFIG_CHANGE_RESTART] = "restart",
    [CONFIG_CHANGE_IN_PLACE] = "in place",
};

const char *config_change_name(enum config_change_kind kind)
{
    return kind_names[kind];
}

/* --- values without secrets ----------------------------------------------------------------- */

static struct value hide_pair(struct arena *arena, const struct value *pair)
{
    const struct str text = value_is(pair, VALUE_STR) ? pair->s : STR("");
    const size_t equals = str_find(text, STR("="), 0);

    if (equals == STR_NONE)
        return value_text(HIDDEN);
    return value_text(arena_printf(arena, "%.*s=" HIDDEN, (int)equals, text.p));
}

static struct value hide_environment(struct arena *arena, const struct value *v)
{
    struct value_list *list;

    if (!value_is(v, VALUE_LIST))
        return value_text(HIDDEN);
    list = value_list_new(arena, v->list->count);
    for (size_t i = 0; i < v->list->count; i++)
        value_list_push(arena, list, hide_pair(arena, &v->list->items[i]));
    return value_list(list);
}

static struct value hide_secrets(struct arena *arena, const struct value *v);

static struct value hide_in_map(struct arena *arena, const struct value_map *from)
{
    struct value_map *map = value_map_new(arena, from->count);

    for (size_t i = 0; i < from->count; i++) {
        const struct value_pair *pair = &from->pairs[i];
        bool hidden = value_is(&pair->key, VALUE_STR) && str_is(pair->key.s, ENVIRONMENT);

        value_map_set(arena, map, pair->key,
                      hidden ? hide_environment(arena, &pair->value)
                             : hide_secrets(arena, &pair->value));
    }
    return value_map(map);
}

static struct value hide_secrets(struct arena *arena, const struct value *v)
{
    struct value_list *list;

    if (value_is(v, VALUE_MAP))
        return hide_in_map(arena, v->map);
    if (!value_is(v, VALUE_LIST))
        return *v;
    list = value_list_new(arena, v->list->count);
    for (size_t i = 0; i < v->list->count; i++)
        value_list_push(arena, list, hide_secrets(arena, &v->list->items[i]));
    return value_list(list);
}

/* --- keys ----------------------------------------------------------------------------------- */

struct comparison {
    struct arena *arena;
    config_change_keys *keys;
};

static bool are_same(const struct value *a, const struct value *b);

static const struct value *get_pair_value(const struct value *v, const struct value *key)
{
    for (size_t i = 0; v && i < v->map->count; i++)
        if (value_equal(&v->map->pairs[i].key, key))
            return &v->map->pairs[i].value;
    return NULL;
}

static bool are_same_maps(const struct value *a, const struct value *b)
{
    bool same = a->map->count == b->map->count;

    for (size_t i = 0; same && i < a->map->count; i++)
        same = are_same(&a->map->pairs[i].value, get_pair_value(b, &a->map->pairs[i].key));
    return same;
}

static bool are_same_lists(const struct value *a, const struct value *b)
{
    bool same = a->list->count == b->list->count;

    for (size_t i = 0; same && i < a->list->count; i++)
        same = are_same(&a->list->items[i], &b->list->items[i]);
    return same;
}

/* 1.10 is not 1.1, and a plain text is not the expression with the same text. */
static bool are_same_scalars(const struct value *a, const struct value *b)
{
    struct words_cursor cursor_a = { 0 }, cursor_b = { 0 };
    const struct str own_a = words_own(a, &cursor_a), own_b = words_own(b, &cursor_b);
    const char *tag_a = value_tag(a), *tag_b = value_tag(b);

    if (own_a.p && own_b.p && !str_eq(own_a, own_b))
        return false;
    return value_equal(a, b) && strcmp(tag_a ? tag_a : "", tag_b ? tag_b : "") == 0;
}

static bool are_same(const struct value *a, const struct value *b)
{
    if (!a || !b || a->kind != b->kind)
        return false;
    if (value_is(a, VALUE_MAP))
        return are_same_maps(a, b);
    return value_is(a, VALUE_LIST) ? are_same_lists(a, b) : are_same_scalars(a, b);
}

static struct value show_side(const struct comparison *c, const struct value *v, bool secret)
{
    if (!v)
        return value_null();
    return secret ? hide_environment(c->arena, v) : hide_secrets(c->arena, v);
}

static void add_difference(const struct comparison *c, const char *path, const struct value *old,
                           const struct value *now)
{
    const size_t n = strlen(path), word = strlen(ENVIRONMENT);
    const bool secret = n >= word && strcmp(path + n - word, ENVIRONMENT) == 0;
    struct config_change_key key = { path, show_side(c, old, secret), show_side(c, now, secret) };

    VEC_PUSH_IN(c->arena, c->keys, key);
}

static void compare_values(const struct comparison *c, const char *path, const struct value *old,
                           const struct value *now);

static const char *join_key(const struct comparison *c, const char *path, const struct value *key)
{
    struct str word = value_is(key, VALUE_STR) ? key->s : STR("?");

    return path[0] ? arena_printf(c->arena, "%s.%.*s", path, STR_ARG(word))
                   : arena_strndup(c->arena, word.p, word.n);
}

static void compare_maps(const struct comparison *c, const char *path, const struct value *old,
                         const struct value *now)
{
    for (size_t i = 0; i < now->map->count; i++) {
        const struct value_pair *pair = &now->map->pairs[i];

        compare_values(c, join_key(c, path, &pair->key), get_pair_value(old, &pair->key),
                       &pair->value);
    }
    for (size_t i = 0; i < old->map->count; i++) {
        const struct value_pair *pair = &old->map->pairs[i];

        if (!get_pair_value(now, &pair->key))
            compare_values(c, join_key(c, path, &pair->key), &pair->value, NULL);
    }
}

static void compare_values(const struct comparison *c, const char *path, const struct value *old,
                           const struct value *now)
{
    if (old && now && value_is(old, VALUE_MAP) && value_is(now, VALUE_MAP))
        compare_maps(c, path, old, now);
    else if (!are_same(old, now))
        add_difference(c, path, old, now);
}

/* --- services ------------------------------------------------------------------------------- */

/* Is `path` this key, or below it? */
static bool is_under(const char *path, const char *key)
{
    const size_t n = strlen(key);

    return strncmp(path, key, n) == 0 && (path[n] == '\0' || path[n] == '.');
}

/* Keys that are asked at each use, not when the service starts. */
static const char *const live_keys[] = {
    "depends_on",      "logs.retention",    "restart.policy",       "restart.delay",
    "restart.backoff", "restart.max_delay", "restart.grace_period", "stop_signal",
    "reload_signal",   "stop_grace_period", "start_limit"
};

static bool is_live_key(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(live_keys); i++)
        if (is_under(path, live_keys[i]))
            return true;
    return false;
}

/* Computed values are evaluated when the service starts, and states of the machine are watched from
 * then on. */
static bool is_bound(const struct config_service *service)
{
    return service->restart.computed || service->logs_computed || service->state_count > 0;
}

static enum config_change_kind find_kind(const struct config_service *old,
                                         const struct config_service *now,
                                         const config_change_keys *keys)
{
    if (keys->n == 0)
        return CONFIG_CHANGE_NONE;
    if (is_bound(old) || is_bound(now))
        return CONFIG_CHANGE_RESTART;
    VEC_EACH (keys, key)
        if (!is_live_key(key->key))
            return CONFIG_CHANGE_RESTART;
    return CONFIG_CHANGE_IN_PLACE;
}

static void compare_services(struct arena *arena, const struct config *old,
                             const struct config *now, uint32_t index, struct config_change *change)
{
    const struct config_service *service = &now->services[index];
    const int64_t before = config_find(old, service->name);
    const struct comparison c = { arena, &change->keys };
    struct value was, is;

    change->name = service->name;
    change->kind = CONFIG_CHANGE_START;
    if (before < 0)
        return;
    was = config_dump_service(arena, old, &old->services[before]);
    is = config_dump_service(arena, now, service);
    compare_values(&c, "", &was, &is);
    change->kind = find_kind(&old->services[before], service, &change->keys);
}

static void add_gone_services(struct config_changes *changes, const struct config *old,
                              const struct config *now)
{
    for (uint32_t i = 0; i < old->service_count; i++)
        if (config_find(now, old->services[i].name) < 0)
            changes->services[changes->count++] =
                (struct config_change){ .name = old->services[i].name, .kind = CONFIG_CHANGE_STOP };
}

static void compare_files(struct arena *arena, const struct config *old, const struct config *now,
                          config_change_keys *keys)
{
    const struct comparison c = { arena, keys };
    const struct value was = config_dump_kepler(arena, old), is = config_dump_kepler(arena, now);

    compare_values(&c, "kepler", &was, &is);
    if (old->lua || now->lua)
        compare_values(&c, "lua", old->lua, now->lua);
}

struct config_changes config_change_find(struct arena *arena, const struct config *old,
                                         const struct config *now)
{
    struct config_changes changes = { .services = ARENA_ARRAY(arena, struct config_change,
                                                              (size_t)old->service_count +
                                                                  now->service_count) };

    for (uint32_t i = 0; i < now->service_count; i++)
        compare_services(arena, old, now, i, &changes.services[changes.count++]);
    add_gone_services(&changes, old, now);
    compare_files(arena, old, now, &changes.file);
    return changes;
}

/* The first dependency whose restart this one follows; its changes come first in the order. */
static const char *find_restart(const struct config_changes *changes, const struct config *now,
                                uint32_t index)
{
    const struct config_service *service = &now->services[index];

    for (size_t i = 0; i < service->edge_count; i++) {
        const struct config_change *target = &changes->services[service->edges[i].service];

        if (service->edges[i].restart && target->kind == CONFIG_CHANGE_RESTART && !target->idle)
            return target->name;
    }
    return NULL;
}

void config_change_follow(struct config_changes *changes, const struct config *now)
{
    for (uint32_t i = 0; i < now->service_count; i++) {
        struct config_change *change = &changes->services[now->order[i]];
        const char *cause = find_restart(changes, now, now->order[i]);

        if (!cause || change->idle || change->kind == CONFIG_CHANGE_START ||
            change->kind == CONFIG_CHANGE_RESTART)
            continue;
        change->kind = CONFIG_CHANGE_RESTART;
        change->cause = cause;
    }
}

bool config_change_has(const struct config_change *change, const char *key)
{
    VEC_EACH (&change->keys, one)
        if (is_under(one->key, key))
            return true;
    return false;
}

bool config_change_is_empty(const struct config_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        if (changes->services[i].kind != CONFIG_CHANGE_NONE)
            return false;
    return changes->file.n == 0;
}
