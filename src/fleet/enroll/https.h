/*
 * https - one HTTPS request and its answer, for a thread that may block.
 *
 * TLS 1.3 only. The caller chooses the trust: given certificates, those of the system, or none, for
 * a first contact whose answer must be verified by other means. Except for none, the server's name
 * is always checked.
 *
 * All input is bounded. A stream of events (SSE) is handed over event by event.
 *
 * Memory: the arena. Threads: any; a pool worker is marked as blocked meanwhile.
 */
#ifndef FLEET_ENROLL_HTTPS_H
#define FLEET_ENROLL_HTTPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct cancel;
struct err;

#define HTTPS_PORT "8443"

enum https_trust {
    HTTPS_TRUST_TEXT,   /* ca_pem */
    HTTPS_TRUST_SYSTEM, /* certificates of the system */
    HTTPS_TRUST_NOBODY,
};

struct https_server {
    const char *url; /* "https://host:port"; without a port 8443 */
    enum https_trust trust;
    struct str ca_pem;
};

struct https_request {
    const char *method, *path; /* the path begins with a slash */
    struct str body;           /* JSON; may be empty */
    const char *authorization; /* or NULL */
    const char *token;         /* TOKEN_HEADER of fleet/enroll/token.h; or NULL */
    size_t size_max;           /* of the answer */
    int64_t timeout;           /* nanoseconds in total; for a stream: between bytes */
    const struct cancel *cancel;
    /* An event of a stream; false ends it. NULL: the answer is not a stream. */
    bool (*event)(void *self, struct str name, struct str data);
    void *self;
};

struct https_response {
    int status;
    int retry_after; /* seconds; 0: not given */
    struct str body;
};

/* Fails without an answer: ERR_CANCELED, ERR_TIMEOUT, ERR_UNSAFE for an untrusted certificate
 * (ERR_INVALID if `ca_pem` issued it, for another name or time), else ERR_SYSTEM or ERR_INVALID.
 * Any status is an answer. */
int https_call(struct arena *arena, const struct https_server *server,
               const struct https_request *request, struct https_response *ret_response,
               struct err *err);

#endif
