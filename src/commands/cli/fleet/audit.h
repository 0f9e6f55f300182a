/*
 * fleet_audit - reports to a master what a command changed in the fleet without one.
 */
#ifndef COMMANDS_CLI_FLEET_AUDIT_H
#define COMMANDS_CLI_FLEET_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "fleet/wire/audit_notice.h"

struct cli;
struct fleet;

/* `failure` NULL: it was done. Warns on stderr when no master has it in its log. */
void fleet_audit(struct cli *cli, struct fleet *fleet, enum audit_act act, const char *id,
                 const struct err *failure);

/* The same without waiting: a notice that is on its way. It lives as long as the fleet. */
struct fleet_notice {
    bool is_done;
    struct err problem; /* why no master has it; no text: one has */
};
void fleet_notice_send(struct cli *cli, struct fleet *fleet, const struct audit_notice *notice,
                       int64_t timeout, struct fleet_notice *ret_sent);
/* Wait until all have ended; the first problem is a warning on stderr. */
void fleet_notices_wait(struct fleet *fleet, struct fleet_notice *sent, size_t count);

#endif
