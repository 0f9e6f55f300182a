/*
 * beacon runner - the beacons of an agent: looks at the machine in time, events of what has
 * changed.
 *
 *     beacons:
 *       service:
 *         services: { nginx: {} }
 *         interval: 10s
 *
 * Where sections come from, and which counts: fleet/peel/schedule_entry.h. A section with a mistake
 * is refused whole, and the one before it stays; an unknown beacon is a warning. One that did not
 * change keeps what it knows when others do.
 *
 * Nothing is looked at while a job runs that may change the machine, so that what it does halfway
 * is not reported. Beacons look right before it, too, except those that have to run programs for it
 * (service): what changed before the job is not its work. A job waits for that a short time only,
 * and not at all while a look that another has waited for in vain is under way. The next look comes
 * right after it; what has changed then is marked with the job
 * (`job`, `function`, and the depth of its chain of reactions), or ignored where the section says
 * so.
 *
 * Events are published under the name of this machine, in order. While there is no connection the
 * newest BACKLOG_MAX wait in memory.
 *
 *     beacon_runner_new -> beacon_runner_read... beacon_runner_connect...
 *                       -> beacon_runner_stop -> beacon_runner_free
 *
 * Threads: the loop's; a worker looks.
 */
#ifndef FLEET_PEEL_BEACON_RUNNER_H
#define FLEET_PEEL_BEACON_RUNNER_H

#include <stdbool.h>
#include <stddef.h>

struct schedule_entries;
struct err;
struct exec_request;
struct beacon_runner;
struct loop;
struct nats_js;
struct snapshot;

/* A job waits no longer for the looks before it. */
#define BEACON_RUNNER_FIRST_MAX (INT64_C(500) * 1000000)

struct beacon_runner_options {
    struct loop *loop;
    const char *peel_id;
    bool (*is_connected)(void *self);
    /* Does something run that may change the machine? */
    bool (*is_acting)(void *self);
    /* Follows beacon_runner_look_first. */
    void (*looked)(void *self);
    /* An event of this beacon was stored, or is lost for good; for metrics. */
    void (*told)(void *self, const char *beacon, bool is_lost);
    /* The caller holds a reference. Their secrets are masked in events. */
    struct snapshot *(*settings)(void *self, const char **ret_why);
    void *self;
};

struct beacon_runner *beacon_runner_new(const struct beacon_runner_options *options,
                                        struct err *err);
/* NULL is fine. */
void beacon_runner_free(struct beacon_runner *beacon_runner);
/* Stop looking. */
void beacon_runner_stop(struct beacon_runner *beacon_runner);

/* The sections that count from now on. While they are switched off nothing is watched. Settings
 * that are not a map are logged, and the sections that count stay. */
void beacon_runner_read(struct beacon_runner *beacon_runner,
                        const struct schedule_entries *schedule_entries);
/* There is a connection, or NULL: none. */
void beacon_runner_connect(struct beacon_runner *beacon_runner, const struct nats_js *js);
/* A connection is there again: what waits may leave. */
void beacon_runner_resume(struct beacon_runner *beacon_runner);
/* A job that may change the machine is about to begin: have all beacons look whose looks are quick,
 * so that what others changed before it is not taken for its work. True: it may begin. False:
 * `looked` follows, within BEACON_RUNNER_FIRST_MAX. */
bool beacon_runner_look_first(struct beacon_runner *beacon_runner);
/* A job that may change the machine begins, and has ended. */
void beacon_runner_acts(struct beacon_runner *beacon_runner, const struct exec_request *request);
void beacon_runner_acted(struct beacon_runner *beacon_runner);

/* Events that wait for a connection. */
size_t beacon_runner_waiting(const struct beacon_runner *beacon_runner);

#endif
