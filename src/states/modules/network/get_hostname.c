/* network.get_hostname - returns the host name. */
#include <errno.h>
#include <unistd.h>

#include "core/base/err.h"
#include "states/state/module.h"

#define NAME_SIZE 256

static int get_hostname_call(struct state_run *run, const void *args, struct value *ret,
                             struct err *err)
{
    char name[NAME_SIZE] = { 0 };

    (void)args;
    if (gethostname(name, sizeof(name) - 1) < 0)
        return err_sys(err, errno, "get the host name");
    *ret = value_str(arena_str(run->arena, str_from(name)));
    return 0;
}

const struct module module_network_get_hostname = {
    .name = "network.get_hostname",
    .summary = "the host name",
    .params = params_none,
    .call = get_hostname_call,
};
