/* Events that wait for a connection. */
#include "fleet/beacons/backlog.h"

#include "test.h"

TEST(what_waits_leaves_in_its_order)
{
    struct backlog backlog = { 0 };
    int a, b;

    CHECK(backlog_push(&backlog, &a) == NULL);
    CHECK(backlog_push(&backlog, &b) == NULL);
    CHECK(backlog_first(&backlog) == &a);
    CHECK(backlog_take(&backlog) == &a);
    CHECK(backlog_take(&backlog) == &b);
    CHECK(backlog_take(&backlog) == NULL);
}

TEST(the_oldest_goes_when_256_wait)
{
    struct backlog backlog = { 0 };
    static int things[BACKLOG_MAX + 10];

    for (int i = 0; i < BACKLOG_MAX; i++)
        CHECK(backlog_push(&backlog, &things[i]) == NULL);
    for (int i = 0; i < 10; i++)
        CHECK(backlog_push(&backlog, &things[BACKLOG_MAX + i]) == &things[i]);
    CHECK(backlog.count == 256);
    for (int i = 10; i < BACKLOG_MAX + 10; i++)
        CHECK(backlog_take(&backlog) == &things[i]);
    CHECK(backlog_first(&backlog) == NULL);
}
