#include "states/compile/implied.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "states/compile/awaited.h"
#include "states/compile/plan.h"
#include "states/compile/shipped.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "core/graph/cycle.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/path.h"

struct numbers {
    VEC(uint32_t) list;
};

/* The resources that the states of a run provide, by name. */
struct implying {
    struct arena *arena;
    struct plan *plan;
    struct map folders, users, groups; /* struct numbers */
    struct numbers repositories;
    struct numbers services, conditions; /* states that manage services, and that wait for them */
    struct numbers askers;               /* states that require such a condition */
    struct shipped shipped;
    struct numbers needed; /* of the current state */
};

static bool is_state_of(const struct plan_state *state, const char *module)
{
    return strcmp(state->module->name, module) == 0;
}

static void add_provider(struct implying *w, struct map *map, struct str name, uint32_t state)
{
    void **place = map_place(map, arena_str(w->arena, name));
    struct numbers *numbers;

    if (!*place)
        *place = ARENA_NEW(w->arena, struct numbers);
    numbers = *place;
    VEC_PUSH_IN(w->arena, &numbers->list, state);
}

/* The subject of a state: its primary parameter, as given, or its ID. */
static struct str find_state_subject(const struct plan_state *state)
{
    const struct param *primary = params_find_primary(state->module->params);

    for (size_t i = 0; primary && i < state->body.map->count; i++) {
        const struct value_pair *pair = &state->body.map->pairs[i];

        if (param_is_called(primary, pair->key.s))
            return pair->value.kind == VALUE_STR ? pair->value.s : (struct str){ NULL, 0 };
    }
    return str_from(state->id);
}

static bool is_folder_state(const struct plan_state *state)
{
    return is_state_of(state, "file.directory") || is_state_of(state, "file.symlink") ||
           is_state_of(state, "file.recurse") || is_state_of(state, "mount.mounted");
}

static bool installs_packages(const struct plan_state *state)
{
    return is_state_of(state, "pkg.installed") || is_state_of(state, "pkg.latest");
}

/* The packages of a state: of a list, names or maps of names to versions; else its subject. */
static void add_packages(struct implying *w, const struct plan_state *state, uint32_t number)
{
    const struct value *list = value_get(&state->body, "pkgs");
    const struct str name = find_state_subject(state);

    list = list ? list : value_get(&state->body, "sources");
    if (!value_is(list, VALUE_LIST)) {
        if (name.p)
            shipped_add(&w->shipped, name, number);
        return;
    }
    for (size_t i = 0; i < list->list->count; i++) {
        const struct value *item = &list->list->items[i];

        if (item->kind == VALUE_STR)
            shipped_add(&w->shipped, item->s, number);
        for (size_t k = 0; item->kind == VALUE_MAP && k < item->map->count; k++)
            if (item->map->pairs[k].key.kind == VALUE_STR)
                shipped_add(&w->shipped, item->map->pairs[k].key.s, number);
    }
}

static void collect_providers(struct implying *w)
{
    for (uint32_t i = 0; i < w->plan->count; i++) {
        const struct plan_state *state = &w->plan->states[i];
        const struct str name = find_state_subject(state);

        if (!state->listener && installs_packages(state))
            add_packages(w, state, i);
        if (!name.p || name.n == 0 || state->listener)
            continue;
        if (is_folder_state(state) && name.p[0] == '/')
            add_provider(w, &w->folders, str_from(path_normalise(w->arena, name.p)), i);
        else if (is_state_of(state, "user.present"))
            add_provider(w, &w->users, name, i);
        else if (is_state_of(state, "group.present"))
            add_provider(w, &w->groups, name, i);
        else if (is_state_of(state, "pkgrepo.managed"))
            VEC_PUSH_IN(w->arena, &w->repositories.list, i);
        else if (is_state_of(state, AWAITED_MODULE))
            VEC_PUSH_IN(w->arena, &w->conditions.list, i);
        else if (is_state_of(state, "kepler.running") || is_state_of(state, "service.running"))
            VEC_PUSH_IN(w->arena, &w->services.list, i);
    }
}

