/*
 * systemd_bus - units of systemd over D-Bus, without a process for each query.
 *
 *     found = systemd_bus_show(&tool, "nginx", &unit, err);
 *     if (found == SYSTEMD_BUS_NONE)
 *         ask systemctl instead
 *
 * libsystemd is loaded by the first call. Root connects to systemd directly, others through the
 * system bus. If the library is missing, there is no reply, or access is denied, every call returns
 * SYSTEMD_BUS_NONE for SYSTEMD_BUS_ABSENCE, and then tries again; so does a call that only
 * systemctl can do: a name that needs escaping, enabling an init script.
 *
 * Memory: texts are in the arena of the tool. Threads: any.
 */
#ifndef STATES_PROVIDER_SERVICE_SYSTEMD_BUS_H
#define STATES_PROVIDER_SERVICE_SYSTEMD_BUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "states/provider/service/manager.h"

/* Besides 0 and -1: nothing was done, use systemctl. */
#define SYSTEMD_BUS_NONE    1
#define SYSTEMD_BUS_ABSENCE (60 * INT64_C(1000000000))

struct systemd_unit {
    struct str load;   /* "loaded", "not-found", "masked" */
    struct str active; /* "active", "failed" */
    struct str file;   /* "enabled", "static", ...; empty: no unit file */
    bool stale;        /* its file has changed since systemd read it */
};

int systemd_bus_show(const struct tool *tool, const char *name, struct systemd_unit *ret,
                     struct err *err);
/* Read all unit files again. */
int systemd_bus_reload(const struct tool *tool, struct err *err);
/* Waits for the end of jobs, unless SERVICE_NO_BLOCK; a failed job is an error with its result. */
int systemd_bus_act(const struct tool *tool, const char *name, enum service_action action,
                    unsigned flags, struct err *err);

#endif
