/* settings.keys - the names of all top-level settings. */
#include "modules/settings/datapath.h"
#include "state/module.h"

const struct module module_settings_keys = {
    .name = "settings.keys",
    .summary = "the names of all top-level settings",
    .params = params_none,
    .call = datapath_call_setting_keys,
};
