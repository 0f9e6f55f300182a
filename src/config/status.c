#include "config/status.h"

#include "base/mem.h"

enum trait { RUNNING = 1, ACTIVE = 2, TERMINAL = 4 };

/* clang-format off */
static const struct {
    const char *name;
    unsigned traits;
} statuses[] = {
    [STATUS_STOPPED]    = { "stopped",    TERMINAL },
    [STATUS_WAITING]    = { "waiting",    ACTIVE },
    [STATUS_STARTING]   = { "starting",   ACTIVE },
    [STATUS_RUNNING]    = { "running",    ACTIVE | RUNNING },
    [STATUS_HEALTHY]    = { "healthy",    ACTIVE | RUNNING },
    [STATUS_UNHEALTHY]  = { "unhealthy",  ACTIVE | RUNNING },
    [STATUS_STOPPING]   = { "stopping",   ACTIVE },
    [STATUS_RESTARTING] = { "restarting", ACTIVE },
    [STATUS_EXITED]     = { "exited",     TERMINAL },
    [STATUS_KILLED]     = { "killed",     TERMINAL },
    [STATUS_FAILED]     = { "failed",     TERMINAL },
    [STATUS_SKIPPED]    = { "skipped",    0 },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(statuses) == STATUSES, "every status has a name");

const char *status_name(enum status status)
{
    return statuses[status].name;
}

int status_parse(struct str name, enum status *ret)
{
    for (size_t i = 0; i < STATUSES; i++)
        if (str_is(name, statuses[i].name)) {
            *ret = (enum status)i;
            return 0;
        }
    return -1;
}

bool status_is_running(enum status status)
{
    return statuses[status].traits & RUNNING;
}

bool status_is_active(enum status status)
{
    return statuses[status].traits & ACTIVE;
}

bool status_is_terminal(enum status status)
{
    return statuses[status].traits & TERMINAL;
}
