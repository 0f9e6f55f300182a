/* kepler - services of the orchestrator: their state in its words. */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "beacons/kind.h"
#include "beacons/section.h"
#include "provider/service/manager.h"
#include "sys/clock.h"

#define ARGS    struct kepler_args
#define LOOK_NS (30 * CLOCK_SECOND)

struct kepler_args {
    struct beacon_common common;
    const struct value *given;
    struct param_strs services;
};

static const struct param kepler_params[] = {
    PARAM("services", ANY, ARGS, given, "services, each CONFIG:NAME or NAME alone",
          .flags = PARAM_REQUIRED, .kind_text = "list"),
    BEACON_COMMON(ARGS, common, "5s"),
    { 0 },
};

static void check_kepler(struct arena *arena, void *args, const struct value *given,
                         struct diags *diags)
{
    struct kepler_args *want = args;

    (void)given;
    (void)section_names(arena, want->given, "services", &want->services, diags);
}

static int observe_kepler(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                          struct err *err)
{
    const struct kepler_args *want = args;
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

static void say_kepler(struct arena *arena, const struct beacon_change *change,
                       struct value_map *data)
{
    const char *colon = strrchr(change->key, ':');

    value_map_set(arena, data, value_text("service"), value_text(colon ? colon + 1 : change->key));
    if (colon)
        value_map_set(arena, data, value_text("config"),
                      value_text(arena_strndup(arena, change->key, (size_t)(colon - change->key))));
    value_map_set(arena, data, value_text("state"), value_text(change->state));
    value_map_set(arena, data, value_text("previous"),
                  change->previous ? value_text(change->previous) : value_null());
}

const struct beacon_kind beacon_kind_kepler = {
    .name = "kepler",
    .summary = "Services of the orchestrator: `service`, `config`, `state`, `previous` (as `kepler "
               "ps` writes states)",
    .params = kepler_params,
    .args_size = sizeof(struct kepler_args),
    .check = check_kepler,
    .observe = observe_kepler,
    .say = say_kepler,
};
