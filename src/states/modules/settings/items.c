/* settings.items - all settings. */
#include "states/modules/settings/datapath.h"
#include "states/state/module.h"

const struct module module_settings_items = {
    .name = "settings.items",
    .summary = "all settings",
    .params = params_none,
    .call = datapath_call_settings,
};
