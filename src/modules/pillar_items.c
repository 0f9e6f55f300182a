/* pillar.items - all settings. */
#include "modules/datapath.h"
#include "state/module.h"

const struct module module_pillar_items = {
    .name = "pillar.items",
    .summary = "all settings",
    .params = params_none,
    .call = datapath_call_settings,
};
