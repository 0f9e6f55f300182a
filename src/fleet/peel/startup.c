#include "fleet/peel/startup.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/data/value.h"
#include "states/local/perform.h"
#include "fleet/peel/job_queue.h"
#include "fleet/peel/peel_settings.h"
#include "fleet/peel/source.h"
#include "core/sys/clock.h"

static void on_startup_timer(struct timer *timer);

static void try_later(struct startup *startup)
{
    timer_set(loop_timers(startup->loop), &startup->timer, clock_after(clock_now(), STARTUP_RETRY),
              on_startup_timer);
}

static const char *current_ref(const struct startup *startup)
{
    return startup->conf->startup_states == PEEL_STARTUP_HIGHSTATE
               ? "highstate"
               : startup->conf->startup_sls_list.p[startup->next];
}

static bool is_startup_over(const struct startup *startup)
{
    switch (startup->conf->startup_states) {
    case PEEL_STARTUP_HIGHSTATE: return startup->next > 0;
    case PEEL_STARTUP_SLS: return startup->next >= startup->conf->startup_sls_list.n;
    default: return true;
    }
}

/* Something that comes by itself is missing. */
static bool is_not_ready(const char *error)
{
    return error &&
           (strcmp(error, SOURCE_UNAVAILABLE) == 0 || strcmp(error, PEEL_SETTINGS_UNKNOWN) == 0);
}

static void on_applied(void *self, const struct perform_answer *answer, struct str response,
                       int64_t duration)
{
    struct startup *startup = self;

    (void)response;
    (void)duration;
    if (is_not_ready(answer->error)) {
        if (++startup->tries == STARTUP_PATIENCE)
            log_warning("startup states cannot be applied yet state=%s error=%s",
                        current_ref(startup), answer->error);
    } else {
        if (answer->success && !answer->error)
            log_info("startup states applied state=%s", current_ref(startup));
        else
            log_error("startup states failed state=%s error=%s", current_ref(startup),
                      answer->error ? answer->error : "a state failed");
        startup->next++;
        startup->tries = 0;
    }
    if (!is_startup_over(startup))
        try_later(startup);
}

static bool may_startup_begin(const struct startup *startup)
{
    const int64_t waited = clock_now() - startup->began;

    return startup->is_synced(startup->self) || waited >= STARTUP_WAIT ||
           (waited >= STARTUP_ALONE && !startup->is_connected(startup->self));
}

static void on_startup_timer(struct timer *timer)
{
    struct startup *startup = container_of(timer, struct startup, timer);
    const bool is_top = startup->conf->startup_states == PEEL_STARTUP_HIGHSTATE;
    struct err err;

    if (is_startup_over(startup))
        return;
    if (!may_startup_begin(startup) ||
        job_queue_run(
            startup->job_queue,
            &(struct job_queue_task){ .jid = "",
                                      .function = is_top ? "state.highstate" : "state.apply",
                                      .id = current_ref(startup),
                                      .args = value_null(),
                                      .user = "schedule:startup",
                                      .fn = on_applied,
                                      .self = startup },
            &err) < 0)
        try_later(startup);
}

void startup_begin(struct startup *startup)
{
    startup->began = clock_now();
    if (!is_startup_over(startup))
        try_later(startup);
}

void startup_stop(struct startup *startup)
{
    if (startup->loop)
        timer_clear(loop_timers(startup->loop), &startup->timer);
}
