#include "states/modules/pkg/packages_undo.h"

#include <string.h>

#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/provider/package/installed.h"
#include "states/state/module.h"

/* Names of notes in the journal. */
#define NOTE_NAMED   "before"
#define NOTE_CHANGED "changed"

/* --- noting -------------------------------------------------------------------------- */

static int take_snapshot(struct packages *packages, struct map *ret, struct err *err)
{
    struct arena *arena = packages->run->arena;
    const struct package_db *db;

    *ret = (struct map)MAP_INIT_IN(arena);
    if (installed_lock(packages->manager, &packages->host, &db, err) < 0)
        return -1;
    VEC_EACH (&db->list, item) {
        struct package *copy = ARENA_NEW(arena, struct package);

        *copy = **item;
        copy->name = package_db_key(arena, db, *item);
        copy->version = arena_strdup(arena, (*item)->version);
        copy->arch = "";
        if (!map_has(ret, str_from(copy->name)))
            map_set(ret, str_from(copy->name), copy);
    }
    installed_unlock();
    return 0;
}

static const struct package absent = { .version = "", .arch = "" };

static const struct package *get_note(const struct map *map, struct str name)
{
    const struct package *package = map_find(map, name);

    return package ? package : &absent;
}

static struct value describe_package(struct arena *arena, const struct package *package)
{
    struct value_map *map = value_map_new(arena, 3);

    value_map_set(arena, map, value_text("state"), value_int(package->state));
    value_map_set(arena, map, value_text("version"), value_text(package->version));
    value_map_set(arena, map, value_text("held"), value_bool(package->held));
    return value_map(map);
}

int packages_undo_begin(struct packages *packages, const struct packages_wants *wants,
                        struct packages_undo *ret_undo, struct err *err)
{
    struct arena *arena = packages->run->arena;
    struct value_map *named = value_map_new(arena, wants->list.n);

    if (take_snapshot(packages, &ret_undo->before, err) < 0)
        return -1;
    VEC_EACH (&wants->list, want)
        value_map_set(arena, named, value_text(want->name),
                      describe_package(arena, get_note(&ret_undo->before, str_from(want->name))));
    return state_note(packages->run, NOTE_NAMED, value_map(named), err);
}

static bool is_package_same(const struct package *a, const struct package *b)
{
    return a->state == b->state && a->held == b->held && strcmp(a->version, b->version) == 0;
}

struct changes {
    struct arena *arena;
    struct value_map *noted;    /* name to previous state */
    struct value_map *reported; /* name to "old -> new" */
};

static const char *find_state_word(const struct package *package)
{
    if (package->state == PACKAGE_INSTALLED)
        return package->version;
    return package->state == PACKAGE_ABSENT ? "(none)" : package_state_word(package->state);
}

static void compare_packages(struct changes *changes, struct str name, const struct package *old,
                             const struct package *now)
{
    const char *held = now->held == old->held ? "" : now->held ? " (held)" : " (no longer held)";

    if (is_package_same(old, now))
        return;
    value_map_set(changes->arena, changes->noted, value_str(name),
                  describe_package(changes->arena, old));
    value_map_set(changes->arena, changes->reported, value_str(name),
                  value_text(arena_printf(changes->arena, "%s -> %s%s", find_state_word(old),
                                          find_state_word(now), held)));
}

static int find_changes(struct packages *packages, const struct packages_undo *undo,
                        struct changes *ret, struct err *err)
{
    struct arena *arena = packages->run->arena;
    struct map now;

    *ret = (struct changes){ arena, value_map_new(arena, 4), value_map_new(arena, 4) };
    if (take_snapshot(packages, &now, err) < 0)
        return -1;
    MAP_EACH (&now, entry)
        compare_packages(ret, entry->key, get_note(&undo->before, entry->key), entry->value);
    MAP_EACH (&undo->before, entry)
        if (!map_has(&now, entry->key))
            compare_packages(ret, entry->key, entry->value, &absent);
    return 0;
}

