/*
 * https - one request to an HTTPS server and its answer, for a thread that may block.
 *
 * TLS 1.3 only. Whom to trust is the caller's choice: the certificates of a text, those of the
 * system, or, for a first look, nobody: then what comes is worth nothing until it was checked by
 * other means. The name of the server is always checked unless nobody is trusted.
 *
 * Everything that comes is bounded. A stream of events (SSE) is handed over event by event.
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
    int64_t timeout;           /* nanoseconds for all of it; of a stream: without a byte */
    const struct cancel *cancel;
    /* An event of a stream; false ends it. NULL: the answer is not a stream. */
    bool (*event)(void *self, struct str name, struct str data);
    void *self;
};

struct https_response {
    int status;
    int retry_after; /* seconds; 0: not said */
    struct str body;
};

/* Fails when there is no answer: ERR_CANCELED, ERR_TIMEOUT, ERR_UNSAFE when the certificate is not
 * trusted (ERR_INVALID when one of `ca_pem` has issued it, for another name or time), ERR_SYSTEM or
 * ERR_INVALID otherwise. Any status is an answer. */
int https_call(struct arena *arena, const struct https_server *server,
               const struct https_request *request, struct https_response *ret_response,
               struct err *err);

#endif
