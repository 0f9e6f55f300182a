/*
 * charge - the daemon that a watchdog is in charge of, as its own configuration describes it: who
 * it is, how it reaches the bus, where it answers probes.
 *
 * Read anew whenever it is needed, so that a changed file counts at once. Memory: the arena.
 */
#ifndef FLEET_WATCHDOG_CHARGE_H
#define FLEET_WATCHDOG_CHARGE_H

#include "fleet/wire/update.h"

struct arena;
struct err;
struct watchdog_conf;

struct charge {
    const char *health_addr; /* "": it serves no health */
    const char *urls, *ca_file, *auth_dir, *creds_file;
    const char *id; /* of the node, as on the wire */
};

/* "zester-peel" */
const char *charge_program(enum update_component component);
/* The configuration that the daemon is started with. */
const char *charge_config(const struct watchdog_conf *conf);

/* Fails with ERR_NOT_FOUND while a peel has no id yet. */
int charge_read(struct arena *arena, const struct watchdog_conf *conf, struct charge *ret,
                struct err *err);

#endif
