/* cmd.wait - runs a command when a watched state changed. */
#include "states/modules/cmd/waiting.h"
#include "states/state/module.h"

const struct module module_cmd_wait = {
    .name = "cmd.wait",
    .summary = "run a command when a watched state changed, and only then",
    WAITING_FIELDS,
};
