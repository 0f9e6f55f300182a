/* network.ping - sends four echo requests to a host. */
#include "core/base/err.h"
#include "states/modules/network/probe.h"
#include "states/state/module.h"
#include "core/sys/process.h"

#define ARGS        struct ping_args
#define TIMEOUT_MAX 60

struct ping_args {
    const char *host;
    int64_t timeout;
    bool boolean;
};

/* clang-format off */
static const struct param ping_params[] = {
    PARAM("host", STR, ARGS, host, "a name or an address", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("timeout", INT, ARGS, timeout, "seconds to wait for an answer", .default_text = "10", PARAM_RANGE(1, TIMEOUT_MAX)),
    PARAM("return_boolean", BOOL, ARGS, boolean, "return whether it answers, not the output of ping"),
    { 0 },
};
/* clang-format on */

static int ping_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct ping_args *want = args;
    const char *const words[] = {
        "ping", "-c", "4", "-W", arena_printf(run->arena, "%lld", (long long)want->timeout), NULL
    };
    struct process_result result;

    if (probe_run(run, words, want->host, &result, err) < 0)
        return -1;
    *ret = want->boolean ? value_bool(process_status_ok(result.status))
                         : value_str(arena_str(run->arena, str_trim_right(result.out)));
    return 0;
}

const struct module module_network_ping = {
    .name = "network.ping",
    .summary = "send four echo requests to a host, through ping",
    .params = ping_params,
    .args_size = sizeof(struct ping_args),
    .call = ping_call,
};
