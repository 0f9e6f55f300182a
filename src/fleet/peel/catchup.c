#include "fleet/peel/catchup.h"

#include "core/base/log.h"
#include "fleet/bus/mirror.h"
#include "fleet/peel/peel_settings.h"
#include "core/sys/clock.h"

static bool is_catchup_busy(const struct catchup *catchup)
{
    return mirror_is_busy(catchup->states) || mirror_is_busy(catchup->settings) ||
           peel_settings_is_busy(catchup->peel_settings);
}

static void on_catchup_timer(struct timer *timer)
{
    struct catchup *catchup = container_of(timer, struct catchup, timer);

    log_warning("files are still on their way; the run begins with those that are here");
    catchup->fn(catchup->self);
}

bool catchup_begin(struct catchup *catchup)
{
    mirror_hasten(catchup->states);
    mirror_hasten(catchup->settings);
    if (!is_catchup_busy(catchup))
        return true;
    timer_set(loop_timers(catchup->loop), &catchup->timer, clock_after(clock_now(), CATCHUP_MAX),
              on_catchup_timer);
    return false;
}

void catchup_check(struct catchup *catchup)
{
    if (!timer_is_set(&catchup->timer) || is_catchup_busy(catchup))
        return;
    catchup_stop(catchup);
    catchup->fn(catchup->self);
}

void catchup_stop(struct catchup *catchup)
{
    if (timer_is_set(&catchup->timer))
        timer_clear(loop_timers(catchup->loop), &catchup->timer);
}
