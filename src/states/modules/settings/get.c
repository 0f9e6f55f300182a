/* settings.get - a setting by its path. */
#include "states/modules/settings/datapath.h"
#include "states/state/module.h"

const struct module module_settings_get = {
    .name = "settings.get",
    .summary = "a setting by its path",
    .params = datapath_params,
    .args_size = sizeof(struct datapath_args),
    .call = datapath_call_setting,
};
