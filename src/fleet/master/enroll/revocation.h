/*
 * revocation - revokes credentials: servers learn whom they must no longer let in.
 *
 * The list is built from all revoked enrollments and keys of operators, goes into the account's
 * claims, which the operator's signing key signs, and from there to every server through the system
 * account. Servers keep it on disk, and cut connections that it names. Keys of operators are also
 * published for peels (fleet/master/enroll/revoked_board.h). It is pushed when somebody
 * is revoked, when the master starts, when the system connection comes back, when a revoked key
 * connects all the same, when somebody gives the servers claims that lack something, and from time
 * to time. A server of the cluster that does not confirm is reported.
 *
 * The account's signing keys go with it (fleet/master/enroll/signing.h): what servers have is
 * looked at before each push, and what others give them is listened to, so that a master that has
 * not heard of a new key does not take it away again.
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
/* An entry outlives the credentials that it is about by this: the server whose clock decides
 * whether they have expired may be behind. */
#define REVOCATION_SLACK_SECONDS INT64_C(86400)

extern const struct master_service revocation_service;

/* `warning` is NULL when every server has confirmed. */
typedef void revocation_fn(void *self, const char *warning);

/* The record was revoked: remove what the peel keeps on the bus, and tell the servers. `fn` is
 * called once, also when the master stops. */
void revocation_enforce(struct revocation *revocation, const struct enrollment *record,
                        revocation_fn *fn, void *self);
/* The same, and its data stays. */
void revocation_push(struct revocation *revocation, const struct enrollment *record,
                     revocation_fn *fn, void *self);
/* The keys of an operator that are marked so. */
void revocation_push_operator(struct revocation *revocation, const struct operator_policy *policy,
                              revocation_fn *fn, void *self);

/* Was a key revoked whose JWT was issued then (seconds since 1970)? As far as this master knows:
 * from the records on the bus, and from the claims on its own disk. */
bool revocation_has(const struct revocation *revocation, const char *key, int64_t issued);

#endif
