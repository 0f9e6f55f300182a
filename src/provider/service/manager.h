/*
 * service_manager - what starts services on this machine, behind one table: systemd,
 * OpenRC, the orchestrator (kepler), or init scripts.
 *
 * A manager is one file of this folder: NAME.c, without a header of its own, exports
 * `const struct service_manager service_manager_NAME`. The build makes the table of all
 * of them from the names of the files.
 *
 *     service_manager_find(&manager, err);
 *     manager->look(&tool, "nginx", &status, err);
 *     manager->act(&tool, "nginx", SERVICE_START, 0, err);
 *
 * systemd is spoken to over its bus and
 * kepler over its socket; the others, and systemd without a bus, work through programs.
 *
 * Threads: any.
 */
#ifndef PROVIDER_SERVICE_MANAGER_H
#define PROVIDER_SERVICE_MANAGER_H

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
    int rank;          /* in this order they are looked for, the lowest first */
    const char *needs; /* what was looked for, in words */
    bool has_configs;  /* a service may be named with its config: "/srv/app/kepler.yaml:web" */
    bool learns_late;  /* a service that is new is learned of by the first action, not by a look */
    bool (*is_here)(struct arena *arena);
    int (*look)(const struct tool *tool, const char *name, struct service_status *ret,
                struct err *err);
    int (*act)(const struct tool *tool, const char *name, enum service_action action,
               unsigned flags, struct err *err);
};

/* All of them, by rank; ends in a NULL pointer. Written by tools/gen-providers. */
extern const struct service_manager *const service_manager_table[];

/* "auto", and the names of all, with bars between. Written by tools/gen-providers. */
extern const char service_manager_choices[];
/* The manager of a word of these, by its number from 0; NULL for "auto". */
const struct service_manager *service_manager_chosen(int choice);
/* The one whose services stand in configs. */
const struct service_manager *service_manager_with_configs(void);

/* That of this machine. Fails with ERR_UNSUPPORTED, telling what was looked for. */
int service_manager_find(const struct service_manager **ret, struct err *err);

/* "start", "stop", ... */
const char *service_action_word(enum service_action action);

#endif
