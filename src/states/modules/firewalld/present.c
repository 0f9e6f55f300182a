/* firewalld.present - a zone of firewalld. */
#include <stddef.h>
#include <string.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/firewalld/firewall.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct present_args

struct present_args {
    const char *name;
    bool is_default, masquerade;
    struct param_strs block_icmp, ports, port_fwd, services, interfaces, sources, rich_rules;
    bool prune_block_icmp, prune_ports, prune_port_fwd, prune_services, prune_interfaces,
        prune_sources, prune_rich_rules;
};

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the zone", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("default", BOOL, ARGS, is_default, "make it the default zone"),
    PARAM("masquerade", BOOL, ARGS, masquerade, "masquerade outgoing traffic; false: not"),
    PARAM("block_icmp", STRS, ARGS, block_icmp, "types of ICMP to block"),
    PARAM("prune_block_icmp", BOOL, ARGS, prune_block_icmp, "allow all others"),
    PARAM("ports", STRS, ARGS, ports, "ports to open: 80/tcp, 6000-6010/udp"),
    PARAM("prune_ports", BOOL, ARGS, prune_ports, "close all others"),
    PARAM("port_fwd", STRS, ARGS, port_fwd, "ports to forward: PORT:TO_PORT:PROTOCOL, with :TO_ADDRESS for another machine"),
    PARAM("prune_port_fwd", BOOL, ARGS, prune_port_fwd, "forward no others"),
    PARAM("services", STRS, ARGS, services, "services to allow"),
    PARAM("prune_services", BOOL, ARGS, prune_services, "allow no others"),
    PARAM("interfaces", STRS, ARGS, interfaces, "interfaces of the zone"),
    PARAM("prune_interfaces", BOOL, ARGS, prune_interfaces, "no other interfaces"),
    PARAM("sources", STRS, ARGS, sources, "addresses and networks of the zone"),
    PARAM("prune_sources", BOOL, ARGS, prune_sources, "no other sources"),
    PARAM("rich_rules", STRS, ARGS, rich_rules, "rich rules, as firewall-cmd prints them"),
    PARAM("prune_rich_rules", BOOL, ARGS, prune_rich_rules, "no other rich rules"),
    { 0 },
};

static const struct {
    const char *key;
    size_t want, prune; /* offsets */
    struct firewall_list list;
} lists[] = {
#define LIST(field, ...) #field, offsetof(ARGS, field), offsetof(ARGS, prune_##field), __VA_ARGS__
    { LIST(block_icmp, { "blocked ICMP type", "--list-icmp-blocks",   "icmp-block",   false }) },
    { LIST(ports,      { "port",              "--list-ports",         "port",         false }) },
    { LIST(port_fwd,   { "forwarding",        "--list-forward-ports", "forward-port", true }) },
    { LIST(services,   { "service",           "--list-services",      "service",      false }) },
    { LIST(interfaces, { "interface",         "--list-interfaces",    "interface",    false }) },
    { LIST(sources,    { "source",            "--list-sources",       "source",       false }) },
    { LIST(rich_rules, { "rich rule",         "--list-rich-rules",    "rich-rule",    true }) },
};
/* clang-format on */

static const struct param_strs *find_zone_items(const struct present_args *want, size_t i)
{
    return (const struct param_strs *)((const char *)want + lists[i].want);
}

