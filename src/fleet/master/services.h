/*
 * services - the services of a master (fleet/master/master.h); zester-master lists them.
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
extern const struct master_service master_late_service;      /* late returns */
extern const struct master_service master_schedule_service;  /* results of peels' schedules */
extern const struct master_service master_files_service;     /* trees of files */
extern const struct master_service master_gitfs_service;     /* their git remotes */
extern const struct master_service master_audit_service;     /* audit of acts outside masters */
extern const struct master_service master_rollout_service;   /* new versions of the daemons */
extern const struct master_service master_departure_service; /* deletion of peels */
/* expiry of undecided enrollments */
extern const struct master_service master_enroll_expiry_service;
extern const struct master_service master_presence_service; /* events when peels come and go */
extern const struct master_service master_export_service;   /* export of events and results */
extern const struct master_service master_usage_service;    /* peels that write too much */

extern const struct master_service
    master_peel_trees_service; /* peels that cannot use what is published */

/* Objects that services share; NULL before their start. */
struct roster *master_roster(const struct master *master);
struct settings_cache *master_settings_cache(const struct master *master);

/* Called when facts of a peel are added, changed or removed. */
struct roster_listener {
    void (*changed)(struct roster_listener *listener, struct str peel);
    struct roster_listener *next;
};
void master_roster_listen(struct master *master, struct roster_listener *listener);
void master_roster_forget(struct master *master, struct roster_listener *listener);

/* Counts the writes of peels to the buckets of the roster. */
struct usage_meter;
void master_roster_set_meter(struct master *master, struct usage_meter *meter);

struct dispatcher *master_dispatcher(const struct master *master);

/* This master publishes the trees, and has no rules: reactions need not wait. */
void master_expect_no_rules(const struct master *master);

#endif
