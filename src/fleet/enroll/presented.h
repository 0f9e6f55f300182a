/*
 * presented - the certificate that a server presents, trusted or not.
 *
 *     presented_fetch(fd, PRESENTED_NATS, "nats.example", timeout, &certificate, err);
 *
 * For diagnosis only: nothing but the handshake is sent, and the certificate is not verified.
 *
 * Memory: certificate_done. Threads: any; it blocks.
 */
#ifndef FLEET_ENROLL_PRESENTED_H
#define FLEET_ENROLL_PRESENTED_H

#include <stdint.h>

#include "fleet/enroll/certificate.h"

enum presented_protocol {
    PRESENTED_HTTPS,
    PRESENTED_NATS, /* sends a plain-text greeting before TLS */
};

/* `fd` is a non-blocking socket that is connected or connecting, and stays the caller's; `name` is
 * the requested host. Fails with ERR_SYSTEM if the host is unreachable, ERR_TIMEOUT after `timeout`
 * nanoseconds in total, and ERR_LIMIT or ERR_INVALID for another protocol. */
int presented_fetch(int fd, enum presented_protocol protocol, const char *name, int64_t timeout,
                    struct certificate *ret_certificate, struct err *err);

#endif