static bool has_implied_target(const struct plan_state *state, uint32_t target)
{
    for (enum requisite kind = 0; kind < REQUISITES; kind++)
        for (size_t i = 0; i < state->requisites[kind].n; i++)
            if (state->requisites[kind].p[i] == target)
                return true;
    return false;
}

static void collect_askers(struct implying *w)
{
    for (uint32_t i = 0; w->conditions.list.n > 0 && i < w->plan->count; i++)
        VEC_EACH (&w->conditions.list, condition)
            if (has_implied_target(&w->plan->states[i], *condition)) {
                VEC_PUSH_IN(w->arena, &w->askers.list, i);
                break;
            }
}

static void need_all(struct implying *w, const struct numbers *numbers, uint32_t state)
{
    for (size_t i = 0; numbers && i < numbers->list.n; i++)
        if (numbers->list.p[i] != state)
            VEC_PUSH_IN(w->arena, &w->needed.list, numbers->list.p[i]);
}

static void need_named(struct implying *w, const struct map *map, const struct value *name,
                       uint32_t state)
{
    if (value_is(name, VALUE_STR))
        need_all(w, map_find(map, name->s), state);
    for (size_t i = 0; value_is(name, VALUE_LIST) && i < name->list->count; i++)
        if (name->list->items[i].kind == VALUE_STR)
            need_all(w, map_find(map, name->list->items[i].s), state);
}

/* All parent folders of a path that the run creates, including mounts. */
static void need_folders(struct implying *w, struct str path, uint32_t state)
{
    const char *up;

    if (path.n < 2 || path.p[0] != '/' || map_count(&w->folders) == 0)
        return;
    for (up = path_dirname(w->arena, path_normalise(w->arena, path.p)); strcmp(up, "/") != 0;
         up = path_dirname(w->arena, up))
        need_all(w, map_find(&w->folders, str_from(up)), state);
}

static void need_shipped(struct implying *w, const struct shipped_states *states, uint32_t state)
{
    for (size_t i = 0; states && i < states->list.n; i++)
        if (states->list.p[i] != state)
            VEC_PUSH_IN(w->arena, &w->needed.list, states->list.p[i]);
}

/* A state that does not make the folder of its file needs the package that has it. */
static void need_package_of_folder(struct implying *w, const struct plan_state *state,
                                   struct str path, uint32_t number)
{
    const struct value *makedirs = value_get(&state->body, "makedirs");
    const char *up;

    if (!str_starts(path, STR("/etc/")) || (value_is(makedirs, VALUE_BOOL) && makedirs->b))
        return;
    up = path_dirname(w->arena, path_normalise(w->arena, path.p));
    if (map_find(&w->folders, str_from(up)))
        return;
    for (; up[1] && strcmp(up, "/etc") != 0; up = path_dirname(w->arena, up))
        need_shipped(w, shipped_find_folder(&w->shipped, str_from(up)), number);
}

/* A condition is asked for when the turn of its dependents has come, but for the condition. */
static void need_what_dependents_need(struct implying *w, uint32_t number)
{
    need_all(w, &w->services, number);
    VEC_EACH (&w->askers.list, asker) {
        const struct plan_state *state = &w->plan->states[*asker];

        if (!has_implied_target(state, number))
            continue;
        for (enum requisite kind = 0; kind < REQUISITES; kind++)
            for (size_t i = 0; requisite_rule(kind)->success && i < state->requisites[kind].n; i++)
                if (state->requisites[kind].p[i] != number)
                    VEC_PUSH_IN(w->arena, &w->needed.list, state->requisites[kind].p[i]);
    }
}

/* A state that removes something does not need it first. */
static bool is_removal(const struct plan_state *state)
{
    return (state->module->flags & MODULE_REMOVES) ||
           str_ends(str_from(state->module->name), STR(".absent")) ||
           str_ends(str_from(state->module->name), STR(".removed")) ||
           str_ends(str_from(state->module->name), STR(".purged"));
}

