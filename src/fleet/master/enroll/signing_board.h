/*
 * signing_board - publishes which key issues the credentials of peels
 * (fleet/wire/signing_notice.h), so that peels with those of another key ask for new ones.
 *
 * It is written only when what is there is not that, or older. A master that cannot issue with that
 * key publishes nothing.
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_SIGNING_BOARD_H
#define FLEET_MASTER_ENROLL_SIGNING_BOARD_H

struct master;

void signing_board_publish(struct master *master);

#endif