/* "80:8080:tcp" or "80:8080:tcp:10.0.0.2" as firewall-cmd writes it; NULL: neither. */
static const char *print_forward(struct arena *arena, const char *text)
{
    struct str rest = str_from(text), parts[4] = { STR(""), STR(""), STR(""), STR("") };
    size_t n = 0;

    while (rest.p && n < ARRAY_LEN(parts))
        parts[n++] = str_cut(&rest, ':');
    if (rest.p || n < 3 || parts[0].n == 0 || parts[2].n == 0)
        return NULL;
    return arena_printf(arena, "port=%.*s:proto=%.*s:toport=%.*s:toaddr=%.*s", STR_ARG(parts[0]),
                        STR_ARG(parts[2]), STR_ARG(parts[1]), STR_ARG(parts[3]));
}

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct present_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags);

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        result |= firewall_validate(lists[i].key, *find_zone_items(want, i), where, diags);
    for (size_t i = 0; i < want->port_fwd.n; i++)
        if (!print_forward(diags->arena, want->port_fwd.p[i]))
            result = value_diag(diags, value_point(where, "port_fwd"),
                                "'%s' is not of the form PORT:TO_PORT:PROTOCOL[:TO_ADDRESS]",
                                want->port_fwd.p[i]);
    return result;
}

static struct param_strs print_forwards(struct arena *arena, struct param_strs texts)
{
    const char **all = ARENA_ARRAY(arena, const char *, texts.n);

    for (size_t i = 0; i < texts.n; i++)
        all[i] = print_forward(arena, texts.p[i]);
    return (struct param_strs){ texts.n, all };
}

static int plan_masquerade(struct firewall *firewall, const struct present_args *want,
                           struct err *err)
{
    static const char *const options[] = { "--remove-masquerade", "--add-masquerade" };
    bool is_on;

    if (firewall_ask(firewall, "--query-masquerade", &is_on, err) < 0)
        return -1;
    if (is_on != want->masquerade)
        firewall_add_step(firewall,
                          &(struct firewall_step){
                              .words = is_on ? "masquerading is on" : "masquerading is off",
                              .made = is_on ? "turned masquerading off" : "turned masquerading on",
                              .now = options[want->masquerade],
                              .back = options[is_on],
                          });
    return 0;
}

static int plan_default(struct firewall *firewall, const struct present_args *want, struct err *err)
{
    struct arena *arena = firewall->run->arena;
    const char *now;

    if (!want->is_default)
        return 0;
    if (firewall_read(firewall->run, "--get-default-zone", &now, err) < 0)
        return -1;
    if (strcmp(now, want->name) != 0)
        firewall_add_step(firewall,
                          &(struct firewall_step){
                              .words = arena_printf(arena, "the default zone is %s", now),
                              .made = arena_printf(arena, "made %s the default zone", want->name),
                              .now = arena_printf(arena, "--set-default-zone=%s", want->name),
                              .back = arena_printf(arena, "--set-default-zone=%s", now),
                              .whole = true,
                              .runtime = true,
                          });
    return 0;
}

static int plan_zone(struct state_run *run, const struct present_args *want,
                     struct firewall *ret_firewall, struct err *err)
{
    if (firewall_open(run, "zone", want->name, ret_firewall, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const bool prune = *(const bool *)((const char *)want + lists[i].prune);
        const struct param_strs items = find_zone_items(want, i) == &want->port_fwd
                                            ? print_forwards(run->arena, want->port_fwd)
                                            : *find_zone_items(want, i);

        if (firewall_compare(ret_firewall, &lists[i].list, items, prune, err) < 0)
            return -1;
    }
    if (plan_masquerade(ret_firewall, want, err) < 0)
        return -1;
    return plan_default(ret_firewall, want, err);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    struct firewall firewall;

    if (plan_zone(run, args, &firewall, err) < 0)
        return -1;
    firewall_report(&firewall);
    return 0;
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    struct firewall firewall;

    return plan_zone(run, args, &firewall, err) < 0 ? -1 : firewall_apply(&firewall, err);
}

const struct module module_firewalld_present = {
    .name = "firewalld.present",
    .summary = "a zone of firewalld",
    .details = "Its permanent configuration is compared and changed, and then loaded. Without a "
               "'prune' parameter nothing is removed. A revert undoes what was changed.",
    .example = "name: public\nservices: [ssh]\nports: [80/tcp, 443/tcp]\nprune_ports: true\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .lock = FIREWALL_LOCK,
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = firewall_revert,
};
