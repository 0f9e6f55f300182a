/*
 * api - the fleet over HTTPS, for programs: jobs, enrollments, peels, events. docs/reference/api.md
 * is its manual.
 *
 * It shares the server of enrollments (fleet/master/enroll/enroll_server.h), and is enabled only
 * while at least one token is configured. Requests carry "Authorization: Bearer <token>"; an
 * address that sends too many wrong ones is refused before they are compared.
 *
 *     table of calls       routes.c        who may do what    access.h
 *     one call             call.h          streams            stream.h
 *     tokens               token.h         who asks           asker.h
 *     manual, OpenAPI      manual.h
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_API_API_H
#define FLEET_MASTER_API_API_H

#include "core/base/rate.h"
#include "core/base/vec.h"
#include "fleet/master/master.h"

struct api_stream;
struct http_request;
struct nats_sub;

/* Limits wrong tokens per address. */
#define API_FAILURES_BURST      120
#define API_FAILURES_PER_MINUTE 1200

struct api {
    struct master *master;
    struct rate failures;
    struct nats_publisher *events; /* sent by operators; NULL: not open */
    struct nats_sub *policies;     /* policy changes; NULL: not open */
    size_t calls;                  /* under way */
    VEC(struct api_stream *) streams;
};

extern const struct master_service api_service;

/* Handles all paths outside enrollment. */
void api_handle(void *self, struct http_request *request);

#endif