static int note_changes(struct packages *packages, const struct packages_undo *undo,
                        struct err *err)
{
    struct changes changes;

    if (find_changes(packages, undo, &changes, err) < 0)
        return -1;
    if (changes.noted->count > 0)
        state_detail_value(packages->run, "changes", value_map(changes.reported));
    else
        state_untouched(packages->run);
    return state_note(packages->run, NOTE_CHANGED, value_map(changes.noted), err);
}

/* Changes are noted even after a cancel. */
int packages_undo_end(struct packages *packages, const struct packages_undo *undo, struct err *err)
{
    struct packages_cleanup cleanup;
    int rc;

    packages_cleanup_begin(&cleanup, packages);
    rc = note_changes(&cleanup.packages, undo, err);
    packages_cleanup_end(&cleanup);
    return rc;
}

int packages_undo_look(struct packages *packages, struct packages_undo *ret_undo, struct err *err)
{
    return take_snapshot(packages, &ret_undo->before, err);
}

int packages_undo_tell(struct packages *packages, const struct packages_undo *undo,
                       struct value *ret, struct err *err)
{
    struct changes changes;

    if (find_changes(packages, undo, &changes, err) < 0)
        return -1;
    *ret = value_map(changes.reported);
    return 0;
}

/* --- revert -------------------------------------------------------------------------- */

/* The required actions; each is a separate request. */
struct undo_plan {
    struct package_request remove, purge, install, hold, unhold;
};

static struct package read_noted_packages(const struct value *v)
{
    const struct value *state = value_get(v, "state"), *version = value_get(v, "version");
    const struct value *held = value_get(v, "held");

    return (struct package){
        .state = state && state->kind == VALUE_INT && state->i >= PACKAGE_ABSENT &&
                         state->i <= PACKAGE_INSTALLED
                     ? (enum package_state)state->i
                     : PACKAGE_ABSENT,
        .version = version && version->kind == VALUE_STR ? version->s.p : "",
        .held = held && value_is_true(held),
    };
}

static void plan_one(struct packages *packages, struct undo_plan *plan, const char *name,
                     const struct package *was, const struct package *now)
{
    const bool has = now->state >= PACKAGE_BROKEN, had = was->state >= PACKAGE_BROKEN;
    const bool is_held = has && now->held, was_held = had && was->held;
    const bool broke = was->state == PACKAGE_INSTALLED && now->state == PACKAGE_BROKEN;
    const bool moves = has != had || broke || strcmp(was->version, now->version) != 0;

    if (has && !had)
        packages_request_add(packages, was->state == PACKAGE_CONFIG ? &plan->remove : &plan->purge,
                             name, NULL);
    else if (!has && now->state == PACKAGE_CONFIG && was->state == PACKAGE_ABSENT)
        packages_request_add(packages, &plan->purge, name, NULL);
    else if (had && moves)
        packages_request_version(packages, &plan->install,
                                 &(struct packages_want){ .name = name, .found = *now },
                                 was->version);
    /* Held packages cannot change, and changed packages are no longer held. */
    if (is_held && (moves || !was_held))
        packages_request_add(packages, &plan->unhold, name, NULL);
    if (was_held && (moves || !is_held))
        packages_request_add(packages, &plan->hold, name, NULL);
}

/* Only an interrupted run leaves it open what was changed. */
static bool may_have_changed(const struct packages *packages, const struct value *name)
{
    const struct value *changed = state_noted(packages->run, NOTE_CHANGED);

    return !changed || changed->kind != VALUE_MAP || value_map_find(changed->map, name);
}

