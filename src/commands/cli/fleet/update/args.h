/*
 * update_args - the options of 'zester update', and what its commands share.
 */
#ifndef COMMANDS_CLI_FLEET_UPDATE_ARGS_H
#define COMMANDS_CLI_FLEET_UPDATE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/link.h"
#include "fleet/wire/update.h"

struct err;
struct fleet;

struct update_args {
    struct fleet_options fleet;
    enum update_component component;
    const char *key, *arch, *batch, *id;
    int64_t ttl, soak, pause, max_failed, min_protocol;
    bool dry_run, wait;
};

struct update_rollouts {
    VEC(struct update_rollout) list; /* the newest first */
};
int update_rollouts_read(struct fleet *fleet, struct update_rollouts *ret, struct err *err);

/* Commands that are in src/commands/cli/fleet/update/rollouts.c. */
int update_run_rollout(struct cli *cli, const void *args, struct param_strs operands);
int update_run_rollouts(struct cli *cli, const void *args, struct param_strs operands);
int update_run_status(struct cli *cli, const void *args, struct param_strs operands);
int update_run_abort(struct cli *cli, const void *args, struct param_strs operands);
int update_run_rollback(struct cli *cli, const void *args, struct param_strs operands);

/* In src/commands/cli/fleet/update/auto.c. */
int update_run_auto(struct cli *cli, const void *args, struct param_strs operands);

#endif
