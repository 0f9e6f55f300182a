/*
 * service - what starts services on this machine, behind one table: systemd, OpenRC,
 * the orchestrator (kepler), or init scripts.
 *
 *     service_find_manager(NULL, &manager, err);
 *     manager->look(&tool, "nginx", &status, err);
 *     manager->act(&tool, "nginx", SERVICE_START, 0, err);
 *
 * The machine is asked once which manager it has. systemd is spoken to over its bus and
 * kepler over its socket; the others, and systemd without a bus, work through programs.
 *
 * Threads: any.
 */
#ifndef PROVIDER_SERVICE_H
#define PROVIDER_SERVICE_H

#include <stdbool.h>

#include "provider/tool.h"

struct arena;
struct err;

struct service_status {
    bool known; /* there is such a service */
    bool running, failed;
    bool moving;   /* on its way up or down: neither runs nor is stopped */
    bool enabled;  /* starts with the machine */
    bool fixed;    /* that cannot be changed: others start it, or nobody does */
    bool unlisted; /* init scripts: nothing says whether it does */
    bool masked;
    const char *word; /* of the manager: "active", "inactive" */
};

enum service_action {
    SERVICE_START,
    SERVICE_STOP,
    SERVICE_RESTART,
    SERVICE_RELOAD,
    SERVICE_ENABLE,
    SERVICE_DISABLE,
    SERVICE_MASK,
    SERVICE_UNMASK,
    SERVICE_FORGET, /* init scripts: nothing says any more whether it starts with the machine */
};
#define SERVICE_ACTIONS (SERVICE_FORGET + 1)

enum service_flag {
    SERVICE_NO_BLOCK = 1, /* do not wait until it is done, where the manager can */
    SERVICE_RUNTIME = 2,  /* until the machine starts again, where the manager can */
};

struct service_manager {
    const char *name;
    const char *needs; /* what was looked for, in words */
    bool (*is_here)(struct arena *arena);
    int (*look)(const struct tool *tool, const char *name, struct service_status *ret,
                struct err *err);
    int (*act)(const struct tool *tool, const char *name, enum service_action action,
               unsigned flags, struct err *err);
};

/* A service of kepler may be named with its config: "/srv/app/kepler.yaml:web". */
extern const struct service_manager service_systemd, service_openrc, service_kepler, service_sysv;

/* By name, or the one of this machine when `name` is NULL. Fails with ERR_UNSUPPORTED, telling what
 * was looked for. */
int service_find_manager(const char *name, const struct service_manager **ret, struct err *err);

/* "start", "stop", ... */
const char *service_action_word(enum service_action action);

#endif
