/* test.sleep - waits. */
#include "core/base/err.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/pause.h"
#include "core/sys/clock.h"

#define ARGS struct sleep_args

struct sleep_args {
    int64_t length;
};

static const struct param sleep_params[] = {
    PARAM("length", DURATION, ARGS, length, "how long, in seconds or with a unit",
          .flags = PARAM_REQUIRED, .aliases = "seconds,duration",
          PARAM_RANGE(0, 86400 * CLOCK_SECOND)),
    { 0 },
};

static int sleep_check(struct state_run *run, const void *args, struct err *err)
{
    (void)args;
    (void)err;
    state_acts(run);
    if (run->test)
        state_say(run, "would sleep");
    return 0;
}

static int sleep_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct sleep_args *want = args;

    state_unchanged(run);
    return pause_for(run->host->cancel, want->length) ? 0 : err_set(err, ERR_CANCELED, "canceled");
}

const struct module module_test_sleep = {
    .name = "test.sleep",
    .summary = "wait and change nothing",
    .example = "length: 1ms\n",
    .params = sleep_params,
    .args_size = sizeof(struct sleep_args),
    .flags = MODULE_ALWAYS | MODULE_IDLE,
    .check = sleep_check,
    .apply = sleep_apply,
};
