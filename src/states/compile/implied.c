#include "states/compile/implied.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "states/compile/awaited.h"
#include "states/compile/contest.h"
#include "states/compile/plan.h"
#include "states/compile/shipped.h"
#include "states/compile/written.h"
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

static bool is_of_family(const struct plan_state *state, const char *family)
{
    return str_starts(str_from(state->module->name), str_from(family));
}

/* Does it fill the folder at its path? */
static bool fills_folder(const struct plan_state *state)
{
    return (state->module->flags & MODULE_TREE) && !is_state_of(state, "file.patch") &&
           !is_state_of(state, "mount.mounted");
}

static bool is_folder_state(const struct plan_state *state)
{
    return is_state_of(state, "file.directory") || is_state_of(state, "file.symlink") ||
           is_state_of(state, "mount.mounted") || fills_folder(state);
}

/* Its path on this machine: a checkout has a target. */
static struct str find_state_path(const struct plan_state *state)
{
    const struct value *target =
        is_of_family(state, "git.") ? value_get(&state->body, "target") : NULL;

    return value_is(target, VALUE_STR) ? target->s : find_state_subject(state);
}

static bool has_setting(const struct plan_state *state, const char *key)
{
    const struct value *given = value_get(&state->body, key);

    return given && !(given->kind == VALUE_BOOL && !given->b);
}

/* Does its result depend on what is at its path already? */
static bool acts_on_existing(const struct plan_state *state)
{
    static const char *const keys[] = { "clean", "recurse", "merge_if_exists" };
    const unsigned flags = state->module->flags;

    if (!is_of_family(state, "file.") && !is_of_family(state, "ini."))
        return false;
    if ((flags & (MODULE_EDITS | MODULE_REMOVES)) ||
        ((flags & MODULE_WHOLE) && !contest_claims_whole(state)))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (has_setting(state, keys[i]))
            return true;
    return false;
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
        const struct str name =
            is_folder_state(state) ? find_state_path(state) : find_state_subject(state);

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

/* A state needs the package that has a folder above its path, and one of a folder also that of the
 * folder. A file below /etc does not if the state makes the folder: packages keep such files. */
static void need_package_of_folder(struct implying *w, const struct plan_state *state,
                                   struct str path, uint32_t number)
{
    const struct value *makedirs = value_get(&state->body, "makedirs");
    const char *up;

    if (path.n < 2 || path.p[0] != '/' || map_count(&w->shipped.packages) == 0 ||
        (str_starts(path, STR("/etc/")) && value_is(makedirs, VALUE_BOOL) && makedirs->b))
        return;
    up = path_normalise(w->arena, path.p);
    if (is_state_of(state, "file.directory") || fills_folder(state))
        need_shipped(w, shipped_find_folder(&w->shipped, str_from(up)), number);
    up = path_dirname(w->arena, up);
    if (map_find(&w->folders, str_from(up)))
        return;
    for (; up[1]; up = path_dirname(w->arena, up))
        need_shipped(w, shipped_find_folder(&w->shipped, str_from(up)), number);
}

/* Package managers read it before they install anything. */
static bool is_read_by_managers(struct str path)
{
    static const char *const starts[] = {
        "/etc/apt/",       "/etc/dpkg/",          "/var/lib/apt/",     "/var/lib/dpkg/",
        "/var/cache/apt/", "/usr/share/keyrings", "/etc/yum",          "/etc/dnf/",
        "/etc/pki/",       "/etc/rpm/",           "/var/lib/rpm/",     "/var/cache/dnf/",
        "/etc/zypp/",      "/etc/pacman.",        "/etc/apk/",         "/etc/hosts",
        "/etc/resolv.",    "/etc/nsswitch.conf",  "/etc/environment",  "/etc/ssl/",
        "/etc/hostname",   "/etc/gai.conf",       "/usr/sbin/policy-", "/usr/local/share/ca-",
    };

    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        if (str_starts(path, str_from(starts[i])))
            return true;
    return false;
}

/* Requires new packages, which may bring the path that it removes or edits. */
static void need_new_packages(struct implying *w, const struct plan_state *state, struct str path,
                              uint32_t number)
{
    const struct shipped_states *new;

    if (path.n < 2 || path.p[0] != '/' || is_read_by_managers(path))
        return;
    new = shipped_find_new(&w->shipped);
    VEC_EACH (&new->list, package)
        if (*package != number && state->order >= w->plan->states[*package].order)
            VEC_PUSH_IN(w->arena, &w->needed.list, *package);
}

/* Requires the states that fill the folder that it works through. */
static void need_contents(struct implying *w, struct str path, uint32_t state)
{
    const struct numbers *numbers;

    if (path.n < 2 || path.p[0] != '/' || map_count(&w->folders) == 0)
        return;
    numbers = map_find(&w->folders, str_from(path_normalise(w->arena, path.p)));
    for (size_t i = 0; numbers && i < numbers->list.n; i++)
        if (numbers->list.p[i] != state && fills_folder(&w->plan->states[numbers->list.p[i]]))
            VEC_PUSH_IN(w->arena, &w->needed.list, numbers->list.p[i]);
}

/* Requires the states that bring, or may bring, the files at its path. */
static void need_path(struct implying *w, const struct plan_state *state, uint32_t number)
{
    const struct str path = find_state_path(state);
    const struct value *source = value_get(&state->body, "source");

    need_folders(w, path, number);
    if (acts_on_existing(state)) {
        need_new_packages(w, state, path, number);
        if (!fills_folder(state))
            need_contents(w, path, number);
        if (value_is(source, VALUE_STR))
            need_folders(w, source->s, number);
    }
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

/* A state that removes something needs no accounts, services or repositories first. */
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

    need_path(w, state, number);
    if (is_removal(state))
        return;
    for (size_t i = 0; i < ARRAY_LEN(users); i++)
        need_named(w, &w->users, value_get(&state->body, users[i]), number);
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        need_named(w, &w->groups, value_get(&state->body, groups[i]), number);
    if (state->guard_user) {
        const struct value user = value_text(state->guard_user);

        need_named(w, &w->users, &user, number);
    }
    if (is_of_family(state, "service."))
        need_shipped(w, shipped_find_unit(&w->shipped, find_state_subject(state)), number);
    else if (is_of_family(state, "file.") || is_of_family(state, "ini.") || fills_folder(state))
        need_package_of_folder(w, state, find_state_path(state), number);
    if (is_of_family(state, "pkg."))
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
        if (plan->states[i].no_implied || plan->states[i].listener)
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

bool implied_places(const struct plan_state *state)
{
    return is_state_of(state, AWAITED_MODULE);
}

void implied_follow_written(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        struct plan_state *state = &plan->states[i];
        struct plan_targets *targets = &state->requisites[REQUISITE_IMPLIED];
        uint32_t *p = (uint32_t *)(uintptr_t)targets->p; /* made by keep_needed */
        size_t kept = 0;

        for (size_t k = 0; written_has(state) && k < targets->n; k++) {
            const struct plan_state *target = &plan->states[p[k]];

            if (!written_has(target) || target->position < state->position)
                p[kept++] = p[k];
        }
        if (written_has(state))
            targets->n = kept;
    }
}

bool implied_drop(struct plan *plan, const struct cycle *cycle)
{
    bool dropped = false;

    for (uint32_t i = 0; i < cycle->n; i++)
        dropped |= drop_edge(plan, cycle->nodes[i], cycle->nodes[(i + 1) % cycle->n]);
    return dropped;
}
