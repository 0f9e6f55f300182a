/* event.wait - an event of this machine when a watched state changed. */
#include "states/modules/event/sending.h"
#include "states/state/module.h"

/* Only a watch makes it run, and then apply is forced without a check. */
static int wait_check(struct state_run *run, const void *args, struct err *err)
{
    return run->forced ? sending_check(run, args, err) : 0;
}

const struct module module_event_wait = {
    .name = "event.wait",
    .summary = "send an event when a watched state changed, and only then",
    .details = "Otherwise as event.send.",
    .example = "name: deploy/done\n",
    .params = sending_params,
    .args_size = sizeof(struct sending_args),
    .flags = MODULE_NO_UNDO,
    .check = wait_check,
    .apply = sending_apply,
};
