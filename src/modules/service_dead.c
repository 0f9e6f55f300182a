/* service.dead - the service does not run. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct dead_args

struct dead_args {
    const char *name;
    int provider;
    enum param_tristate enable;
    bool no_block;
    int64_t init_delay, timeout;
};

/* clang-format off */
static const struct param dead_params[] = {
    SERVICES_NAME(ARGS),
    PARAM("enable", TRISTATE, ARGS, enable, "false: it does not start with the machine either"),
    PARAM("no_block", BOOL, ARGS, no_block, "do not wait until it is down"),
    PARAM("init_delay", DURATION, ARGS, init_delay, "wait so long before looking whether it is down"),
    PARAM("timeout", DURATION, ARGS, timeout, "how long it may take to go down", .default_text = "10s"),
    { 0 },
};
/* clang-format on */

static struct services_wish wish_of(const struct dead_args *want)
{
    return (struct services_wish){
        .name = want->name,
        .provider = want->provider,
        .running = PARAM_IS_FALSE,
        .enable = want->enable,
        .no_block = want->no_block,
        .init_delay = want->init_delay,
        .timeout = want->timeout,
    };
}

static int dead_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct services_wish wish = wish_of(args);

    return services_validate(&wish, where, diags);
}

static int dead_check(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_check(run, &wish, err);
}

static int dead_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_apply(run, &wish, err);
}

static int dead_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_revert(run, &wish, err);
}

const struct module module_service_dead = {
    .name = "service.dead",
    .summary = "the service does not run",
    .example = "name: telnetd\nenable: false\n",
    .params = dead_params,
    .args_size = sizeof(struct dead_args),
    .validate = dead_validate,
    .check = dead_check,
    .apply = dead_apply,
    .revert = dead_revert,
};
