/*
 * master - one process that directs peels: a loop, a connection to the bus, and services on it.
 *
 *     master_init -> master_run -> master_done
 *
 * A service is a row of a table. What it needs from files and sockets it opens at once, and a
 * failure there ends the process. It starts when the bus is connected and all streams and buckets
 * are there; until then the process stays up, is alive for probes and not ready. A start that fails
 * is tried again. Services start in the order of the table and stop in the opposite one.
 *
 * The bus is looked at every few seconds (fleet/master/bus_probe.h). One that does not store what
 * is written makes the process not ready. One that has lost what it had ends it: it has to start
 * again from nothing, as `master_starts_again` says, since all that it knows is about another bus.
 *
 * Stopping: `stop` ends what a service does; what it publishes then (a lease that it gives up)
 * still leaves, and master_hold keeps the process until master_release, within
 * MASTER_STOP_NS in all. Then the connection goes, with which all that is under way calls back as
 * canceled, and `free` is the last call.
 *
 * SIGHUP reads the configuration again. A bad file changes nothing and is reported. Values of
 * `conf` are good until the next reload: who needs them longer copies them.
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_MASTER_H
#define FLEET_MASTER_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/ksuid.h"
#include "core/base/sha256.h"
#include "core/http/health.h"
#include "core/http/metrics.h"
#include "fleet/master/bus_probe.h"
#include "fleet/master/conf.h"
#include "fleet/master/metric.h"
#include "fleet/master/jobs/workroom.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/js.h"
#include "core/sys/timers.h"

struct err;
struct link;
struct loop;
struct master;
struct nats_hub;

#define MASTER_ID_PREFIX "master-"
#define MASTER_RETRY_NS  (INT64_C(5) * 1000000000)
#define MASTER_STOP_NS   (INT64_C(5) * 1000000000)

struct master_service {
    const char *name; /* of its check in /readyz; NULL ends a table */
    /* Returns the service itself, or NULL and an error that ends the process. */
    void *(*open)(struct master *master, struct err *err);
    int (*start)(void *self, struct err *err);
    void (*stop)(void *self);   /* only after a start; may be NULL */
    void (*free)(void *self);   /* may be NULL */
    void (*reload)(void *self); /* there is a new `conf`; may be NULL */
    /* How is it, once it was started? NULL: well. Returns the status, and words in `message`. */
    enum health_status (*check)(void *self, char message[static HEALTH_TEXT_MAX]);
};

/* A service in this process. */
struct master_running {
    const struct master_service *service;
    void *self;
    bool is_started;
    char problem[HEALTH_TEXT_MAX]; /* why it is not */
};

#define MASTER_SERVICES_MAX 32

struct master {
    char id[sizeof(MASTER_ID_PREFIX) + KSUID_SIZE];
    struct loop *loop;
    struct nats_hub *hub;
    struct link *link;
    struct nats_js js;
    unsigned char id_secret[SHA256_SIZE]; /* all masters of the fleet have the same */
    struct metrics *metrics;
    struct nats_publisher *events; /* for fleet/master/announce.h */
    struct master_conf conf;
    struct workroom workroom;

    /* for master.c */
    struct arena line_arena; /* the command line, and the first configuration */
    struct arena conf_arena; /* the current one, after a reload */
    struct daemon_line line;
    struct master_running services[MASTER_SERVICES_MAX];
    size_t service_count;
    struct health_server *health;
    struct nats_listener listener;
    struct timer retry, deadline;
    char problem[HEALTH_TEXT_MAX]; /* why the bus is not connected, or not prepared */
    struct bus_probe probe;
    char refusal[HEALTH_TEXT_MAX]; /* why the bus does not store; "": it does */
    bool was_connected, is_ensuring, is_prepared, is_ready, is_stopping, is_starting_again;
    unsigned holds;
};

/* Read the command line and the configuration. False: end with `ret_status`, all is said;
 * master_done is due all the same. */
bool master_init(struct master *master, int argc, char *const *argv, int *ret_status);
/* Until SIGTERM or SIGINT. Returns the exit status. */
int master_run(struct master *master, const struct master_service *const *services);
void master_done(struct master *master);
/* After master_run: run the program once more, with the same arguments. */
bool master_starts_again(const struct master *master);

/* The service in this process, which may not be started yet; it must be in the table. */
void *master_find(const struct master *master, const struct master_service *service);

/* While it stops: wait for something that is under way. */
void master_hold(struct master *master);
void master_release(struct master *master);

#endif