static void find_needs(struct implying *w, uint32_t number)
{
    static const char *const users[] = { "user", "owner", "runas" };
    static const char *const groups[] = { "group", "groups", "gid", "optional_groups" };
    const struct plan_state *state = &w->plan->states[number];
    const struct str descendants = str_from(state->module->name);

    for (size_t i = 0; i < ARRAY_LEN(users); i++)
        need_named(w, &w->users, value_get(&state->body, users[i]), number);
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        need_named(w, &w->groups, value_get(&state->body, groups[i]), number);
    if (state->guard_user) {
        const struct value user = value_text(state->guard_user);

        need_named(w, &w->users, &user, number);
    }
    need_folders(w, find_state_subject(state), number);
    if (str_starts(descendants, STR("service.")))
        need_shipped(w, shipped_find_unit(&w->shipped, find_state_subject(state)), number);
    else if (str_starts(descendants, STR("file.")) || str_starts(descendants, STR("ini.")))
        need_package_of_folder(w, state, find_state_subject(state), number);
    if (str_starts(descendants, STR("pkg.")))
        need_all(w, &w->repositories, number);
    if (is_state_of(state, AWAITED_MODULE))
        need_what_dependents_need(w, number);
}

static int compare_implied_targets(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void keep_needed(struct implying *w, uint32_t state)
{
    const size_t n = w->needed.list.n;
    uint32_t *kept = ARENA_ARRAY(w->arena, uint32_t, n);
    size_t count = 0;

    qsort(w->needed.list.p, n, sizeof(*w->needed.list.p), compare_implied_targets);
    for (size_t i = 0; i < n; i++)
        if (count == 0 || kept[count - 1] != w->needed.list.p[i])
            kept[count++] = w->needed.list.p[i];
    w->plan->states[state].requisites[REQUISITE_IMPLIED] = (struct plan_targets){ kept, count };
}

bool implied_add(struct arena *arena, struct plan *plan, const struct state_host *host)
{
    struct implying w = {
        .arena = arena,
        .plan = plan,
        .folders = MAP_INIT_IN(arena),
        .users = MAP_INIT_IN(arena),
        .groups = MAP_INIT_IN(arena),
        .shipped = SHIPPED_INIT(arena, host->package_lists, host->stamps),
    };
    bool found = false;

    collect_providers(&w);
    collect_askers(&w);
    if (map_count(&w.folders) + map_count(&w.users) + map_count(&w.groups) +
            map_count(&w.shipped.packages) + w.repositories.list.n + w.conditions.list.n ==
        0)
        return false;
    for (uint32_t i = 0; i < plan->count; i++) {
        if (plan->states[i].no_implied || plan->states[i].listener || is_removal(&plan->states[i]))
            continue;
        w.needed.list.n = 0;
        find_needs(&w, i);
        if (w.needed.list.n > 0)
            keep_needed(&w, i);
        found |= w.needed.list.n > 0;
    }
    return found;
}

/* Drop the implied requisite of the first state on the second; false when there is none. */
static bool drop_edge(struct plan *plan, uint32_t before, uint32_t after)
{
    struct plan_targets *targets = &plan->states[after].requisites[REQUISITE_IMPLIED];
    uint32_t *p = (uint32_t *)(uintptr_t)targets->p; /* made by keep_needed */

    for (size_t i = 0; i < targets->n; i++)
        if (p[i] == before) {
            memmove(p + i, p + i + 1, (targets->n - i - 1) * sizeof(*p));
            targets->n--;
            return true;
        }
    return false;
}

bool implied_drop(struct plan *plan, const struct cycle *cycle)
{
    bool dropped = false;

    for (uint32_t i = 0; i < cycle->n; i++)
        dropped |= drop_edge(plan, cycle->nodes[i], cycle->nodes[(i + 1) % cycle->n]);
    return dropped;
}
