/* service.running - the service runs. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct running_args

struct running_args {
    const char *name;
    int provider;
    enum param_tristate enable;
    bool reload, no_block, unmask, runtime, full_restart;
    int64_t init_delay, timeout;
};

/* clang-format off */
static const struct param running_params[] = {
    SERVICES_NAME(ARGS),
    PARAM("enable", TRISTATE, ARGS, enable, "it starts with the machine, or does not; without: not looked at"),
    PARAM("reload", BOOL, ARGS, reload, "a watched change reloads it instead of restarting it"),
    PARAM("full_restart", BOOL, ARGS, full_restart, "a watched change stops and starts it, even with reload"),
    PARAM("no_block", BOOL, ARGS, no_block, "do not wait until it is up"),
    PARAM("init_delay", DURATION, ARGS, init_delay, "wait so long before looking whether it is up"),
    PARAM("timeout", DURATION, ARGS, timeout, "how long it may take to come up", .default_text = "10s"),
    PARAM("unmask", BOOL, ARGS, unmask, "unmask it first"),
    PARAM("unmask_runtime", BOOL, ARGS, runtime, "unmask and enable until the machine starts again only"),
    { 0 },
};
/* clang-format on */

static struct services_wish wish_of(const struct running_args *want)
{
    return (struct services_wish){
        .name = want->name,
        .provider = want->provider,
        .running = PARAM_IS_TRUE,
        .enable = want->enable,
        .restarts = true,
        .reload = want->reload && !want->full_restart,
        .no_block = want->no_block,
        .unmask = want->unmask || want->runtime,
        .runtime = want->runtime,
        .init_delay = want->init_delay,
        .timeout = want->timeout,
    };
}

static int running_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct services_wish wish = wish_of(args);

    return services_validate(&wish, where, diags);
}

static int running_check(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_check(run, &wish, err);
}

static int running_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_apply(run, &wish, err);
}

static int running_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_revert(run, &wish, err);
}

const struct module module_service_running = {
    .name = "service.running",
    .summary = "the service runs",
    .details =
        "A watched change restarts the service, or reloads it, also when something else of it "
        "had drifted. The state waits until the service is really up.",
    .example = "name: nginx\nenable: true\n",
    .params = running_params,
    .args_size = sizeof(struct running_args),
    .validate = running_validate,
    .check = running_check,
    .apply = running_apply,
    .revert = running_revert,
};
