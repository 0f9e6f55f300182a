/* kepler - services of the orchestrator: each change of their state, in its words. */
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "fleet/beacons/kind.h"
#include "fleet/beacons/section.h"
#include "states/provider/orchestrator.h"
#include "states/provider/service/manager.h"
#include "core/sys/clock.h"

#define ARGS    struct kepler_args
#define LOOK_NS (30 * CLOCK_SECOND)
/* Changes that one look reports; the rest comes at the next one. */
#define CHANGES_MAX 1000

struct kepler_args {
    struct beacon_common common;
    const struct value *given;
    struct param_strs services;
};

static const struct param kepler_params[] = {
    PARAM("services", ANY, ARGS, given,
          "services, each PATH:NAME, CONFIG/NAME or NAME alone (default: all)",
          .kind_text = "list"),
    BEACON_COMMON(ARGS, common, "5s"),
    { 0 },
};

static void check_kepler(struct arena *arena, void *args, const struct value *given,
                         struct diags *diags)
{
    struct kepler_args *want = args;

    (void)given;
    if (want->given)
        (void)section_names(arena, want->given, "services", &want->services, diags);
}

/* --- what was seen ----------------------------------------------------------------------- */

/* The last change of a service that is known, and those before it. */
struct seen {
    char *key;   /* "config:service" */
    char *state; /* after it; NULL: none */
    int64_t wall, number;
    bool is_there; /* at this look */
};

struct kepler_memory {
    struct map seen; /* by key */
    int64_t since;   /* wall time of the baseline; 0: none yet */
};

static void free_seen(struct seen *seen)
{
    free(seen->key);
    free(seen->state);
    free(seen);
}

/* One that came after the baseline: all of its changes since then are new. */
static struct seen *find_seen_item(struct kepler_memory *memory, const char *key)
{
    struct seen *seen = map_find(&memory->seen, str_from(key));

    if (!seen) {
        seen = mem_zalloc(sizeof(*seen));
        seen->key = mem_strdup(key);
        seen->wall = memory->since;
        seen->number = INT64_MAX;
        (void)map_set(&memory->seen, str_from(seen->key), seen);
    }
    seen->is_there = true;
    return seen;
}

static void forget_kepler(void *memory)
{
    struct kepler_memory *known = memory;

    MAP_EACH (&known->seen, entry)
        free_seen(entry->value);
    map_done(&known->seen);
}

/* Numbers count up but begin anew with a config; times begin nowhere but may be set back. */
static bool is_change_unseen(const struct seen *seen, const struct orchestrator_change *change)
{
    return change->number > seen->number || change->wall > seen->wall;
}

/* --- changes ----------------------------------------------------------------------------- */

struct fresh {
    const struct orchestrator_change *change;
    struct seen *seen;
};

struct watching {
    const struct tool tool;
    struct kepler_memory *memory;
    struct orchestrator_services services;
    VEC(struct fresh) fresh;
};

static int find_named(struct watching *watching, const struct param_strs *names, struct err *err)
{
    for (size_t i = 0; i < names->n; i++) {
        struct orchestrator_service found;

        if (orchestrator_find(&watching->tool, names->p[i], &found, err) < 0)
            return -1;
        if (found.status)
            VEC_PUSH_IN(watching->tool.arena, &watching->services.list, found);
    }
    return 0;
}

static int find_services(struct watching *watching, const struct param_strs *names, struct err *err)
{
    const size_t limit = BEACON_ITEMS_MAX;

    if (names->n > 0)
        return find_named(watching, names, err);
    if (orchestrator_list(&watching->tool, &watching->services, err) < 0)
        return -1;
    if (watching->services.list.n > limit)
        return err_set(err, ERR_LIMIT, "kepler has more than %zu services: name those to watch",
                       limit);
    return 0;
}

static const char *make_memory_key(const struct watching *watching, const char *config,
                                   const char *service)
{
    return arena_printf(watching->tool.arena, "%s:%s", config, service);
}

/* Those of one config, which stand together. */
static int read_config_services(struct watching *watching, size_t first, size_t count,
                                struct err *err)
{
    struct arena *arena = watching->tool.arena;
    const struct orchestrator_service *services = &watching->services.list.p[first];
    const char **names = ARENA_ARRAY(arena, const char *, count);
    struct orchestrator_changes *changes = ARENA_NEW(arena, struct orchestrator_changes);

