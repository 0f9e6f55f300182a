/*
 * fleet_audit - tells a master what a command did to the fleet by itself.
 */
#ifndef CLI_FLEET_AUDIT_H
#define CLI_FLEET_AUDIT_H

#include "wire/audit_notice.h"

struct cli;
struct err;
struct fleet;

/* `failure` NULL: it was done. Warns on stderr when no master has it in its log. */
void fleet_audit(struct cli *cli, struct fleet *fleet, enum audit_act act, const char *id,
                 const struct err *failure);

#endif
