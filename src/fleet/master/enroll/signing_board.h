/*
 * signing_board - publishes the key that issues peel credentials (fleet/wire/signing_notice.h), so
 * that peels with credentials from another key renew them.
 *
 * It is written only when the published notice is invalid or older. A master without that key
 * publishes nothing.
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_SIGNING_BOARD_H
#define FLEET_MASTER_ENROLL_SIGNING_BOARD_H

struct master;

void signing_board_publish(struct master *master);

#endif
