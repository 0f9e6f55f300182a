/*
 * systemd_bus - units of systemd over D-Bus, without a program for each question.
 *
 *     found = systemd_bus_show(&tool, "nginx", &unit, err);
 *     if (found == SYSTEMD_BUS_NONE)
 *         ask systemctl instead
 *
 * libsystemd is loaded by the first call. Root talks to systemd itself, others through
 * the bus of the system. Where the library is missing, nobody answers, or access is
 * denied, every call answers SYSTEMD_BUS_NONE for SYSTEMD_BUS_ABSENCE, and then it is tried
 * again; so does a call that only systemctl can do: a name to be escaped, an init script
 * to be enabled.
 *
 * Memory: texts are in the arena of the tool. Threads: any.
 */
#ifndef PROVIDER_SERVICE_SYSTEMD_BUS_H
#define PROVIDER_SERVICE_SYSTEMD_BUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "provider/service/manager.h"

/* Beside 0 and -1: nothing was done, systemctl is to be used. */
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
/* Waits for the end of jobs, unless SERVICE_NO_BLOCK; a job that does not end well is an error with
 * its result. */
int systemd_bus_act(const struct tool *tool, const char *name, enum service_action action,
                    unsigned flags, struct err *err);

#endif
