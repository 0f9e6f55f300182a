/* memory - how much of the main memory is in use. */
#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/beacons/kind.h"
#include "fleet/beacons/level.h"
#include "fleet/beacons/section.h"
#include "states/facts/scan.h"

#define ARGS struct memory_args

struct memory_args {
    struct beacon_common common;
    const struct value *given;
    double over, margin;
};

static const struct param memory_params[] = {
    PARAM("over", ANY, ARGS, given, "percent of the memory; what can be reclaimed is not in use",
          .flags = PARAM_REQUIRED, .kind_text = "percent"),
    LEVEL_MARGIN(ARGS, margin),
    BEACON_COMMON(ARGS, common, "60s"),
    { 0 },
};

static void check_memory(struct arena *arena, void *args, const struct value *given,
                         struct diags *diags)
{
    struct memory_args *want = args;

    (void)arena;
    (void)section_percent(want->given, &want->over, diags);
    level_check_margin(want->margin, given, diags);
}

static int observe_memory(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                          struct err *err)
{
    const struct memory_args *want = args;
    const struct value *memory, *used;
    struct beacon_reading reading;
    struct value facts;
    struct scan scan;

    if (scan_open(&scan, look->arena, "", err) < 0)
        return -1;
    facts_memory(&scan);
    scan_close(&scan);
    facts = value_map(scan.facts);
    memory = value_get(&facts, "memory");
    used = value_get(memory, "used_percent");
    if (!used)
        return err_set(err, ERR_NOT_FOUND, "the kernel does not say how much memory is in use");
    reading = level_reading("memory", used->d, want->over, want->margin);
    reading.data = *memory;
    VEC_PUSH_IN(look->arena, &ret->list, reading);
    return 0;
}

const struct beacon_kind beacon_kind_memory = {
    .name = "memory",
    .summary = "Main memory in use: `used_percent`, `total`, `available`, `used`, `free`, swap, "
               "`limit`, `state` (over, ok), `previous`",
    .params = memory_params,
    .args_size = sizeof(struct memory_args),
    .check = check_memory,
    .observe = observe_memory,
    .say = level_say,
};
