/* service.disabled - the service does not start with the machine. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct disabled_args

struct disabled_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param disabled_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static struct services_wish wish_of(const struct disabled_args *want)
{
    return (struct services_wish){
        .name = want->name,
        .provider = want->provider,
        .enable = PARAM_IS_FALSE,
    };
}

static int disabled_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct services_wish wish = wish_of(args);

    return services_validate(&wish, where, diags);
}

static int disabled_check(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_check(run, &wish, err);
}

static int disabled_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_apply(run, &wish, err);
}

static int disabled_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_revert(run, &wish, err);
}

static int disabled_call(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct services_wish wish = wish_of(args);
    struct service_status status;

    if (services_look(run, &wish, &status, err) < 0)
        return -1;
    *ret = value_bool(!status.enabled);
    return 0;
}

const struct module module_service_disabled = {
    .name = "service.disabled",
    .summary = "the service does not start with the machine",
    .details = "As a function it tells whether that is so.",
    .example = "name: telnetd\n",
    .params = disabled_params,
    .args_size = sizeof(struct disabled_args),
    .validate = disabled_validate,
    .check = disabled_check,
    .apply = disabled_apply,
    .revert = disabled_revert,
    .call = disabled_call,
};
