/*
 * driver_target HOW MACHINES COUNT TARGET: find who a target means COUNT times among MACHINES
 * machines with facts of their own, and print the seconds and the processor time of one answer, how
 * many machines match, and the bytes of the index for each machine. HOW is `index` or `scan`;
 * `cold` asks once, about facts that nobody asked for before.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "language/target/index.h"
#include "language/target/target.h"

struct crowd {
    struct arena arena;
    size_t count;
    struct str *ids;
    struct value *facts;
    struct target_index *index;
};

static void set(struct arena *arena, struct value_map *map, const char *key, struct value v)
{
    value_map_set(arena, map, value_text(key), v);
}

/* Some forty facts, as machines have them: few that differ, some that nobody else has. */
static struct value make_facts(struct arena *arena, size_t i)
{
    static const char *const families[] = { "debian", "redhat", "suse" };
    static const char *const roles[] = { "web", "db", "cache", "queue", "build" };
    struct value_map *facts = value_map_new(arena, 40), *os = value_map_new(arena, 8);
    struct value_list *list = value_list_new(arena, 2);

    set(arena, os, "family", value_text(families[i % 3]));
    set(arena, os, "arch", value_text(i % 7 ? "amd64" : "arm64"));
    set(arena, os, "uptime", value_int((int64_t)i * 13));
    set(arena, facts, "os", value_map(os));
    value_list_push(arena, list, value_text(roles[i % 5]));
    value_list_push(arena, list, value_text(i % 2 ? "public" : "private"));
    set(arena, facts, "roles", value_list(list));
    set(arena, facts, "serial", value_str(str_from(arena_printf(arena, "S%08zu", i))));
    set(arena, facts, "cpus", value_int((int64_t)(1 << (i % 6))));
    for (unsigned n = 0; n < 36; n++)
        set(arena, facts, arena_printf(arena, "fact%u", n), value_int((int64_t)(i % (n + 2))));
    return value_map(facts);
}

static void fill_crowd(struct crowd *crowd, bool with_index)
{
    struct err err;

    crowd->ids = ARENA_ARRAY(&crowd->arena, struct str, crowd->count);
    crowd->facts = ARENA_ARRAY(&crowd->arena, struct value, crowd->count);
    crowd->index = target_index_new();
    for (size_t i = 0; i < crowd->count; i++) {
        crowd->ids[i] = str_from(arena_printf(&crowd->arena, "%s-%05zu", i % 4 ? "web" : "db", i));
        crowd->facts[i] = make_facts(&crowd->arena, i);
        if (with_index && target_index_put(crowd->index, crowd->ids[i], &crowd->facts[i], &err) < 0)
            abort();
    }
}

static size_t scan(const struct crowd *crowd, const struct target *target)
{
    size_t found = 0;
    struct err err;

    for (size_t i = 0; i < crowd->count; i++) {
        const struct target_subject subject = { crowd->ids[i], &crowd->facts[i], NULL };
        bool matches = false;

        if (target_match(target, &subject, &matches, &err) < 0)
            abort();
        found += matches;
    }
    return found;
}

static size_t ask(const struct crowd *crowd, const struct target *target)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct target_found found;
    struct err err;

    if (target_index_find(crowd->index, target, &arena, &found, &err) < 0)
        abort();
    return found.ids.n;
}

/* Of this process, in seconds. */
static double cpu_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct crowd crowd = { 0 };
    struct diags diags = DIAGS_INIT(&crowd.arena);
    const struct target *target;
    size_t found = 0;
    double cpu;
    int64_t begin;
    bool scans;
    long times;

    if (argc != 5)
        return 1;
    crowd.count = (size_t)strtoul(argv[2], NULL, 10);
    times = strtol(argv[3], NULL, 10);
    if (target_parse(&crowd.arena, str_from(argv[4]), TARGET_COMPOUND, NULL, &target, &diags) < 0)
        return 1;
    scans = strcmp(argv[1], "scan") == 0;
    fill_crowd(&crowd, !scans);
    if (!scans && strcmp(argv[1], "cold") != 0)
        (void)ask(&crowd, target);
    begin = clock_now();
    cpu = cpu_seconds();
    for (long i = 0; i < times; i++)
        found = scans ? scan(&crowd, target) : ask(&crowd, target);
    cpu = cpu_seconds() - cpu;
    (void)printf("%.9f %.9f %zu %zu\n", (double)(clock_now() - begin) / 1e9 / (double)times,
                 cpu / (double)times, found,
                 crowd.count ? target_index_bytes(crowd.index) / crowd.count : 0);
    target_index_free(crowd.index);
    arena_done(&crowd.arena);
    return 0;
}
