/* service.systemctl_reload - the service manager reads its unit files again. */
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/provider/service/manager.h"
#include "states/state/module.h"

static int systemctl_reload_call(struct state_run *run, const void *args, struct value *ret,
                                 struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct service_manager *manager;

    (void)args;
    if (service_manager_find(&manager, err) < 0 ||
        (manager->reread && manager->reread(&tool, err) < 0))
        return -1;
    *ret = value_bool(true);
    return 0;
}

const struct module module_service_systemctl_reload = {
    .name = "service.systemctl_reload",
    .summary = "let the service manager read its unit files again",
    .params = params_none,
    .flags = MODULE_ACTS,
    .call = systemctl_reload_call,
};
