#include "provider/service.h"

#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* In the order in which they are looked for: scripts lie on machines where nothing runs them. */
static const struct service_manager *const managers[] = { &service_systemd, &service_openrc,
                                                          &service_kepler, &service_sysv };

static const struct service_manager *found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void detect(void)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(managers) && !found; i++)
        if (managers[i]->is_here(&arena))
            found = managers[i];
}

static int no_manager(struct err *err)
{
    AUTO_BUF struct buf looked = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < ARRAY_LEN(managers); i++)
        buf_printf(&looked, "%s%s (%s)", i > 0 ? ", " : "", managers[i]->name, managers[i]->needs);
    return err_set(err, ERR_UNSUPPORTED, "no service manager on this machine; looked for %s",
                   buf_text(&looked));
}

int service_find_manager(const char *name, const struct service_manager **ret, struct err *err)
{
    for (size_t i = 0; name && i < ARRAY_LEN(managers); i++)
        if (strcmp(managers[i]->name, name) == 0) {
            *ret = managers[i];
            return 0;
        }
    if (name)
        return err_set(err, ERR_UNSUPPORTED,
                       "there is no service manager '%s' (systemd, openrc, kepler, sysv)", name);
    (void)pthread_once(&once, detect);
    if (!found)
        return no_manager(err);
    *ret = found;
    return 0;
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
