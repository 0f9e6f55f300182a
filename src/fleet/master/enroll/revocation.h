/*
 * revocation - revokes credentials, and makes servers refuse them.
 *
 * The list contains all revoked enrollments and operator keys. It goes into the account claims,
 * which the operator's signing key signs, and through the system account to every server. Servers
 * keep it on disk, and close the connections of revoked keys. Operator keys are also published for
 * peels (fleet/master/enroll/revoked_board.h). It is pushed after a revocation, when the master
 * starts, when the system connection comes back, when a revoked key still connects, when the
 * servers get incomplete claims, and at intervals. A server that does not confirm is reported.
 *
 * The account's signing keys go with it (fleet/master/enroll/signing.h). A master reads the claims
 * of the servers before each push, and listens to the pushes of others, so that it does not remove
 * a new key that it has not seen yet.
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_REVOCATION_H
#define FLEET_MASTER_ENROLL_REVOCATION_H

#include "fleet/master/master.h"
#include "fleet/wire/enrollment.h"

struct operator_policy;
struct revocation;

#define REVOCATION_SYNC_DEFAULT_NS (INT64_C(300) * 1000000000)
#define REVOCATION_DEBOUNCE_NS     (INT64_C(2) * 1000000000)
/* An entry outlives its credentials by this: the clock of the server that checks their expiry may
 * be behind. */
#define REVOCATION_SLACK_SECONDS INT64_C(86400)

extern const struct master_service revocation_service;

/* `warning` is NULL when every server has confirmed. */
typedef void revocation_fn(void *self, const char *warning);

/* The record was revoked: remove the peel's data on the bus, and update the servers. `fn` is called
 * once, also when the master stops. */
void revocation_enforce(struct revocation *revocation, const struct enrollment *record,
                        revocation_fn *fn, void *self);
/* The same, but its data stays. */
void revocation_push(struct revocation *revocation, const struct enrollment *record,
                     revocation_fn *fn, void *self);
/* Push the operator's keys that are marked revoked. */
void revocation_push_operator(struct revocation *revocation, const struct operator_policy *policy,
                              revocation_fn *fn, void *self);

/* Is a key revoked whose JWT was issued then (seconds since 1970)? Decided from the records on the
 * bus, and the claims on this master's disk. */
bool revocation_has(const struct revocation *revocation, const char *key, int64_t issued);

#endif
