#include "core/sys/cancel.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "core/base/err.h"
#include "core/sys/crash_point.h"
#include "core/sys/fd.h"

int cancel_init(struct cancel *cancel, struct err *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0)
        return err_sys(err, errno, "create a cancel event");
    cancel->fd = fd;
    atomic_init(&cancel->raised, false);
    cancel->child_registry = 0;
    return 0;
}

void cancel_done(struct cancel *cancel)
{
    fd_close(&cancel->fd);
}

void cancel_move(struct cancel *to, struct cancel *from)
{
    to->fd = from->fd;
    atomic_init(&to->raised, false);
    to->child_registry = 0;
    from->fd = -1;
}

void cancel_raise(struct cancel *cancel)
{
    if (!atomic_exchange(&cancel->raised, true))
        (void)eventfd_write(cancel->fd, 1); /* a counter of one always has room */
}

static _Thread_local const struct cancel *heeded;
static _Thread_local bool has_cut;

/* Every way to notice a cancel ends here, so a test that cancels at each call of this function has
 * tried every moment that matters. */
bool cancel_is_raised(const struct cancel *cancel)
{
    bool raised;

    if (!cancel)
        return false;
    crash_point("cancel");
    raised = atomic_load(&cancel->raised);
    has_cut |= raised;
    return raised;
}

void cancel_begin(void)
{
    has_cut = false;
}

int cancel_end(int rc, struct err *err)
{
    if (!has_cut)
        return rc;
    if (rc == 0)
        return err_set(err, ERR_CANCELED, "canceled");
    err->code = ERR_CANCELED;
    return -1;
}

const struct cancel *cancel_heed(const struct cancel *cancel)
{
    const struct cancel *before = heeded;

    heeded = cancel;
    return before;
}

int cancel_check(struct err *err)
{
    return cancel_is_raised(heeded) ? err_set(err, ERR_CANCELED, "canceled") : 0;
}

int cancel_fd(const struct cancel *cancel)
{
    return cancel ? cancel->fd : -1;
}
