#include "core/sys/quota.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/pool.h"

/* Descriptors of a running program: output, errors, input, itself and its control group, and both
 * ends of pipes while it starts. A state that changes files has no more of them open. */
#define FDS_EACH 10
/* For files, locks and libraries. */
#define FDS_OTHER 64
/* A wait checks again after this long, even if no program ends. */
#define LOOK_NS (CLOCK_SECOND / 50)
/* A thread that ends makes room, on a busy machine after seconds. */
#define PATIENCE_NS (10 * CLOCK_SECOND)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned running;

unsigned quota_most(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT32_MAX;
    return limit.rlim_cur > FDS_OTHER + FDS_EACH
               ? (unsigned)((limit.rlim_cur - FDS_OTHER) / FDS_EACH)
               : 1;
}

/* Wait until a program ends, or for a moment. Called with the mutex held. */
static void wait_a_moment(void)
{
    struct timespec until;
    int64_t when;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    when = until.tv_nsec + LOOK_NS;
    until.tv_sec += (time_t)(when / CLOCK_SECOND);
    until.tv_nsec = (long)(when % CLOCK_SECOND);
    (void)pthread_cond_timedwait(&ended, &mutex, &until);
}

int quota_enter(const struct cancel *cancel, struct err *err)
{
    const unsigned most = quota_most();
    bool blocked = false, canceled;

    (void)pthread_mutex_lock(&mutex);
    while (running >= most && !cancel_is_raised(cancel)) {
        if (!blocked)
            pool_block_begin();
        blocked = true;
        wait_a_moment();
    }
    canceled = running >= most;
    if (!canceled)
        running++;
    (void)pthread_mutex_unlock(&mutex);
    if (blocked)
        pool_block_end();
    return canceled ? err_set(err, ERR_CANCELED, "canceled before it began") : 0;
}

static bool is_shortage(const struct err *err)
{
    return err->code == ERR_SYSTEM &&
           (err->errnum == EMFILE || err->errnum == ENFILE || err->errnum == EAGAIN);
}

bool quota_retry(const struct cancel *cancel, int64_t began, const struct err *err)
{
    bool again;

    if (!is_shortage(err))
        return false;
    pool_block_begin();
    (void)pthread_mutex_lock(&mutex);
    /* this one counts */
    again = running > 1 || clock_real() - began < PATIENCE_NS;
    if (again)
        wait_a_moment();
    (void)pthread_mutex_unlock(&mutex);
    pool_block_end();
    return again && !cancel_is_raised(cancel);
}

void quota_leave(void)
{
    (void)pthread_mutex_lock(&mutex);
    running--;
    (void)pthread_cond_broadcast(&ended);
    (void)pthread_mutex_unlock(&mutex);
}
