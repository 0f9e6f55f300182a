#include "kepler/config/status.h"

enum trait { RUNNING = 1, ACTIVE = 2, TERMINAL = 4 };

/* clang-format off */
const char *const status_words[STATUSES] = {
    [STATUS_STOPPED]    = "stopped",
    [STATUS_WAITING]    = "waiting",
    [STATUS_STARTING]   = "starting",
    [STATUS_RUNNING]    = "running",
    [STATUS_HEALTHY]    = "healthy",
    [STATUS_UNHEALTHY]  = "unhealthy",
    [STATUS_STOPPING]   = "stopping",
    [STATUS_RESTARTING] = "restarting",
    [STATUS_EXITED]     = "exited",
    [STATUS_KILLED]     = "killed",
    [STATUS_FAILED]     = "failed",
    [STATUS_SKIPPED]    = "skipped",
};

static const unsigned traits[STATUSES] = {
    [STATUS_STOPPED]    = TERMINAL,
    [STATUS_WAITING]    = ACTIVE,
    [STATUS_STARTING]   = ACTIVE,
    [STATUS_RUNNING]    = ACTIVE | RUNNING,
    [STATUS_HEALTHY]    = ACTIVE | RUNNING,
    [STATUS_UNHEALTHY]  = ACTIVE | RUNNING,
    [STATUS_STOPPING]   = ACTIVE,
    [STATUS_RESTARTING] = ACTIVE,
    [STATUS_EXITED]     = TERMINAL,
    [STATUS_KILLED]     = TERMINAL,
    [STATUS_FAILED]     = TERMINAL,
    [STATUS_SKIPPED]    = 0,
};
/* clang-format on */

const char *status_name(enum status status)
{
    return status_words[status];
}

int status_parse(struct str name, enum status *ret)
{
    for (size_t i = 0; i < STATUSES; i++)
        if (str_is(name, status_words[i])) {
            *ret = (enum status)i;
            return 0;
        }
    return -1;
}

bool status_is_running(enum status status)
{
    return traits[status] & RUNNING;
}

bool status_is_active(enum status status)
{
    return traits[status] & ACTIVE;
}

bool status_is_terminal(enum status status)
{
    return traits[status] & TERMINAL;
}
