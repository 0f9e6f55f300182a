#include "states/local/agent.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/suggest.h"

/* clang-format off */
const struct agent_function agent_functions[] = {
    { "beacons.add",                   "watch something more: KEY=VALUE as in a section of beacons" },
    { "beacons.delete",                "remove a beacon that was added, or what was changed of one" },
    { "beacons.disable",               "stop all beacons" },
    { "beacons.disable_beacon",        "stop one beacon" },
    { "beacons.enable",                "let beacons run again" },
    { "beacons.enable_beacon",         "let one beacon run again" },
    { "beacons.list",                  "the beacons of the peel, and where each is from" },
    { "beacons.modify",                "change keys of a beacon" },
    { "schedule.add",                  "add an entry: KEY=VALUE as in the schedule" },
    { "schedule.delete",               "remove an entry that was added, or what was changed of one" },
    { "schedule.disable",              "run nothing by the schedule" },
    { "schedule.disable_job",          "do not run one entry" },
    { "schedule.enable",               "let the schedule run again" },
    { "schedule.enable_job",           "let one entry run again" },
    { "schedule.is_enabled",           "whether the schedule, or one entry, is enabled" },
    { "schedule.list",                 "the schedule of the peel, where each entry is from and when it runs next" },
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
