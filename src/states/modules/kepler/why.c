/* kepler.why - returns how a service of the orchestrator got its status. */
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/provider/orchestrator.h"
#include "states/state/module.h"

#define ARGS struct why_args

struct why_args {
    const char *name;
};

static const struct param why_params[] = {
    PARAM("name", STR, ARGS, name, "the service: CONFIG/SERVICE, PATH:SERVICE or SERVICE",
          .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "service"),
    { 0 },
};

static int why_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct why_args *want = args;
    const struct tool tool = run_tool(run);
    struct orchestrator_service service;
    struct value why;

    if (orchestrator_why(&tool, want->name, &service, &why, err) < 0)
        return -1;
    *ret = value_copy(run->arena, &why);
    value_map_set(run->arena, ret->map, value_text("config"), value_text(service.config));
    return 0;
}

const struct module module_kepler_why = {
    .name = "kepler.why",
    .summary = "how a service of kepler got its status",
    .details = "What 'kepler why' shows, as data, with the path of the config. 'zester why PEEL "
               "SERVICE' asks a peel with it.",
    .example = "name: web/api\n",
    .params = why_params,
    .args_size = sizeof(struct why_args),
    .call = why_call,
};
