/* Functions for settings under their Salt names. */
#include "states/modules/settings/datapath.h"
#include "states/state/module.h"

/* clang-format off */
const struct module aliases_settings[] = {
    { .name = "pillar.data",  .summary = "all settings", .params = params_none, .call = datapath_call_settings },
    { .name = "pillar.get",   .summary = "a setting by its path", .params = datapath_params, .args_size = sizeof(struct datapath_args), .call = datapath_call_setting },
    { .name = "pillar.item",  .summary = "settings by their paths, as a map", .params = datapath_items_params, .args_size = sizeof(struct datapath_items_args), .call = datapath_call_setting_items },
    { .name = "pillar.items", .summary = "all settings", .params = params_none, .call = datapath_call_settings },
    { .name = "pillar.keys",  .summary = "the keys of a setting, or of all settings", .params = datapath_keys_params, .args_size = sizeof(struct datapath_keys_args), .call = datapath_call_setting_keys },
    { 0 },
};
/* clang-format on */
