/* event.send - an event of this machine, as a state or as a function. */
#include "states/modules/event/sending.h"
#include "states/state/module.h"

const struct module module_event_send = {
    .name = "event.send",
    .summary = "send an event of this machine",
    .details = "The event is sent on every run, unless requisites such as `onchanges` say "
               "otherwise. It is "
               "on disk when the state has ended, and stays there until the bus has it:\n"
               "\n"
               "    deploy/done:\n"
               "      event.send:\n"
               "        - data: {version: 1.2.3}\n"
               "        - onchanges: [git: app]\n"
               "\n"
               "Secrets in its data are masked. Without a fleet, as in `zester --local`, the state "
               "fails.\n",
    .example = "name: deploy/done\ndata: {version: 1.2.3}\n",
    .params = sending_params,
    .args_size = sizeof(struct sending_args),
    .flags = MODULE_ALWAYS | MODULE_NO_UNDO | MODULE_ACTS,
    .check = sending_check,
    .apply = sending_apply,
    .call = sending_call,
};
