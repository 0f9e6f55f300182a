/*
 * services - the services of a master, in fleet/master/master.h's sense; zester-master lists them.
 */
#ifndef FLEET_MASTER_SERVICES_H
#define FLEET_MASTER_SERVICES_H

#include "fleet/master/master.h"

struct dispatcher;
struct roster;
struct settings_cache;

extern const struct master_service master_roster_service;    /* facts, signs of life, targets */
extern const struct master_service master_dispatch_service;  /* jobs */
extern const struct master_service master_reactor_service;   /* reactions to events */
extern const struct master_service master_late_service;      /* returns after the end of a job */
extern const struct master_service master_schedule_service;  /* results of peels' schedules */
extern const struct master_service master_files_service;     /* trees of files */
extern const struct master_service master_gitfs_service;     /* their git remotes */
extern const struct master_service master_audit_service;     /* acts that no master did */
extern const struct master_service master_rollout_service;   /* new versions of the daemons */
extern const struct master_service master_departure_service; /* machines that leave for good */
/* enrollments that nobody decides about */
extern const struct master_service master_enroll_expiry_service;
extern const struct master_service master_presence_service; /* events when peels come and go */
extern const struct master_service master_export_service;   /* events and results for others */
extern const struct master_service master_usage_service;    /* peels that write too much */

/* What services give to each other; NULL before their start. */
struct roster *master_roster(const struct master *master);
struct settings_cache *master_settings_cache(const struct master *master);

/* Told when the facts of a peel came, changed or went. */
struct roster_listener {
    void (*changed)(struct roster_listener *listener, struct str peel);
    struct roster_listener *next;
};
void master_roster_listen(struct master *master, struct roster_listener *listener);
void master_roster_forget(struct master *master, struct roster_listener *listener);

/* Told what peels write to the buckets that the roster watches. */
struct usage_meter;
void master_roster_set_meter(struct master *master, struct usage_meter *meter);

struct dispatcher *master_dispatcher(const struct master *master);

/* This master publishes the trees of the fleet, and there are no rules: reactions need not wait. */
void master_expect_no_rules(const struct master *master);

#endif
