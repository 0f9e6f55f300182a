/*
 * routine - the schedule and the beacons of an agent: what counts of all sources, and the functions
 * that show and change it (schedule.list, beacons.add, ...).
 *
 * A change by hand is checked as the configuration is, is on disk before it counts, and stays until
 * it is reverted, also when configuration and settings are read again.
 *
 *     routine_open -> { routine_read, routine_run }... -> routine_free
 *
 * Threads: the loop's.
 */
#ifndef FLEET_PEEL_ROUTINE_H
#define FLEET_PEEL_ROUTINE_H

#include <stdbool.h>

#include "core/data/value.h"

struct agenda;
struct arena;
struct lookout;
struct peel_conf;
struct routine;
struct snapshot;

struct routine_options {
    const struct peel_conf *conf;
    struct agenda *agenda;
    struct lookout *lookout;
    struct snapshot *(*settings)(void *self, const char **ret_why);
    void *self;
};

/* A file of changes that is damaged is logged and ignored; the next change replaces it. */
struct routine *routine_open(const struct routine_options *options);
/* NULL is fine. */
void routine_free(struct routine *routine);

/* The configuration or the settings have changed. */
void routine_read(struct routine *routine);

/* One call of a function. */
struct routine_call {
    const char *function, *id, *jid;
    struct value args; /* a map; null: none */
    bool test;         /* set on return: a dry run was asked for */
};
bool routine_has(const char *function);
/* Of a function that it has. Sets `ret_result` or, in the arena, `ret_error`, which is NULL else.
 */
void routine_run(struct routine *routine, struct arena *arena, struct routine_call *call,
                 struct value *ret_result, const char **ret_error);

#endif
