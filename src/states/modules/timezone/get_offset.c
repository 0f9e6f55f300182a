/* timezone.get_offset - returns the offset of local time from UTC. */
#include <time.h>

#include "states/state/module.h"
#include "core/sys/clock.h"

static int get_offset_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    const time_t now = (time_t)(clock_wall() / CLOCK_SECOND);
    struct tm parts;
    long minutes;

    (void)args;
    (void)err;
    tzset(); /* localtime_r need not read /etc/localtime anew */
    localtime_r(&now, &parts);
    minutes = (parts.tm_gmtoff < 0 ? -parts.tm_gmtoff : parts.tm_gmtoff) / 60;
    *ret = value_text(arena_printf(run->arena, "%c%02ld%02ld", parts.tm_gmtoff < 0 ? '-' : '+',
                                   minutes / 60, minutes % 60));
    return 0;
}

const struct module module_timezone_get_offset = {
    .name = "timezone.get_offset",
    .summary = "the offset of local time from UTC: +0100",
    .params = params_none,
    .call = get_offset_call,
};
