/* pillar.keys - the names of all settings at the top. */
#include "modules/datapath.h"
#include "state/module.h"

const struct module module_pillar_keys = {
    .name = "pillar.keys",
    .summary = "the names of all settings at the top",
    .params = params_none,
    .call = datapath_call_setting_keys,
};
