/* service - services of the machine: whether they run. */
#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/beacons/kind.h"
#include "fleet/beacons/section.h"
#include "fleet/beacons/updown.h"
#include "states/provider/service/manager.h"
#include "core/sys/clock.h"

#define ARGS struct service_args
/* A manager that does not answer for so long is asked again at the next look. */
#define LOOK_NS (30 * CLOCK_SECOND)

struct service_args {
    struct beacon_common common;
    const struct value *given;
    struct param_strs services;
};

static const struct param service_params[] = {
    PARAM("services", ANY, ARGS, given, "names of services: a map with empty values, or a list",
          .flags = PARAM_REQUIRED, .kind_text = "map"),
    BEACON_COMMON(ARGS, common, "10s"),
    { 0 },
};

static void check_service_args(struct arena *arena, void *args, const struct value *given,
                               struct diags *diags)
{
    struct service_args *want = args;

    (void)given;
    (void)section_names(arena, want->given, "services", &want->services, diags);
}

/* One that starts or stops is neither up nor down: what was known stays. */
static int observe_service(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                           struct err *err)
{
    const struct service_args *want = args;
    const struct tool tool = { .arena = look->arena, .timeout = LOOK_NS };
    const struct service_manager *manager;

    if (service_manager_find(&manager, err) < 0)
        return -1;
    for (size_t i = 0; i < want->services.n; i++) {
        struct beacon_reading reading = { .key = want->services.p[i] };
        struct service_status status = { 0 };

        if (manager->look(&tool, reading.key, &status, err) < 0)
            return err_wrap(err, "service '%s'", reading.key);
        reading.is_moving = status.moving;
        if (!status.moving)
            reading.state = updown_state(status.running);
        VEC_PUSH_IN(look->arena, &ret->list, reading);
    }
    return 0;
}

static void say_service(struct arena *arena, const struct beacon_change *change,
                        struct value_map *data)
{
    updown_say(arena, "service", change, data);
}

const struct beacon_kind beacon_kind_service = {
    .name = "service",
    .summary = "Services of systemd, OpenRC, kepler or init scripts: `service`, `running`, "
               "`previous`",
    .params = service_params,
    .args_size = sizeof(struct service_args),
    .is_slow = true,
    .check = check_service_args,
    .observe = observe_service,
    .say = say_service,
};
