/* settings.keys - the keys of a setting, or of all settings. */
#include "states/modules/settings/datapath.h"
#include "states/state/module.h"

const struct module module_settings_keys = {
    .name = "settings.keys",
    .summary = "the keys of a setting, or of all settings",
    .params = datapath_keys_params,
    .args_size = sizeof(struct datapath_keys_args),
    .call = datapath_call_setting_keys,
};