    for (size_t i = 0; i < count; i++)
        names[i] = services[i].service;
    if (orchestrator_history(&watching->tool, services[0].config,
                             (struct param_strs){ count, names }, changes, err) < 0)
        return -1;
    VEC_EACH (&changes->list, change) {
        struct seen *seen = find_seen_item(
            watching->memory, make_memory_key(watching, services[0].config, change->service));
        const struct fresh fresh = { change, seen };

        if (is_change_unseen(seen, change))
            VEC_PUSH_IN(arena, &watching->fresh, fresh);
    }
    return 0;
}

static int read_watched_changes(struct watching *watching, struct err *err)
{
    const size_t n = watching->services.list.n;
    const struct orchestrator_service *services = watching->services.list.p;
    size_t first = 0;

    for (size_t i = 1; i <= n; i++)
        if (i == n || strcmp(services[i].config, services[first].config) != 0) {
            if (read_config_services(watching, first, i - first, err) < 0)
                return -1;
            first = i;
        }
    return 0;
}

/* By time; those of one service stay in their order. */
static int compare_fresh(const void *a, const void *b)
{
    const struct orchestrator_change *x = ((const struct fresh *)a)->change,
                                     *y = ((const struct fresh *)b)->change;

    if (x->wall != y->wall)
        return x->wall < y->wall ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void put_kepler_text(struct arena *arena, struct value_map *map, const char *key,
                            const char *text)
{
    value_map_set(arena, map, value_text(key), value_text(text));
}

/* A change, as the data of an event has it. */
struct story {
    const char *key, *state, *previous, *cause; /* `key` is "config:service" */
};

static void report_story(struct arena *arena, const struct story *story,
                         struct beacon_readings *ret)
{
    const char *colon = strrchr(story->key, ':');
    struct beacon_reading reading = { .key = story->key, .happened = true };
    struct value_map *map = value_map_new(arena, 5);

    put_kepler_text(arena, map, "service", colon + 1);
    put_kepler_text(arena, map, "config",
                    arena_strndup(arena, story->key, (size_t)(colon - story->key)));
    put_kepler_text(arena, map, "state", story->state);
    put_kepler_text(arena, map, "previous", story->previous);
    put_kepler_text(arena, map, "cause", story->cause);
    reading.data = value_map(map);
    VEC_PUSH_IN(arena, &ret->list, reading);
}

static void learn_change(struct seen *seen, const struct orchestrator_change *change)
{
    seen->wall = change->wall;
    seen->number = change->number;
    free(seen->state);
    seen->state = mem_strdup(change->to);
}

static void report_fresh(struct watching *watching, struct beacon_readings *ret)
{
    const bool is_baseline = watching->memory->since == 0;
    const size_t most = is_baseline ? watching->fresh.n : CHANGES_MAX;

    if (watching->fresh.n > 1)
        qsort(watching->fresh.p, watching->fresh.n, sizeof(*watching->fresh.p), compare_fresh);
    for (size_t i = 0; i < watching->fresh.n && i < most; i++) {
        const struct fresh *fresh = &watching->fresh.p[i];
        const struct orchestrator_change *change = fresh->change;
        const struct story story = { arena_strdup(watching->tool.arena, fresh->seen->key),
                                     change->to, change->from, change->cause };

        learn_change(fresh->seen, change);
        if (!is_baseline)
            report_story(watching->tool.arena, &story, ret);
    }
}

/* The daemon has no last changes of services that it has forgotten. */
static void report_gone(struct watching *watching, struct beacon_readings *ret)
{
    struct arena *arena = watching->tool.arena;

    MAP_EACH (&watching->memory->seen, entry) {
        struct seen *seen = entry->value;

        if (seen->is_there) {
            seen->is_there = false;
            continue;
        }
        if (seen->state)
            report_story(arena,
                         &(struct story){ arena_strdup(arena, seen->key), "unknown",
                                          arena_strdup(arena, seen->state),
                                          "the daemon has forgotten the config" },
                         ret);
        (void)map_remove(&watching->memory->seen, entry->key);
        free_seen(seen);
    }
}

/* A job that began something has not ended with it while services are on their way. */
static void report_moving(struct watching *watching, struct beacon_readings *ret)
{
    static const char *const moving[] = { "waiting", "starting", "stopping", "restarting" };

    VEC_EACH (&watching->services.list, one) {
        const char *status = value_get_text(one->status, "status");

        for (size_t i = 0; status && i < ARRAY_LEN(moving); i++)
            if (strcmp(status, moving[i]) == 0)
                VEC_PUSH_IN(watching->tool.arena, &ret->list,
                            ((struct beacon_reading){
                                .key = make_memory_key(watching, one->config, one->service),
                                .is_moving = true }));
    }
}

static int observe_changes(struct beacon_look *look, const struct kepler_args *want,
                           struct beacon_readings *ret, struct err *err)
{
    struct watching watching = { .tool = { .arena = look->arena, .timeout = LOOK_NS },
                                 .memory = look->memory };

    if (find_services(&watching, &want->services, err) < 0 ||
        read_watched_changes(&watching, err) < 0)
        return -1;
    VEC_EACH (&watching.services.list, one)
        (void)find_seen_item(watching.memory,
                             make_memory_key(&watching, one->config, one->service));
    report_fresh(&watching, ret);
    report_moving(&watching, ret);
    report_gone(&watching, ret);
    if (watching.memory->since == 0)
        watching.memory->since = clock_wall();
    return 0;
}

/* --- states ------------------------------------------------------------------------------ */

/* As they are at the moment: for those who ask for states that last, or for every look. */
static int observe_states(struct beacon_look *look, const struct kepler_args *want,
                          struct beacon_readings *ret, struct err *err)
{
    const struct tool tool = { .arena = look->arena, .timeout = LOOK_NS };
    const struct service_manager *manager = service_manager_with_configs();

    for (size_t i = 0; i < want->services.n; i++) {
        struct beacon_reading reading = { .key = want->services.p[i] };
        struct service_status status = { 0 };

        if (manager->look(&tool, reading.key, &status, err) < 0)
            return -1;
        reading.state = arena_strdup(look->arena, status.word);
        reading.is_moving = status.moving;
        VEC_PUSH_IN(look->arena, &ret->list, reading);
    }
    return 0;
}

static int observe_kepler(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                          struct err *err)
{
    const struct kepler_args *want = args;
    const bool states =
        want->services.n > 0 && (want->common.hold > 0 || !want->common.onchangeonly);

    return states ? observe_states(look, want, ret, err) : observe_changes(look, want, ret, err);
}

static void say_kepler(struct arena *arena, const struct beacon_change *change,
                       struct value_map *data)
{
    const char *colon = strrchr(change->key, ':');

    if (change->reading && change->reading->happened) {
        const struct value_map *told = change->reading->data.map;

        for (size_t i = 0; i < told->count; i++)
            value_map_set(arena, data, told->pairs[i].key,
                          value_copy(arena, &told->pairs[i].value));
        return;
    }
    put_kepler_text(arena, data, "service", colon ? colon + 1 : change->key);
    if (colon)
        put_kepler_text(arena, data, "config",
                        arena_strndup(arena, change->key, (size_t)(colon - change->key)));
    put_kepler_text(arena, data, "state", change->state);
    value_map_set(arena, data, value_text("previous"),
                  change->previous ? value_text(change->previous) : value_null());
}

/* The daemon writes each change down at once. */
static void watch_kepler(struct arena *arena, const void *args, struct beacon_paths *ret)
{
    const char *files = orchestrator_history_files(arena);

    (void)args;
    if (files)
        VEC_PUSH_IN(arena, &ret->list, files);
}

const struct beacon_kind beacon_kind_kepler = {
    .name = "kepler",
    .summary =
        "Services of the orchestrator, each change of their states as it happens: `service`, "
        "`config`, `state`, `previous` (`starting`, `running`, `healthy`, `unhealthy`, "
        "`restarting`, `exited`, `failed`, ... as `kepler ps` writes them; `unknown`: it is gone) "
        "and `cause`. With "
        "`for`, or without `onchangeonly`, the states of named services at each look, "
        "without a cause",
    .params = kepler_params,
    .args_size = sizeof(struct kepler_args),
    .memory_size = sizeof(struct kepler_memory),
    .check = check_kepler,
    .observe = observe_kepler,
    .say = say_kepler,
    .watch = watch_kepler,
    .forget = forget_kepler,
};
