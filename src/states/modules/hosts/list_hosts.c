/* hosts.list_hosts - the addresses of /etc/hosts, each with its names. */
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct list_hosts_args

struct list_hosts_args {
    const char *config;
};

/* clang-format off */
static const struct param list_hosts_params[] = {
    PARAM("config", PATH, ARGS, config, "the file", .flags = PARAM_PRIMARY, .default_text = "/etc/hosts", .aliases = "path"),
    { 0 },
};
/* clang-format on */

#define FILE_MAX ((size_t)16 << 20)

/* Several lines of one address are one entry. */
static void add_hosts_line(struct arena *arena, struct value_map *map, struct str rest)
{
    const struct value address = value_str(arena_str(arena, lines_word(&rest)));
    const struct value *known = value_map_find(map, &address);
    struct value names = known ? *known : value_list(value_list_new(arena, 2));
    struct str name;

    if (address.s.n == 0)
        return;
    while ((name = lines_word(&rest)).n > 0)
        value_list_push(arena, names.list, value_str(arena_str(arena, name)));
    value_map_set(arena, map, address, names);
}

static int list_hosts_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    const struct list_hosts_args *want = args;
    struct value_map *map = value_map_new(run->arena, 8);
    struct line line;
    struct str text;

    if (fs_read(run->arena, want->config ? want->config : "/etc/hosts", FILE_MAX, &text, err) < 0)
        return -1;
    while (text.p && lines_next(&text, &line)) {
        struct str rest = line.text;

        rest = str_cut(&rest, '#');
        add_hosts_line(run->arena, map, rest);
    }
    *ret = value_map(map);
    return 0;
}

const struct module module_hosts_list_hosts = {
    .name = "hosts.list_hosts",
    .summary = "the addresses of /etc/hosts, each with its names",
    .params = list_hosts_params,
    .args_size = sizeof(struct list_hosts_args),
    .call = list_hosts_call,
};
