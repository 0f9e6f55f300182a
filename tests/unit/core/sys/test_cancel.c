#include "test.h"

#include <poll.h>

#include "core/base/err.h"
#include "core/sys/cancel.h"

static struct err err;

static bool is_readable(const struct cancel *cancel)
{
    struct pollfd fd = { .fd = cancel_fd(cancel), .events = POLLIN };

    return poll(&fd, 1, 0) > 0;
}

TEST(a_raised_token_wakes_its_waiters)
{
    struct cancel cancel;

    CHECK_INT(cancel_init(&cancel, &err), 0);
    CHECK(!cancel_is_raised(&cancel) && !is_readable(&cancel));
    cancel_raise(&cancel);
    cancel_raise(&cancel);
    CHECK(cancel_is_raised(&cancel) && is_readable(&cancel));
    cancel_done(&cancel);
}

TEST(no_token_is_never_raised)
{
    CHECK(!cancel_is_raised(NULL));
    CHECK_INT(cancel_fd(NULL), -1);
}

TEST(a_token_that_was_moved_works_where_it_is_and_is_gone_where_it_was)
{
    struct cancel first, second = { .fd = -1 };

    CHECK_INT(cancel_init(&first, &err), 0);
    first.child_registry = 7;
    cancel_move(&second, &first);
    CHECK_INT(cancel_fd(&first), -1);
    CHECK_INT(second.child_registry, 0);
    CHECK(!cancel_is_raised(&second) && !is_readable(&second));
    cancel_raise(&second);
    CHECK(cancel_is_raised(&second) && is_readable(&second) && !cancel_is_raised(&first));
    cancel_done(&second);
    cancel_done(&first);
}

TEST(long_work_heeds_the_token_of_its_thread)
{
    const struct cancel *before;
    struct cancel cancel;

    CHECK_INT(cancel_init(&cancel, &err), 0);
    before = cancel_heed(&cancel);
    CHECK_INT(cancel_check(&err), 0);
    cancel_raise(&cancel);
    CHECK_INT(cancel_check(&err), -1);
    CHECK_INT(err.code, ERR_CANCELED);
    CHECK(cancel_heed(before) == &cancel);
    CHECK_INT(cancel_check(&err), 0);
    cancel_done(&cancel);
}

TEST(work_that_saw_the_token_fails_whatever_it_returns)
{
    struct cancel cancel;

    CHECK_INT(cancel_init(&cancel, &err), 0);
    cancel_begin();
    (void)cancel_is_raised(&cancel);
    CHECK_INT(cancel_end(0, &err), 0);
    cancel_raise(&cancel);
    CHECK_INT(cancel_end(0, &err), 0); /* it was done before */
    (void)cancel_is_raised(&cancel);
    CHECK_INT(cancel_end(0, &err), -1);
    CHECK_INT(err.code, ERR_CANCELED);
    CHECK_INT(cancel_end(err_set(&err, ERR_NOT_FOUND, "no file"), &err), -1);
    CHECK_INT(err.code, ERR_CANCELED);
    CHECK_STR(err.text, "no file");
    cancel_begin();
    CHECK_INT(cancel_end(0, &err), 0);
    cancel_done(&cancel);
}
