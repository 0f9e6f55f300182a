/* cmd.watch - another name of cmd.wait. */
#include "states/modules/cmd/waiting.h"
#include "states/state/module.h"

const struct module module_cmd_watch = {
    .name = "cmd.watch",
    .summary = "run a command when a watched state changed: another name of cmd.wait",
    WAITING_FIELDS,
};
