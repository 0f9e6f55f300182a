/*
 * reconfigure - other names, addresses and ports for a master that is set up: certificate of the
 * server, configuration of both.
 *
 *     reconfigure_read -> change the values -> reconfigure_write, and restart the services
 *
 * Only lines of changed values are edited. Older names stay in the certificates, so that peels
 * that know them go on. All files are written, or none.
 *
 * Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_SETUP_RECONFIGURE_H
#define COMMANDS_CLI_FLEET_SETUP_RECONFIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/params.h"

struct arena;
struct err;

/* Names and addresses by which other machines reach this one. */
struct reconfigure_values {
    const char *host;
    int64_t port;
    const char *enroll_addr, *health_addr;
    const char *listen, *monitor; /* NULL: as they are */
};

struct reconfigure {
    struct arena *arena;
    const char *config, *nats_conf, *auth_dir;
    struct reconfigure_values before;
    struct param_strs hosts, urls; /* all names, the current one first; announced servers */
};

/* `config` and `nats_conf` must exist. */
int reconfigure_read(struct arena *arena, const char *config, const char *nats_conf,
                     struct reconfigure *ret, struct err *err);
int reconfigure_write(const struct reconfigure *reconfigure, const struct reconfigure_values *want,
                      struct err *err);

#endif
