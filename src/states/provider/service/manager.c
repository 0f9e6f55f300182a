#include "states/provider/service/manager.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"

const struct service_manager *service_manager_chosen(int choice)
{
    return choice > 0 ? service_manager_table[choice - 1] : NULL;
}

const struct service_manager *service_manager_with_configs(void)
{
    const struct service_manager *const *m = service_manager_table;

    while (!(*m)->has_configs)
        m++;
    return *m;
}

static int report_no_manager(struct err *err)
{
    AUTO_BUF struct buf looked = BUF_INIT(BUF_NO_LIMIT);

    for (const struct service_manager *const *m = service_manager_table; *m; m++)
        buf_printf(&looked, "%s%s (%s)", looked.n > 0 ? ", " : "", (*m)->name, (*m)->needs);
    return err_set(err, ERR_UNSUPPORTED, "no service manager on this machine; searched for %s",
                   buf_text(&looked));
}

int service_manager_find(const struct service_manager **ret, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (const struct service_manager *const *m = service_manager_table; *m; m++)
        if ((*m)->is_here(&arena)) {
            *ret = *m;
            return 0;
        }
    return report_no_manager(err);
}

const char *service_action_word(enum service_action action)
{
    static const char *const words[SERVICE_ACTIONS] = {
        [SERVICE_START] = "start",   [SERVICE_STOP] = "stop",     [SERVICE_RESTART] = "restart",
        [SERVICE_RELOAD] = "reload", [SERVICE_ENABLE] = "enable", [SERVICE_DISABLE] = "disable",
        [SERVICE_MASK] = "mask",     [SERVICE_UNMASK] = "unmask", [SERVICE_FORGET] = "disable",
    };

    return words[action];
}
