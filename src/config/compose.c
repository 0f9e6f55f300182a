#include "config/compose.h"

#define PROGRAMS "kepler runs programs of this machine, not containers: use 'command' or 'run'"
#define NETWORK  "services use the network of this machine: remove it"
#define FILES    "services use the files of this machine: remove it"

/* clang-format off */
const struct param_foreign compose_keys[] = {
    { "image",           PROGRAMS },
    { "build",           PROGRAMS },
    { "entrypoint",      "use 'command'" },
    { "pull_policy",     PROGRAMS },
    { "platform",        PROGRAMS },
    { "container_name",  "a service is named by its key: remove it" },
    { "hostname",        NETWORK },
    { "ports",           NETWORK },
    { "expose",          NETWORK },
    { "networks",        NETWORK },
    { "network_mode",    NETWORK },
    { "links",           "use 'depends_on'" },
    { "extra_hosts",     NETWORK },
    { "dns",             NETWORK },
    { "volumes",         FILES },
    { "volumes_from",    FILES },
    { "tmpfs",           FILES },
    { "read_only",       FILES },
    { "secrets",         "use 'env_file', with restrictive permissions" },
    { "configs",         FILES },
    { "env",             "use 'environment'" },
    { "deploy",          "use 'limits'" },
    { "mem_limit",       "use 'limits: {memory: ...}'" },
    { "ulimits",         "use 'limits: {max_fds: ...}'" },
    { "group_add",       "use 'groups'" },
    { "privileged",      "use 'user' and 'no_new_privileges'" },
    { "cap_add",         "use 'user' and 'no_new_privileges'" },
    { "cap_drop",        "use 'user' and 'no_new_privileges'" },
    { "security_opt",    "use 'no_new_privileges'" },
    { "logging",         "use 'logs'" },
    { "labels",          "remove it" },
    { "tty",             "services have no terminal: remove it" },
    { "stdin_open",      "services read from /dev/null: remove it" },
    { "init",            "the daemon reaps processes: remove it" },
    { "profiles",        "use 'if' with a flag: if: ${{ kepler.flags.debug }}$, and start -D debug=1" },
    { "extends",         "use YAML anchors (&name, *name, <<)" },
    { "develop",         "use 'restart: {watch: ...}'" },
    { "stop_timeout",    "use 'stop_grace_period'" },
    { "start_interval",  "use 'interval' and 'start_period'" },
    { 0 },
};
/* clang-format on */