static void plan_noted(struct packages *packages, struct undo_plan *plan, const char *note,
                       const struct map *now, struct map *seen)
{
    const struct value *noted = state_noted(packages->run, note);

    if (!noted || noted->kind != VALUE_MAP)
        return;
    for (size_t i = 0; i < noted->map->count; i++) {
        const struct value_pair *pair = &noted->map->pairs[i];
        const struct package was = read_noted_packages(&pair->value);

        if (pair->key.kind != VALUE_STR || map_has(seen, pair->key.s) ||
            !may_have_changed(packages, &pair->key))
            continue;
        map_set(seen, pair->key.s, packages);
        plan_one(packages, plan, pair->key.s.p, &was, get_note(now, pair->key.s));
    }
}

static void make_undo_plan(struct packages *packages, const struct map *now, bool all,
                           struct undo_plan *ret_plan)
{
    struct map seen = MAP_INIT_IN(packages->run->arena);

    *ret_plan = (struct undo_plan){
        .remove = { .action = PACKAGE_REMOVE },
        .purge = { .action = PACKAGE_PURGE },
        .install = { .action = PACKAGE_INSTALL, .change_held = true },
        .hold = { .action = PACKAGE_HOLD },
        .unhold = { .action = PACKAGE_UNHOLD },
    };
    plan_noted(packages, ret_plan, NOTE_NAMED, now, &seen);
    if (all)
        plan_noted(packages, ret_plan, NOTE_CHANGED, now, &seen);
}

/* Do other packages depend on those to remove? */
static int may_erase(struct packages *packages, const struct undo_plan *plan, struct err *err)
{
    struct package_request request = { .action = PACKAGE_MAY_ERASE };

    if (!package_request_can(packages->manager, PACKAGE_MAY_ERASE))
        return 0; /* the manager itself refuses */
    VEC_EACH (&plan->remove.targets, target)
        packages_request_add(packages, &request, target->name, NULL);
    VEC_EACH (&plan->purge.targets, target)
        packages_request_add(packages, &request, target->name, NULL);
    return package_request_run(packages->manager, &packages->host, &request, err);
}

static void report_revert(struct packages *packages, const struct package_request *request,
                          const char *verb)
{
    VEC_EACH (&request->targets, target)
        state_say(packages->run, "%s %s%s%s via %s", verb, target->name, target->version ? " " : "",
                  target->version ? target->version : "", packages->manager->name);
}

static int run_plan(struct packages *packages, const struct undo_plan *plan, struct err *err)
{
    const struct {
        const struct package_request *request;
        const char *verb, *future;
    } steps[] = {
        { &plan->unhold, "unheld", "would unhold" },
        { &plan->remove, "removed", "would remove" },
        { &plan->purge, "removed", "would remove" },
        { &plan->install, "restored", "would restore" },
        { &plan->hold, "held", "would hold" },
    };
    const bool test = packages->run->test;
    bool any = false;

    packages->run->destroys |= plan->remove.targets.n > 0 || plan->purge.targets.n > 0;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (steps[i].request->targets.n == 0)
            continue;
        if (!test && packages_act(packages, steps[i].request, err) < 0)
            return -1;
        report_revert(packages, steps[i].request, test ? steps[i].future : steps[i].verb);
        any = true;
    }
    if (!any)
        state_unchanged(packages->run);
    return 0;
}

int packages_undo_revert(struct state_run *run, const void *args, struct err *err)
{
    struct packages packages;
    struct undo_plan plan;
    struct map now;

    (void)args;
    if (packages_open(run, &packages, err) < 0 || take_snapshot(&packages, &now, err) < 0)
        return -1;
    make_undo_plan(&packages, &now, true, &plan);
    if (may_erase(&packages, &plan, err) < 0) {
        /* Dependencies stay if other packages need them by now. The named packages are removed. */
        make_undo_plan(&packages, &now, false, &plan);
        if (may_erase(&packages, &plan, err) < 0)
            return err_wrap(err, "other packages need what would be removed");
        state_say(run, "kept dependencies that other packages need");
    }
    return run_plan(&packages, &plan, err);
}
