#include "commands/cli/fleet/peel/starter.h"

#include <stdio.h>

#include "core/base/err.h"
#include "core/sys/fs.h"

#define STARTER_MODE 0644

static const char starter[] =
    "# Configuration of zester-peel, the agent of this machine. 'zester-peel --help' lists all\n"
    "# keys; those after a '#' have the values that hold without them, or are examples.\n"
    "\n"
    "# The name of this machine in the fleet; without it, its full host name.\n"
    "#id: web-01.example.com\n"
    "\n"
    "# Masters that this machine asks for credentials, in this order.\n"
    "master_urls:\n"
    "  - https://zester:8443\n"
    "\n"
    "# The authority of their certificates, as 'zester ca fingerprint' prints it. Without it,\n"
    "# the one of the first contact is trusted and remembered; 'strict' refuses that.\n"
    "#enroll_ca_pin:\n"
    "#  - sha256:0000000000000000000000000000000000000000000000000000000000000000\n"
    "#enroll_trust: tofu\n"
    "\n"
    "# Servers of the bus, with commas between them; without it, masters name them.\n"
    "#nats_url: tls://nats:4222\n"
    "#nats_ca: /var/lib/zester/auth/nats-ca.crt\n"
    "\n"
    "#auth_dir: /var/lib/zester/auth\n"
    "#data_dir: /var/lib/zester\n"
    "#states_cache: /var/cache/zester/states\n"
    "#facts_file: /etc/zester/facts\n"
    "\n"
    "#health_addr: 127.0.0.1:9090\n"
    "#log_level: info\n"
    "#log_format: json\n"
    "\n"
    "# What to apply once at each start: highstate, or the states of startup_sls_list with sls.\n"
    "#startup_states: highstate\n";

int peel_run_init(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct peel_starter_args *want = args;
    struct err err;

    (void)operands;
    if (!want->output) {
        (void)fputs(starter, stdout);
        return CLI_OK;
    }
    if (fs_write(want->output, str_from(starter), STARTER_MODE, &err) < 0)
        return cli_err(cli, &err);
    (void)printf("Wrote %s\n", want->output);
    return CLI_OK;
}
