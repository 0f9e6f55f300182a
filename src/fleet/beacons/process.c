/* process - programs that run, by their names. */
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/beacons/kind.h"
#include "fleet/beacons/section.h"
#include "fleet/beacons/updown.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define ARGS     struct process_args
#define PROC     "/proc"
#define LINE_MAX ((size_t)4096)

struct process_args {
    struct beacon_common common;
    const struct value *given;
    struct param_strs processes;
};

static const struct param process_params[] = {
    PARAM("processes", ANY, ARGS, given,
          "names of programs: what the kernel calls them, or the last part of their first word",
          .flags = PARAM_REQUIRED, .kind_text = "list"),
    BEACON_COMMON(ARGS, common, "10s"),
    { 0 },
};

static void check_process(struct arena *arena, void *args, const struct value *given,
                          struct diags *diags)
{
    struct process_args *want = args;

    (void)given;
    (void)section_names(arena, want->given, "processes", &want->processes, diags);
}

/* The first line of a file of the kernel; empty for a process that has ended meanwhile. */
static struct str read_process_name(struct arena *arena, const char *pid, const char *file)
{
    struct str text = { NULL, 0 }, line;
    struct err ignored;

    if (fs_read(arena, arena_printf(arena, PROC "/%s/%s", pid, file), LINE_MAX, &text, &ignored) <
            0 ||
        !text.p)
        return STR("");
    line = str_from(text.p); /* up to the first NUL */
    return str_cut(&line, '\n');
}

static bool is_pid(const char *name)
{
    return name[0] && strspn(name, "0123456789") == strlen(name);
}

static void count_process(struct arena *arena, const char *pid, const struct param_strs *names,
                          int64_t *counts)
{
    const struct str comm = read_process_name(arena, pid, "comm");
    const struct str first = read_process_name(arena, pid, "cmdline");
    const struct str base = path_basename(arena_strndup(arena, first.p, first.n));

    for (size_t i = 0; i < names->n; i++)
        if (str_eq_text(comm, names->p[i]) || (base.n > 0 && str_eq_text(base, names->p[i])))
            counts[i]++;
}

static int observe_process(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                           struct err *err)
{
    const struct process_args *want = args;
    int64_t *counts = ARENA_ARRAY(look->arena, int64_t, want->processes.n);
    struct fs_names found = { 0 };

    if (fs_list(look->arena, PROC, &found, err) < 0)
        return -1;
    VEC_EACH (&found.list, name) {
        AUTO_ARENA struct arena scratch = ARENA_INIT;

        if (is_pid(*name))
            count_process(&scratch, *name, &want->processes, counts);
    }
    for (size_t i = 0; i < want->processes.n; i++) {
        struct value_map *data = value_map_new(look->arena, 1);
        const struct beacon_reading reading = { .key = want->processes.p[i],
                                                .state = updown_state(counts[i] > 0),
                                                .data = value_map(data) };

        value_map_set(look->arena, data, value_text("count"), value_int(counts[i]));
        VEC_PUSH_IN(look->arena, &ret->list, reading);
    }
    return 0;
}

static void say_process(struct arena *arena, const struct beacon_change *change,
                        struct value_map *data)
{
    updown_say(arena, "process", change, data);
    value_map_set(arena, data, value_text("count"), *value_get(&change->reading->data, "count"));
}

const struct beacon_kind beacon_kind_process = {
    .name = "process",
    .summary = "Programs by name: `process`, `running`, `previous`, `count`",
    .params = process_params,
    .args_size = sizeof(struct process_args),
    .check = check_process,
    .observe = observe_process,
    .say = say_process,
};
