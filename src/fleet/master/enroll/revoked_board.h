/*
 * revoked_board - publishes revoked operator keys (fleet/wire/revoked.h), for peels that require
 * signatures.
 *
 * A published entry signed by the account stays on the list until it expires, even when its record
 * is lost. The list is written only when it changes.
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_REVOKED_BOARD_H
#define FLEET_MASTER_ENROLL_REVOKED_BOARD_H

#include "fleet/master/master.h"

struct value;

/* `keys` maps public keys to the expiry of their credentials, in seconds; it is copied. */
void revoked_board_publish(struct master *master, const struct value *keys);

#endif
