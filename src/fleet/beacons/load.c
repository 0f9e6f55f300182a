/* load - the load averages of the machine. */
#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/beacons/kind.h"
#include "fleet/beacons/level.h"

#define ARGS     struct load_args
#define AVERAGES 3

struct load_args {
    struct beacon_common common;
    double one, five, fifteen, margin;
    bool per_cpu;
};

static const struct param load_params[] = {
    PARAM("one", DOUBLE, ARGS, one, "limit of the average of one minute; 0: none"),
    PARAM("five", DOUBLE, ARGS, five, "limit of the average of five minutes; 0: none"),
    PARAM("fifteen", DOUBLE, ARGS, fifteen, "limit of the average of fifteen minutes; 0: none"),
    PARAM("per_cpu", BOOL, ARGS, per_cpu, "limits are for each processor"),
    LEVEL_MARGIN(ARGS, margin),
    BEACON_COMMON(ARGS, common, "60s"),
    { 0 },
};

static void check_load(struct arena *arena, void *args, const struct value *given,
                       struct diags *diags)
{
    const struct load_args *want = args;

    (void)arena;
    level_check_margin(want->margin, given, diags);
    if (want->one < 0 || want->five < 0 || want->fifteen < 0 ||
        (want->one <= 0 && want->five <= 0 && want->fifteen <= 0))
        (void)value_diag(diags, given, "'one', 'five' or 'fifteen' must be above 0");
}

static struct value describe_load(struct arena *arena, const char *average, const double *loads,
                                  long cpus)
{
    static const char *const names[AVERAGES] = { "one", "five", "fifteen" };
    struct value_map *map = value_map_new(arena, AVERAGES + 2);

    value_map_set(arena, map, value_text("average"), value_text(average));
    for (size_t i = 0; i < AVERAGES; i++)
        value_map_set(arena, map, value_text(names[i]), value_double(loads[i]));
    value_map_set(arena, map, value_text("cpus"), value_int(cpus));
    return value_map(map);
}

static int observe_load(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                        struct err *err)
{
    const struct load_args *want = args;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const long cpus = online > 0 ? online : 1;
    const double unit = want->per_cpu ? (double)cpus : 1.0;
    double loads[AVERAGES];
    const struct {
        const char *name;
        double limit;
    } rows[AVERAGES] = { { "one", want->one },
                         { "five", want->five },
                         { "fifteen", want->fifteen } };

    if (getloadavg(loads, AVERAGES) != AVERAGES)
        return err_set(err, ERR_NOT_FOUND, "no load average from the kernel");
    for (size_t i = 0; i < AVERAGES; i++) {
        struct beacon_reading reading =
            level_reading(rows[i].name, loads[i], rows[i].limit * unit, want->margin);

        if (rows[i].limit <= 0)
            continue;
        reading.data = describe_load(look->arena, rows[i].name, loads, cpus);
        VEC_PUSH_IN(look->arena, &ret->list, reading);
    }
    return 0;
}

const struct beacon_kind beacon_kind_load = {
    .name = "load",
    .summary = "Load averages: `average` (which is meant), `one`, `five`, `fifteen`, `cpus`, "
               "`limit`, `state` (over, ok), `previous`",
    .params = load_params,
    .args_size = sizeof(struct load_args),
    .check = check_load,
    .observe = observe_load,
    .say = level_say,
};
