#include "states/modules/network/neighbours.h"

#include "core/base/err.h"
#include "states/modules/network/probe.h"
#include "states/state/module.h"
#include "core/sys/process.h"

/* "192.0.2.1 dev eth0 lladdr 02:fc:00:00:00:05 REACHABLE" */
static void add_neighbour_line(struct state_run *run, struct str line, struct value_map *found)
{
    const struct str address = str_cut(&line, ' ');

    while (line.n > 0)
        if (str_is(str_cut(&line, ' '), "lladdr") && line.n > 0)
            value_map_set(run->arena, found, value_str(arena_str(run->arena, str_cut(&line, ' '))),
                          value_str(arena_str(run->arena, address)));
}

static int list_neighbours(struct state_run *run, const char *descendants, struct value *ret,
                           struct err *err)
{
    const char *const words[] = { "ip", descendants, "neigh", NULL };
    struct process_result result;

    if (probe_run(run, words, "show", &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return err_set(err, ERR_INVALID, "ip %s neigh show: %.*s", descendants,
                       STR_ARG(str_trim(result.err)));
    *ret = value_map(value_map_new(run->arena, 8));
    while (result.out.n > 0)
        add_neighbour_line(run, str_cut(&result.out, '\n'), ret->map);
    return 0;
}

int neighbours_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    return list_neighbours(run, "-4", ret, err);
}

int neighbours_call6(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    return list_neighbours(run, "-6", ret, err);
}
