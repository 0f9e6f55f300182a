/* service.unmasked - the service can be started. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct unmasked_args

struct unmasked_args {
    const char *name;
    int provider;
    bool runtime;
};

/* clang-format off */
static const struct param unmasked_params[] = {
    SERVICES_NAME(ARGS),
    PARAM("runtime", BOOL, ARGS, runtime, "take a mask away that lasts until the machine starts again"),
    { 0 },
};
/* clang-format on */

static struct services_wish wish_of(const struct unmasked_args *want)
{
    return (struct services_wish){
        .name = want->name,
        .provider = want->provider,
        .masked = PARAM_IS_FALSE,
        .runtime = want->runtime,
    };
}

static int unmasked_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct services_wish wish = wish_of(args);

    return services_validate(&wish, where, diags);
}

static int unmasked_check(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_check(run, &wish, err);
}

static int unmasked_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_apply(run, &wish, err);
}

static int unmasked_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_revert(run, &wish, err);
}

static int unmasked_call(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct services_wish wish = wish_of(args);
    struct service_status status;

    if (services_look(run, &wish, &status, err) < 0)
        return -1;
    *ret = value_bool(!status.masked);
    return 0;
}

const struct module module_service_unmasked = {
    .name = "service.unmasked",
    .summary = "the service can be started",
    .details = "As a function it tells whether that is so.",
    .example = "name: telnetd\n",
    .params = unmasked_params,
    .args_size = sizeof(struct unmasked_args),
    .validate = unmasked_validate,
    .check = unmasked_check,
    .apply = unmasked_apply,
    .revert = unmasked_revert,
    .call = unmasked_call,
};
