/*
 * beacon runner - runs the beacons of an agent: checks the machine at intervals and sends events
 * about changes.
 *
 *     beacons:
 *       service:
 *         services: { nginx: {} }
 *         interval: 10s
 *
 * For the sources of sections and their order see fleet/peel/schedule_entry.h. A section with a
 * mistake is refused, and the previous one stays; an unknown beacon is a warning. A beacon whose
 * section did not change keeps its state.
 *
 * Beacons pause while a job runs that may change the machine, so intermediate states are not
 * reported. They also check right before it, except those that must run programs (service), so
 * earlier changes are not attributed to the job. A job waits for that only a short time, and not at
 * all if an earlier check has already timed out and is still running. The next check comes right
 * after the job; its changes are marked with the job (`job`, `function`, and the depth of its chain
 * of reactions), or ignored if the section says so.
 *
 * Events are published under the name of this machine, in order. While there is no connection the
 * newest BACKLOG_MAX wait in memory.
 *
 *     beacon_runner_new -> beacon_runner_read... beacon_runner_connect...
 *                       -> beacon_runner_stop -> beacon_runner_free
 *
 * Threads: the loop's; a worker runs the checks.
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

/* Maximum wait of a job for the checks before it. */
#define BEACON_RUNNER_FIRST_MAX (INT64_C(500) * 1000000)

struct beacon_runner_options {
    struct loop *loop;
    const char *peel_id;
    bool (*is_connected)(void *self);
    /* Is a job running that may change the machine? */
    bool (*is_acting)(void *self);
    /* Follows beacon_runner_look_first. */
    void (*looked)(void *self);
    /* An event of this beacon was stored, or lost; for metrics. */
    void (*told)(void *self, const char *beacon, bool is_lost);
    /* The caller holds a reference. Their secrets are masked in events. */
    struct snapshot *(*settings)(void *self, const char **ret_why);
    void *self;
};

struct beacon_runner *beacon_runner_new(const struct beacon_runner_options *options,
                                        struct err *err);
/* NULL is fine. */
void beacon_runner_free(struct beacon_runner *beacon_runner);
/* Stops all checks. */
void beacon_runner_stop(struct beacon_runner *beacon_runner);

/* Applies new sections. Nothing is watched while they are switched off. Settings that are not a map
 * are logged and ignored. */
void beacon_runner_read(struct beacon_runner *beacon_runner,
                        const struct schedule_entries *schedule_entries);
/* There is a connection, or NULL: none. */
void beacon_runner_connect(struct beacon_runner *beacon_runner, const struct nats_js *js);
/* Connected again: sends waiting events. */
void beacon_runner_resume(struct beacon_runner *beacon_runner);
/* A job that may change the machine is about to begin: runs all quick checks, so that earlier
 * changes are not attributed to it. True: it may begin. False: `looked` follows, within
 * BEACON_RUNNER_FIRST_MAX. */
bool beacon_runner_look_first(struct beacon_runner *beacon_runner);
/* A job that may change the machine begins, and has ended. */
void beacon_runner_acts(struct beacon_runner *beacon_runner, const struct exec_request *request);
void beacon_runner_acted(struct beacon_runner *beacon_runner);

/* Events that wait for a connection. */
size_t beacon_runner_waiting(const struct beacon_runner *beacon_runner);

#endif
