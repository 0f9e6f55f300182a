/* test.sleep - waits. */
#include <errno.h>
#include <poll.h>

#include "base/err.h"
#include "state/host.h"
#include "state/module.h"
#include "sys/cancel.h"
#include "sys/clock.h"
#include "sys/pool.h"

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

/* Wait for the time to pass or for a cancel. */
static int wait_for(const struct cancel *cancel, int64_t length, struct err *err)
{
    struct pollfd poll_fd = { .fd = cancel_fd(cancel), .events = POLLIN };
    const int64_t deadline = clock_after(clock_real(), length);
    struct timespec room;
    int n;

    do {
        n = ppoll(&poll_fd, 1, clock_left(deadline, &room), NULL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(err, errno, "wait");
    if (n > 0)
        return err_set(err, ERR_CANCELED, "canceled");
    return 0;
}

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
    int result;

    pool_block_begin();
    result = wait_for(run->host->cancel, want->length, err);
    pool_block_end();
    state_unchanged(run);
    return result;
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
