/*
 * restore_settle - what was under way when a backup was made, and must not happen again.
 *
 * The machines of a fleet lived on after its backup: they ran the jobs that were under way, and the
 * reactions that were due. So after the streams are restored, and before masters may start:
 *
 *     events     that the reactor had not acknowledged are acknowledged: no rule sees them again
 *     jobs       that had not ended are ended as failed, with the reason; a late return of a
 *                machine still corrects the record
 *     trees      are signed again: machines accept no signature older than the last they saw
 *
 * Each step can be repeated. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_BACKUP_RESTORE_SETTLE_H
#define COMMANDS_CLI_FLEET_BACKUP_RESTORE_SETTLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/data/value.h"

struct err;
struct fleet;

struct restore_settle_want {
    struct fleet *fleet;
    const char *auth_dir;
    struct value_time made;              /* the backup */
    uint64_t last_event, last_exhausted; /* sequences of the backup; later ones are new */
};

struct restore_settled {
    size_t events, jobs, trees;
};

int restore_settle(const struct restore_settle_want *want, struct restore_settled *ret,
                   struct err *err);

#endif
