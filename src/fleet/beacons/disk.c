/* disk - how full file systems are. */
#include <errno.h>
#include <sys/statvfs.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/beacons/kind.h"
#include "fleet/beacons/level.h"
#include "fleet/beacons/section.h"

#define ARGS struct disk_args

struct disk_args {
    struct beacon_common common;
    const struct value *paths; /* path to percentage */
    double margin;
    double *limits; /* of each path */
};

static const struct param disk_params[] = {
    PARAM("paths", MAP, ARGS, paths,
          "a path of each file system, and the percentage that it may use",
          .flags = PARAM_REQUIRED | PARAM_FILLED),
    LEVEL_MARGIN(ARGS, margin),
    BEACON_COMMON(ARGS, common, "60s"),
    { 0 },
};

static void check_disk(struct arena *arena, void *args, const struct value *given,
                       struct diags *diags)
{
    struct disk_args *want = args;
    const struct value_map *paths = want->paths->map;

    level_check_margin(want->margin, given, diags);
    if (paths->count > BEACON_ITEMS_MAX) {
        (void)value_diag(diags, want->paths, "more than %d paths", BEACON_ITEMS_MAX);
        return;
    }
    want->limits = ARENA_ARRAY(arena, double, paths->count);
    for (size_t i = 0; i < paths->count; i++) {
        const struct value_pair *pair = &paths->pairs[i];

        if (pair->key.kind != VALUE_STR || pair->key.s.n == 0 || pair->key.s.p[0] != '/')
            (void)value_diag(diags, &pair->key, "expected an absolute path");
        else
            (void)section_percent(&pair->value, &want->limits[i], diags);
    }
}

static void put_disk_number(struct arena *arena, struct value_map *map, const char *key, uint64_t n)
{
    value_map_set(arena, map, value_text(key), value_int(n < INT64_MAX ? (int64_t)n : INT64_MAX));
}

/* As df: what is kept for root counts neither way. */
static struct value describe_space(struct arena *arena, const char *path,
                                   const struct statvfs *space, double *ret_percent)
{
    const uint64_t block = space->f_frsize;
    const uint64_t used = (space->f_blocks - space->f_bfree) * block;
    const uint64_t available = space->f_bavail * block;
    struct value_map *map = value_map_new(arena, 5);

    *ret_percent =
        used + available > 0 ? (double)used * 100.0 / ((double)used + (double)available) : 0.0;
    value_map_set(arena, map, value_text("path"), value_text(path));
    value_map_set(arena, map, value_text("used_percent"), value_double(*ret_percent));
    put_disk_number(arena, map, "total", space->f_blocks * block);
    put_disk_number(arena, map, "used", used);
    put_disk_number(arena, map, "free", available);
    return value_map(map);
}

/* A file system that is not there is not full. */
static int observe_disk(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                        struct err *err)
{
    const struct disk_args *want = args;

    for (size_t i = 0; i < want->paths->map->count; i++) {
        const char *path = want->paths->map->pairs[i].key.s.p;
        struct beacon_reading reading = { .key = path };
        struct statvfs space;
        struct value data;
        double percent;

        if (statvfs(path, &space) == 0) {
            data = describe_space(look->arena, path, &space, &percent);
            reading = level_reading(path, percent, want->limits[i], want->margin);
            reading.data = data;
        } else if (errno != ENOENT && errno != EIO && errno != ESTALE) {
            return err_sys(err, errno, "look at '%s'", path);
        }
        VEC_PUSH_IN(look->arena, &ret->list, reading);
    }
    return 0;
}

const struct beacon_kind beacon_kind_disk = {
    .name = "disk",
    .summary = "File systems: `path`, `used_percent`, `total`, `used`, `free`, `limit`, `state` "
               "(over, ok), `previous`",
    .params = disk_params,
    .args_size = sizeof(struct disk_args),
    .check = check_disk,
    .observe = observe_disk,
    .say = level_say,
};
