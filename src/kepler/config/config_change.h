/*
 * config_change - the difference between a loaded config and another version of its file.
 *
 *     config_change_find -> mark those that do not run -> config_change_follow
 *
 * Services are the same by name. Definitions are compared as config_dump shows them, with all
 * defaults, so that only what a line means counts. Expressions are compared as they are
 * written. Variables in `environment` are shown by name, never with their values.
 *
 * Pure. Memory: the arena; both configs must live as long. Threads: any.
 */
#ifndef KEPLER_CONFIG_CONFIG_CHANGE_H
#define KEPLER_CONFIG_CONFIG_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/vec.h"
#include "core/data/value.h"

struct arena;
struct config;

enum config_change_kind {
    CONFIG_CHANGE_NONE,
    CONFIG_CHANGE_START,    /* new in the file */
    CONFIG_CHANGE_STOP,     /* no longer in the file */
    CONFIG_CHANGE_RESTART,  /* what it was started with has changed */
    CONFIG_CHANGE_IN_PLACE, /* what has changed is asked at each use */
};

/* One key with its path, such as "healthcheck.interval"; a side without it is null. */
struct config_change_key {
    const char *key;
    struct value old, now;
};
typedef VEC(struct config_change_key) config_change_keys;

struct config_change {
    const char *name;
    enum config_change_kind kind;
    bool idle;         /* set by the caller: nothing of it runs, so nobody follows it */
    const char *cause; /* it restarts since this dependency does; or NULL */
    config_change_keys keys;
};

struct config_changes {
    struct config_change *services; /* as in the new file, then those that are gone */
    size_t count;
    config_change_keys file; /* outside of services: all of them would have to restart */
};

const char *config_change_name(enum config_change_kind kind);

struct config_changes config_change_find(struct arena *arena, const struct config *old,
                                         const struct config *now);
/* Adds the restarts of those that depend on a restarting service with `restart: true`. */
void config_change_follow(struct config_changes *changes, const struct config *now);
/* Is this one of the changed keys of the service? */
bool config_change_has(const struct config_change *change, const char *key);
bool config_change_is_empty(const struct config_changes *changes);

#endif
