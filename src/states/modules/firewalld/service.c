/* firewalld.service - a service of firewalld: its ports and protocols. */
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/firewalld/firewall.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct service_args

struct service_args {
    const char *name;
    struct param_strs ports, protocols;
};

/* clang-format off */
static const struct param service_params[] = {
    PARAM("name", STR, ARGS, name, "the service", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("ports", STRS, ARGS, ports, "its ports, and no others: 80/tcp"),
    PARAM("protocols", STRS, ARGS, protocols, "its protocols, and no others: igmp"),
    { 0 },
};
/* clang-format on */

static int service_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct service_args *want = args;

    return validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags) |
           firewall_validate("ports", want->ports, where, diags) |
           firewall_validate("protocols", want->protocols, where, diags);
}

static int plan_service(struct state_run *run, const struct service_args *want,
                        struct firewall *ret_firewall, struct err *err)
{
    static const struct firewall_list ports = { "port", "--get-ports", "port", false };
    static const struct firewall_list protocols = { "protocol", "--get-protocols", "protocol",
                                                    false };

    if (firewall_open(run, "service", want->name, ret_firewall, err) < 0 ||
        firewall_compare(ret_firewall, &ports, want->ports, true, err) < 0)
        return -1;
    return firewall_compare(ret_firewall, &protocols, want->protocols, true, err);
}

static int service_check(struct state_run *run, const void *args, struct err *err)
{
    struct firewall firewall;

    if (plan_service(run, args, &firewall, err) < 0)
        return -1;
    firewall_report(&firewall);
    return 0;
}

static int service_apply(struct state_run *run, const void *args, struct err *err)
{
    struct firewall firewall;

    return plan_service(run, args, &firewall, err) < 0 ? -1 : firewall_apply(&firewall, err);
}

const struct module module_firewalld_service = {
    .name = "firewalld.service",
    .summary = "a service of firewalld: its ports and protocols",
    .details = "Its permanent configuration is compared and changed, and then loaded.",
    .example = "name: app\nports: [8000/tcp]\n",
    .params = service_params,
    .args_size = sizeof(struct service_args),
    .lock = FIREWALL_LOCK,
    .validate = service_validate,
    .check = service_check,
    .apply = service_apply,
    .revert = firewall_revert,
};
