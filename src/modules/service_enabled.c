/* service.enabled - the service starts with the machine. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct enabled_args

struct enabled_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param enabled_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static struct services_wish wish_of(const struct enabled_args *want)
{
    return (struct services_wish){
        .name = want->name,
        .provider = want->provider,
        .enable = PARAM_IS_TRUE,
    };
}

static int enabled_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct services_wish wish = wish_of(args);

    return services_validate(&wish, where, diags);
}

static int enabled_check(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_check(run, &wish, err);
}

static int enabled_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_apply(run, &wish, err);
}

static int enabled_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_revert(run, &wish, err);
}

static int enabled_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct services_wish wish = wish_of(args);
    struct service_status status;

    if (services_look(run, &wish, &status, err) < 0)
        return -1;
    *ret = value_bool(status.enabled);
    return 0;
}

const struct module module_service_enabled = {
    .name = "service.enabled",
    .summary = "the service starts with the machine",
    .details = "As a function it tells whether that is so.",
    .example = "name: nginx\n",
    .params = enabled_params,
    .args_size = sizeof(struct enabled_args),
    .validate = enabled_validate,
    .check = enabled_check,
    .apply = enabled_apply,
    .revert = enabled_revert,
    .call = enabled_call,
};
