/* network.netstat - the sockets of the machine, with the programs that have them. */
#include "core/base/err.h"
#include "states/modules/network/sockets.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define COMMAND_MAX ((size_t)4096)

/* In the numbers of the kernel. */
static const char *const state_names[SOCKETS_STATES + 1] = {
    "",      "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT",
    "CLOSE", "CLOSE_WAIT",  "LAST_ACK", "LISTEN",   "CLOSING",   "SYN_RECV",
};

static const char *find_process_command(struct state_run *run, const char *pid)
{
    struct str name;
    struct err ignored;

    if (fs_read(run->arena, arena_printf(run->arena, "/proc/%s/comm", pid), COMMAND_MAX, &name,
                &ignored) < 0 ||
        !name.p)
        return arena_printf(run->arena, "%s/-", pid);
    return arena_printf(run->arena, "%s/%.*s", pid, STR_ARG(str_trim(name)));
}

/* The sockets of one process: "socket:[4711]". A process that is gone, or is not ours, has none. */
static void add_socket_process(struct state_run *run, const char *pid, struct value_map *owners)
{
    const char *folder = arena_printf(run->arena, "/proc/%s/fd", pid), *owner = NULL;
    struct fs_names names = { .list = VEC_INIT };
    struct err ignored;

    if (fs_list(run->arena, folder, &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name) {
        const char *target;

        if (fs_readlink(run->arena, arena_printf(run->arena, "%s/%s", folder, *name), &target,
                        &ignored) < 0 ||
            !target || !str_starts(str_from(target), STR("socket:[")))
            continue;
        owner = owner ? owner : find_process_command(run, pid);
        value_map_set(run->arena, owners, value_text(target), value_text(owner));
    }
}

static int find_owners(struct state_run *run, struct value_map *owners, struct err *err)
{
    struct fs_names names = { .list = VEC_INIT };

    if (fs_list(run->arena, "/proc", &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (**name >= '0' && **name <= '9')
            add_socket_process(run, *name, owners);
    return 0;
}

static struct value print_socket_address(struct state_run *run, const struct sockets_end *end)
{
    return value_text(end->port
                          ? arena_printf(run->arena, "%s:%lld", end->address, (long long)end->port)
                          : arena_printf(run->arena, "%s:*", end->address));
}

static struct value print_socket_number(struct state_run *run, int64_t number)
{
    return value_text(arena_printf(run->arena, "%lld", (long long)number));
}

/* All as text, as in Salt. A UDP socket has a state only when it is connected. */
static struct value describe_row(struct state_run *run, const char *protocol,
                                 const struct sockets_row *row, const struct value_map *owners)
{
    const struct value key =
        value_text(arena_printf(run->arena, "socket:[%lld]", (long long)row->inode));
    const struct value *owner = value_map_find(owners, &key);
    const bool has_state = row->state >= 0 && row->state <= SOCKETS_STATES &&
                           (protocol[0] == 't' || row->state == SOCKETS_ESTABLISHED);
    const struct {
        const char *key;
        struct value v;
    } all[] = {
        { "proto", value_text(protocol) },
        { "recv-q", print_socket_number(run, row->receiving) },
        { "send-q", print_socket_number(run, row->sending) },
        { "local-address", print_socket_address(run, &row->local) },
        { "foreign-address", print_socket_address(run, &row->remote) },
        { "state", value_text(has_state ? state_names[row->state] : "") },
        { "user", print_socket_number(run, row->uid) },
        { "inode", print_socket_number(run, row->inode) },
        { "program", owner ? *owner : value_text("-") },
    };
    struct value_map *map = value_map_new(run->arena, ARRAY_LEN(all));

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        value_map_set(run->arena, map, value_text(all[i].key), all[i].v);
    return value_map(map);
}

static int netstat_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    static const char *const protocols[] = { "tcp", "tcp6", "udp", "udp6" };
    struct value_map *owners = value_map_new(run->arena, 64);

    (void)args;
    *ret = value_list(value_list_new(run->arena, 32));
    if (find_owners(run, owners, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
        struct sockets sockets;

        if (sockets_read(run, protocols[i], &sockets, err) < 0)
            return -1;
        VEC_EACH (&sockets.list, row)
            value_list_push(run->arena, ret->list, describe_row(run, protocols[i], row, owners));
    }
    return 0;
}

const struct module module_network_netstat = {
    .name = "network.netstat",
    .summary = "the sockets of the machine, with the programs that have them",
    .params = params_none,
    .call = netstat_call,
};
