/*
 * error - why an operation on a connection came to nothing.
 *
 * What fails at once fails with a struct err. What fails later calls back with one of these:
 * `fault` is what a caller acts on, `code` the number that JetStream gave (its err_code) or the
 * status of a header, `text` one line for people.
 */
#ifndef FLEET_NATS_ERROR_H
#define FLEET_NATS_ERROR_H

#include <stdarg.h>

#include "core/base/mem.h"

struct err;

enum nats_fault {
    NATS_FAULT_CANCELED,      /* the connection or the operation was ended by its user */
    NATS_FAULT_DISCONNECTED,  /* the connection was lost before the answer; it may have been done */
    NATS_FAULT_TIMEOUT,       /* no answer in time; it may have been done */
    NATS_FAULT_NETWORK,       /* no server could be reached, or not by TLS */
    NATS_FAULT_AUTH,          /* the server does not let this user in, or no longer */
    NATS_FAULT_DENIED,        /* the user may not publish or subscribe there */
    NATS_FAULT_NO_RESPONDERS, /* nobody listens on the subject */
    NATS_FAULT_NOT_FOUND,     /* stream, consumer, message, key or object */
    NATS_FAULT_CONFLICT,      /* somebody else was faster: the expected revision is not the last */
    NATS_FAULT_REFUSED,       /* the server said no; code and text say why */
    NATS_FAULT_DIFFERS,       /* the server made something else than was asked for */
    NATS_FAULT_PROTOCOL,      /* what came makes no sense */
    NATS_FAULT_SLOW,          /* too much waits to be sent */
};

#define NATS_ERROR_TEXT_SIZE 512

struct nats_error {
    enum nats_fault fault;
    int code; /* 0: none */
    char text[NATS_ERROR_TEXT_SIZE];
};

void nats_error_set(struct nats_error *error, enum nats_fault fault, int code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* The same words with `words: ` in front. */
void nats_error_wrap(struct nats_error *error, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* As a struct err, for callers that have no use for more. Returns -1. */
int nats_error_to_err(const struct nats_error *error, struct err *err);

#endif
