/*
 * schedule admin - the schedule and the beacons of an agent, merged from all sources, and the
 * functions that show and change them (schedule.list, beacons.add, ...).
 *
 * A manual change is checked like the configuration, is on disk before it takes effect, and stays
 * until it is reverted, even when configuration and settings are read again.
 *
 *     schedule_admin_open -> { schedule_admin_read, schedule_admin_run }... -> schedule_admin_free
 *
 * Threads: the loop's.
 */
#ifndef FLEET_PEEL_SCHEDULE_ADMIN_H
#define FLEET_PEEL_SCHEDULE_ADMIN_H

#include <stdbool.h>

#include "core/data/value.h"

struct scheduler;
struct arena;
struct beacon_runner;
struct peel_conf;
struct schedule_admin;
struct snapshot;

struct schedule_admin_options {
    const struct peel_conf *conf;
    struct scheduler *scheduler;
    struct beacon_runner *beacon_runner;
    struct snapshot *(*settings)(void *self, const char **ret_why);
    void *self;
};

/* A file of changes that is damaged is logged and ignored; the next change replaces it. */
struct schedule_admin *schedule_admin_open(const struct schedule_admin_options *options);
/* NULL is fine. */
void schedule_admin_free(struct schedule_admin *schedule_admin);

/* The configuration or the settings have changed. */
void schedule_admin_read(struct schedule_admin *schedule_admin);

/* One call of a function. */
struct schedule_admin_call {
    const char *function, *id, *jid;
    struct value args; /* a map; null: none */
    bool test;         /* set on return: it was a dry run */
};
bool schedule_admin_has(const char *function);
/* Runs one of its functions. Sets `ret_result` or, in the arena, `ret_error`, which is NULL
 * otherwise. */
void schedule_admin_run(struct schedule_admin *schedule_admin, struct arena *arena,
                        struct schedule_admin_call *call, struct value *ret_result,
                        const char **ret_error);

#endif
