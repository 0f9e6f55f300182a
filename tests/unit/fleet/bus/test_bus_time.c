#include "fleet/bus/bus_time.h"

#include "core/sys/clock.h"
#include "test.h"

#define SECOND CLOCK_SECOND
#define NOW    (1000 * SECOND)
#define WALL   (INT64_C(1800000000) * SECOND)

TEST(without_a_look_it_is_the_own_clock)
{
    clock_fake(NOW, WALL);
    CHECK_INT(bus_time(), WALL);
    CHECK_INT(bus_time_seconds(), WALL / SECOND);
    CHECK_INT(bus_time_skew(), 0);
    clock_restore();
}

TEST(after_a_look_it_is_that_of_the_servers_and_a_step_of_the_own_one_does_not_matter)
{
    clock_fake(NOW, WALL);
    bus_time_note(NOW - 20, NOW, WALL - 3600 * SECOND - 10);
    CHECK_INT(bus_time(), WALL - 3600 * SECOND);
    CHECK_INT(bus_time_skew(), 3600 * SECOND);
    clock_fake(NOW + SECOND, WALL + 86400 * SECOND);
    CHECK_INT(bus_time(), WALL - 3600 * SECOND + SECOND);
    CHECK_INT(bus_time_value().seconds, WALL / SECOND - 3600 + 1);
    bus_time_forget();
    clock_restore();
}

TEST(a_slow_look_replaces_a_good_one_only_when_that_is_old)
{
    clock_fake(NOW, WALL);
    bus_time_note(NOW, NOW, WALL);
    bus_time_note(NOW - 4 * SECOND, NOW, WALL);
    CHECK_INT(bus_time(), WALL);
    clock_turn(BUS_TIME_AGE_NS);
    bus_time_note(clock_now() - 4 * SECOND, clock_now(), WALL);
    CHECK_INT(bus_time(), WALL + 2 * SECOND);
    bus_time_forget();
    clock_restore();
}
