/*
 * enroll_server - the HTTPS endpoint: machines enroll here, wait for a decision, and fetch their
 * credentials. The rules are in fleet/enroll/admission.h; the calls:
 *
 *     GET  /api/v1/enroll/nonce?peel_id=&public_key=
 *     POST /api/v1/enroll
 *     GET  /api/v1/enroll/{id}/status
 *     GET  /api/v1/enroll/{id}/stream     events: state at each change, timeout after half an hour
 *     GET  /api/v1/enroll/{id}/creds
 *     GET  /api/v1/enroll/ca              the bootstrap document
 *
 * It listens from the start, and answers 503 until the bus is connected.
 */
#ifndef FLEET_MASTER_ENROLL_ENROLL_SERVER_H
#define FLEET_MASTER_ENROLL_ENROLL_SERVER_H

#include "fleet/master/master.h"

/* Limits requests for the bootstrap document, per address. */
#define ENROLL_RELAXED_BURST      120
#define ENROLL_RELAXED_PER_MINUTE 1200
#define ENROLL_STREAM_BEAT_NS     (INT64_C(30) * 1000000000)
#define ENROLL_STREAM_TIMEOUT_NS  (INT64_C(1800) * 1000000000)
#define ENROLL_STREAMS_MAX        4096
#define ENROLL_CONNECTIONS_MAX    8192

extern const struct master_service enroll_server_service;

#endif
