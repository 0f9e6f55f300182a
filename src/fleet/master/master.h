/*
 * master - one process that directs peels: a loop, a connection to the bus, and services on it.
 *
 *     master_init -> master_run -> master_done
 *
 * A service is a row of a table. It opens files and sockets at once, and a failure there ends the
 * process. It starts when the bus is connected and all streams and buckets exist; until then the
 * process is alive for probes, but not ready. A failed start is tried again. Services start in
 * table order and stop in reverse order.
 *
 * The bus is probed every few seconds (fleet/master/bus_probe.h). While it does not store writes,
 * the process is not ready. A bus that has lost data ends the process: it restarts from nothing, as
 * `master_starts_again` says, since all its knowledge is outdated.
 *
 * Stopping: `stop` ends the work of a service; its last messages (such as a released lease) are
 * still sent, and master_hold keeps the process until master_release, for MASTER_STOP_NS in all.
 * Then the connection closes, all pending requests call back as canceled, and `free` is the last
 * call.
 *
 * SIGHUP reads the configuration again. A bad file is reported and changes nothing. Values of
 * `conf` are valid until the next reload: copy them to keep them.
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
#include "fleet/master/tree_board.h"
#include "fleet/master/jobs/workroom.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/js.h"
#include "core/sys/notify.h"
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
    const char *name; /* name of its check in /readyz; NULL ends a table */
    /* Returns the service itself, or NULL and an error that ends the process. */
    void *(*open)(struct master *master, struct err *err);
    int (*start)(void *self, struct err *err);
    void (*stop)(void *self);   /* only after a start; may be NULL */
    void (*free)(void *self);   /* may be NULL */
    void (*reload)(void *self); /* `conf` has changed; may be NULL */
    /* Health of a started service, with a text in `message`. NULL: always healthy. */
    enum health_status (*check)(void *self, char message[static HEALTH_TEXT_MAX]);
};

/* A service in this process. */
struct master_running {
    const struct master_service *service;
    void *self;
    bool is_started;
    char problem[HEALTH_TEXT_MAX]; /* why it is not started */
};

#define MASTER_SERVICES_MAX 32

struct master {
    char id[sizeof(MASTER_ID_PREFIX) + KSUID_SIZE];
    struct loop *loop;
    struct nats_hub *hub;
    struct link *link;
    struct nats_js js;
    unsigned char id_secret[SHA256_SIZE]; /* shared by all masters of the fleet */
    struct metrics *metrics;
    struct nats_publisher *events; /* for fleet/master/announce.h */
    struct master_conf conf;
    struct workroom workroom;
    struct tree_board trees;

    /* for master.c */
    struct arena line_arena; /* the command line, and the first configuration */
    struct arena conf_arena; /* the current one, after a reload */
    struct daemon_line line;
    struct master_running services[MASTER_SERVICES_MAX];
    size_t service_count;
    struct health_server *health;
    struct notify notify;
    struct nats_listener listener;
    struct timer retry, deadline;
    char problem[HEALTH_TEXT_MAX]; /* why the bus is not connected or not set up */
    struct bus_probe probe;
    char refusal[HEALTH_TEXT_MAX]; /* why the bus does not store data; "": it does */
    bool was_connected, is_ensuring, is_prepared, is_ready, is_stopping, is_starting_again;
    unsigned holds;
};

/* Read the command line and the configuration. False: exit with `ret_status`, everything is
 * reported; call master_done all the same. */
bool master_init(struct master *master, int argc, char *const *argv, int *ret_status);
/* Run until SIGTERM or SIGINT. Returns the exit status. */
int master_run(struct master *master, const struct master_service *const *services);
void master_done(struct master *master);
/* After master_run: must the program be run again, with the same arguments? */
bool master_starts_again(const struct master *master);

/* Find a service of the table; it may not be started yet. */
void *master_find(const struct master *master, const struct master_service *service);

/* While stopping: wait for pending work. */
void master_hold(struct master *master);
void master_release(struct master *master);

#endif
