/* network.interfaces - the network interfaces of the machine. */
#include "core/base/err.h"
#include "states/modules/network/links.h"
#include "states/state/module.h"

static int interfaces_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    (void)args;
    return links_read(run, ret, err);
}

const struct module module_network_interfaces = {
    .name = "network.interfaces",
    .summary = "the network interfaces of the machine: each with 'up', 'hwaddr' and addresses",
    .example = "{}\n",
    .params = params_none,
    .call = interfaces_call,
};
