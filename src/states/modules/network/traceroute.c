/* network.traceroute - the hops on the way to a host. */
#include "core/base/err.h"
#include "core/base/number.h"
#include "states/modules/network/probe.h"
#include "states/state/module.h"
#include "core/sys/process.h"

#define ARGS struct traceroute_args

struct traceroute_args {
    const char *host;
};

/* clang-format off */
static const struct param traceroute_params[] = {
    PARAM("host", STR, ARGS, host, "a name or an address", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

static struct str next_hop_word(struct str *line)
{
    *line = line->n > 0 ? str_trim(*line) : STR("");
    return line->n > 0 ? str_cut(line, ' ') : STR("");
}

static void set_hop_field(struct state_run *run, struct value_map *hop, const char *key,
                          struct value v)
{
    value_map_set(run->arena, hop, value_text(key), v);
}

/* "router (192.0.2.1)  0.5 ms  0.6 ms *": the times of three packets, of which some are lost. */
static void read_hop_times(struct state_run *run, struct str line, struct value_map *hop)
{
    static const char *const keys[] = { "ms1", "ms2", "ms3" };
    struct err ignored;
    size_t count = 0;

    while (line.n > 0 && count < ARRAY_LEN(keys)) {
        const struct str word = next_hop_word(&line);
        double ms;

        if (str_is(word, "*"))
            set_hop_field(run, hop, keys[count++], value_text("*"));
        else if (number_parse_double(word, &ms, &ignored) == 0)
            set_hop_field(run, hop, keys[count++], value_double(ms));
    }
}

/* "1  router (192.0.2.1)  0.5 ms  0.6 ms  0.7 ms", or "2  * * *". */
static void add_hop(struct state_run *run, struct str line, struct value_list *hops)
{
    struct value_map *hop = value_map_new(run->arena, 6);
    struct err ignored;
    struct str name, address;
    int64_t count;

    if (number_parse_int(next_hop_word(&line), &count, &ignored) < 0)
        return;
    name = next_hop_word(&line);
    set_hop_field(run, hop, "count", value_int(count));
    set_hop_field(run, hop, "hostname", value_str(arena_str(run->arena, name)));
    if (!str_is(name, "*")) {
        address = next_hop_word(&line);
        set_hop_field(run, hop, "ip",
                      value_str(arena_str(run->arena, address.n > 2 && address.p[0] == '('
                                                          ? str_slice(address, 1, address.n - 2)
                                                          : address)));
        read_hop_times(run, line, hop);
    }
    value_list_push(run->arena, hops, value_map(hop));
}

static int traceroute_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    static const char *const words[] = { "traceroute", NULL };
    const char *host = ((const struct traceroute_args *)args)->host;
    struct process_result result;

    if (probe_run(run, words, host, &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return err_set(err, ERR_INVALID, "traceroute %s: %.*s", host,
                       STR_ARG(str_trim(result.err)));
    *ret = value_list(value_list_new(run->arena, 8));
    while (result.out.n > 0)
        add_hop(run, str_cut(&result.out, '\n'), ret->list);
    return 0;
}

const struct module module_network_traceroute = {
    .name = "network.traceroute",
    .summary = "the hops on the way to a host, through traceroute",
    .params = traceroute_params,
    .args_size = sizeof(ARGS),
    .call = traceroute_call,
};
