/* network.dig - what the name servers say about a host. */
#include "core/base/err.h"
#include "states/modules/network/probe.h"
#include "states/state/module.h"
#include "core/sys/process.h"

#define ARGS struct dig_args

struct dig_args {
    const char *host;
};

/* clang-format off */
static const struct param dig_params[] = {
    PARAM("host", STR, ARGS, host, "a name", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

static int dig_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    static const char *const words[] = { "dig", NULL };
    struct process_result result;

    if (probe_run(run, words, ((const struct dig_args *)args)->host, &result, err) < 0)
        return -1;
    *ret = value_str(arena_str(run->arena, str_trim_right(result.out)));
    return 0;
}

const struct module module_network_dig = {
    .name = "network.dig",
    .summary = "DNS records of a host, through dig",
    .params = dig_params,
    .args_size = sizeof(struct dig_args),
    .call = dig_call,
};
