/*
 * status - the twelve states of a service, by name. Pure.
 */
#ifndef KEPLER_CONFIG_STATUS_H
#define KEPLER_CONFIG_STATUS_H

#include <stdbool.h>

#include "core/base/str.h"

enum status {
    STATUS_STOPPED,  /* never started, or stopped by hand */
    STATUS_WAITING,  /* for its dependencies */
    STATUS_STARTING, /* resolving, pre_start, spawn, or a delay before a restart */
    STATUS_RUNNING,  /* no health check, or none has passed or failed yet */
    STATUS_HEALTHY,
    STATUS_UNHEALTHY,
    STATUS_STOPPING,
    STATUS_RESTARTING, /* by hand, or because a dependency restarted */
    STATUS_EXITED,     /* ended by itself, with any code */
    STATUS_KILLED,     /* ended by a signal */
    STATUS_FAILED,     /* could not be started */
    STATUS_SKIPPED,    /* never ran, and why */
};
#define STATUSES (STATUS_SKIPPED + 1)

/* "running", by status: for record tables. */
extern const char *const status_words[STATUSES];
const char *status_name(enum status status);
/* -1 for an unknown word. */
int status_parse(struct str name, enum status *ret);

bool status_is_running(enum status status);  /* running, healthy, unhealthy */
bool status_is_active(enum status status);   /* all but stopped, exited, killed, failed, skipped */
bool status_is_terminal(enum status status); /* stopped, exited, killed, failed */

#endif
