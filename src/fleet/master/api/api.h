/*
 * api - the fleet over HTTPS, for programs: jobs, enrollments, peels, events. docs/reference/api.md
 * is the manual for those who use it.
 *
 * It is served where machines enroll (fleet/master/enroll/enroll_server.h), and is there only while
 * at least one token is configured. Requests carry "Authorization: Bearer <token>"; an address that
 * sends wrong ones too often is refused without a look at what it sends.
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

/* Wrong tokens of one address. */
#define API_FAILURES_BURST      120
#define API_FAILURES_PER_MINUTE 1200

struct api {
    struct master *master;
    struct rate failures;
    struct nats_publisher *events; /* of operators; NULL: it is not open */
    struct nats_sub *policies;     /* changes of them; NULL: it is not open */
    size_t calls;                  /* under way */
    VEC(struct api_stream *) streams;
};

extern const struct master_service api_service;

/* Every request for a path that has nothing to do with enrollments. */
void api_handle(void *self, struct http_request *request);

#endif
