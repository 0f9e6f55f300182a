/*
 * error - why an operation on a connection failed.
 *
 * Immediate failures return a struct err. Later failures call back with a struct nats_error:
 * `fault` is for the caller to act on, `code` is JetStream's err_code or the status of a header,
 * `text` is one line for people.
 */
#ifndef FLEET_NATS_ERROR_H
#define FLEET_NATS_ERROR_H

#include <stdarg.h>

#include "core/base/mem.h"

struct err;

enum nats_fault {
    NATS_FAULT_CANCELED,      /* the caller ended the connection or the operation */
    NATS_FAULT_DISCONNECTED,  /* connection lost before the answer; may have succeeded */
    NATS_FAULT_TIMEOUT,       /* no answer in time; may have succeeded */
    NATS_FAULT_NETWORK,       /* no server reachable, or not by TLS */
    NATS_FAULT_AUTH,          /* the server rejects this user */
    NATS_FAULT_DENIED,        /* the user may not publish or subscribe there */
    NATS_FAULT_NO_RESPONDERS, /* no subscriber on the subject */
    NATS_FAULT_NOT_FOUND,     /* stream, consumer, message, key or object */
    NATS_FAULT_CONFLICT,      /* another writer was faster: the expected revision is not the last */
    NATS_FAULT_REFUSED,       /* refused by the server; see code and text */
    NATS_FAULT_DIFFERS,       /* the result differs from the request */
    NATS_FAULT_PROTOCOL,      /* malformed message */
    NATS_FAULT_SLOW,          /* output buffer full */
};

#define NATS_ERROR_TEXT_SIZE 512

struct nats_error {
    enum nats_fault fault;
    int code; /* 0: none */
    char text[NATS_ERROR_TEXT_SIZE];
};

void nats_error_set(struct nats_error *error, enum nats_fault fault, int code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Puts `words: ` in front of the text. */
void nats_error_wrap(struct nats_error *error, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Converts to a struct err. Returns -1. */
int nats_error_to_err(const struct nats_error *error, struct err *err);

#endif
