/*
 * service_manager - a common interface to systemd, OpenRC, kepler and init scripts.
 *
 * A manager is one file of this folder: NAME.c, without a header of its own, exports `const struct
 * service_manager service_manager_NAME`. The build makes the table of all managers from the file
 * names.
 *
 *     service_manager_find(&manager, err);
 *     manager->look(&tool, "nginx", &status, err);
 *     manager->act(&tool, "nginx", SERVICE_START, 0, err);
 *
 * systemd is controlled over D-Bus and kepler over its socket; the others, and systemd without a
 * bus, through programs.
 *
 * Threads: any.
 */
#ifndef STATES_PROVIDER_SERVICE_MANAGER_H
#define STATES_PROVIDER_SERVICE_MANAGER_H

#include <stdbool.h>

#include "states/provider/tool.h"

struct arena;
struct err;

struct service_status {
    bool known; /* the service exists */
    bool running, failed;
    bool moving;   /* starting or stopping: neither up nor down */
    bool enabled;  /* enabled at boot */
    bool fixed;    /* cannot be enabled or disabled: static or indirect */
    bool unlisted; /* init scripts: unknown */
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
    SERVICE_FORGET, /* init scripts: back to unknown */
};
#define SERVICE_ACTIONS (SERVICE_FORGET + 1)

enum service_flag {
    SERVICE_NO_BLOCK = 1, /* do not wait for completion, if supported */
    SERVICE_RUNTIME = 2,  /* until the next boot only, if supported */
};

struct service_manager {
    const char *name;
    int rank;          /* search order, lowest first */
    const char *needs; /* description of the search */
    bool has_configs;  /* a service may be named with its config: "/srv/app/kepler.yaml:web" */
    bool learns_late;  /* a new service is found by the first action, not by a status query */
    bool (*is_here)(struct arena *arena);
    int (*look)(const struct tool *tool, const char *name, struct service_status *ret,
                struct err *err);
    int (*act)(const struct tool *tool, const char *name, enum service_action action,
               unsigned flags, struct err *err);
    /* Read the definitions of all services again; NULL: it always reads them afresh. */
    int (*reread)(const struct tool *tool, struct err *err);
};

/* All of them, by rank; ends in a NULL pointer. Written by tools/gen-providers. */
extern const struct service_manager *const service_manager_table[];

/* "auto" and all names, separated by bars. Written by tools/gen-providers. */
extern const char service_manager_choices[];
/* The manager for a position in this list, from 0; NULL for "auto". */
const struct service_manager *service_manager_chosen(int choice);
/* The one whose services are defined in configs. */
const struct service_manager *service_manager_with_configs(void);

/* The manager of this machine. Fails with ERR_UNSUPPORTED, listing the searches. */
int service_manager_find(const struct service_manager **ret, struct err *err);

/* "start", "stop", ... */
const char *service_action_word(enum service_action action);

#endif
