#include "states/local/agent.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/suggest.h"

/* clang-format off */
const struct agent_function agent_functions[] = {
    { "beacons.add",                   "add a beacon: KEY=VALUE as in a beacons section" },
    { "beacons.delete",                "remove an added beacon, or the changes to one" },
    { "beacons.disable",               "stop all beacons" },
    { "beacons.disable_beacon",        "stop one beacon" },
    { "beacons.enable",                "enable all beacons" },
    { "beacons.enable_beacon",         "enable one beacon" },
    { "beacons.list",                  "the beacons of the peel and the origin of each" },
    { "beacons.modify",                "change keys of a beacon" },
    { "schedule.add",                  "add an entry: KEY=VALUE as in the schedule" },
    { "schedule.delete",               "remove an added entry, or the changes to one" },
    { "schedule.disable",              "disable the schedule" },
    { "schedule.disable_job",          "disable one entry" },
    { "schedule.enable",               "enable the schedule" },
    { "schedule.enable_job",           "enable one entry" },
    { "schedule.is_enabled",           "whether the schedule, or one entry, is enabled" },
    { "schedule.list",                 "the schedule of the peel, with the origin and next run of each entry" },
    { "schedule.modify",               "change keys of an entry" },
    { "schedule.run_job",              "run an entry now" },
    { "schedule.show_next_fire_time",  "when an entry runs next" },
    { 0 },
};
/* clang-format on */

const struct agent_function *agent_function_find(const char *name)
{
    for (const struct agent_function *one = agent_functions; one->name; one++)
        if (strcmp(one->name, name) == 0)
            return one;
    return NULL;
}

void agent_function_offer(struct suggest *near)
{
    for (const struct agent_function *one = agent_functions; one->name; one++)
        suggest_offer(near, str_from(one->name));
}

void agent_function_add_names(struct buf *out)
{
    for (const struct agent_function *one = agent_functions; one->name; one++)
        buf_printf(out, " %s", one->name);
}
