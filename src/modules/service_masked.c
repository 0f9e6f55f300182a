/* service.masked - the service cannot be started at all. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct masked_args

struct masked_args {
    const char *name;
    int provider;
    bool runtime;
};

/* clang-format off */
static const struct param masked_params[] = {
    SERVICES_NAME(ARGS),
    PARAM("runtime", BOOL, ARGS, runtime, "until the machine starts again only"),
    { 0 },
};
/* clang-format on */

static struct services_wish wish_of(const struct masked_args *want)
{
    return (struct services_wish){
        .name = want->name,
        .provider = want->provider,
        .masked = PARAM_IS_TRUE,
        .runtime = want->runtime,
    };
}

static int masked_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct services_wish wish = wish_of(args);

    return services_validate(&wish, where, diags);
}

static int masked_check(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_check(run, &wish, err);
}

static int masked_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_apply(run, &wish, err);
}

static int masked_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct services_wish wish = wish_of(args);

    return services_revert(run, &wish, err);
}

static int masked_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct services_wish wish = wish_of(args);
    struct service_status status;

    if (services_look(run, &wish, &status, err) < 0)
        return -1;
    *ret = value_bool(status.masked);
    return 0;
}

const struct module module_service_masked = {
    .name = "service.masked",
    .summary = "the service cannot be started at all",
    .details = "As a function it tells whether that is so.",
    .example = "name: telnetd\n",
    .params = masked_params,
    .args_size = sizeof(struct masked_args),
    .validate = masked_validate,
    .check = masked_check,
    .apply = masked_apply,
    .revert = masked_revert,
    .call = masked_call,
};
