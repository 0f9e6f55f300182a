/*
 * presented - the certificate that a server presents, whether or not it can be trusted.
 *
 *     presented_fetch(fd, PRESENTED_NATS, "nats.example", timeout, &certificate, err);
 *
 * For diagnosis alone: nothing is sent over the connection but the handshake, and what the
 * certificate says is believed by nobody.
 *
 * Memory: certificate_done. Threads: any; it blocks.
 */
#ifndef FLEET_ENROLL_PRESENTED_H
#define FLEET_ENROLL_PRESENTED_H

#include <stdint.h>

#include "fleet/enroll/certificate.h"

enum presented_protocol {
    PRESENTED_HTTPS,
    PRESENTED_NATS, /* greets in plain text before TLS begins */
};

/* `fd` is a non-blocking socket that is connected or about to be, and stays the caller's; `name` is
 * the host that is asked for. Fails with ERR_SYSTEM when it cannot be reached; else with
 * ERR_TIMEOUT after `timeout` nanoseconds, however slowly the server talks, and with ERR_LIMIT or
 * ERR_INVALID when it does not speak the protocol. */
int presented_fetch(int fd, enum presented_protocol protocol, const char *name, int64_t timeout,
                    struct certificate *ret_certificate, struct err *err);

#endif
