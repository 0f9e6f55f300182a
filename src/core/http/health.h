/*
 * health - /healthz, /readyz and /metrics of a daemon, from its checks and metrics.
 *
 *     health = health_new(&(struct health_options){ .loop = loop, .address = "127.0.0.1:9091",
 *                         .component = "master", .version = VERSION, .checks = print_checks,
 *                         .metrics = metrics, .self = self }, err);
 *
 * /healthz always answers 200. /readyz is 503 when a check is down; degraded is still ready.
 *
 * Where the address is in use, the daemon goes on without, and tries again from time to time.
 *
 * Memory: health_free; texts are borrowed. Threads: the loop's.
 */
#ifndef CORE_HTTP_HEALTH_H
#define CORE_HTTP_HEALTH_H

#include <stdint.h>

struct err;
struct health_server;
struct loop;
struct metrics;

enum health_status { HEALTH_OK, HEALTH_DEGRADED, HEALTH_DOWN };
#define HEALTH_STATUSES (HEALTH_DOWN + 1)

#define HEALTH_TEXT_MAX 1024

/* The report of a daemon, one check after the other. */
struct health_report;
/* `message` may be NULL; the text is copied. */
void health_report_add(struct health_report *report, const char *name, enum health_status status,
                       const char *message);

struct health_options {
    struct loop *loop;
    const char *address;
    const char *component, *version;
    /* Reports the checks with health_report_add. */
    void (*checks)(void *self, struct health_report *report);
    /* Called before metrics are printed, to set those that are not counted as they happen; may be
     * NULL. */
    void (*measure)(void *self, struct metrics *metrics);
    /* The address is in use: `why` it cannot be listened on yet. */
    void (*refused)(void *self, const char *why);
    struct metrics *metrics;
    void *self;
};

struct health_server *health_new(const struct health_options *options, struct err *err);
/* NULL is fine. */
void health_free(struct health_server *health);
/* 0: the address is in use. */
uint16_t health_port(const struct health_server *health);

#endif
