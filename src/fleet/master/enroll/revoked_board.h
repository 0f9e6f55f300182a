/*
 * revoked_board - publishes which keys of operators no longer count (fleet/wire/revoked.h), for
 * peels that run only what is signed.
 *
 * What is published already, and signed by the account, stays on the list until it has expired,
 * also when the records that it came from are lost. It is written only when it changes.
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_REVOKED_BOARD_H
#define FLEET_MASTER_ENROLL_REVOKED_BOARD_H

#include "fleet/master/master.h"

struct value;

/* `keys` is a map of public keys to the second in which their credentials expire; it is copied. */
void revoked_board_publish(struct master *master, const struct value *keys);

#endif
