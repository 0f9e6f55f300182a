/*
 * wait - for tests: wait until something is true, never for luck.
 *
 *     WAIT_FOR(file_exists(path));
 *
 * Looks every millisecond, and fails the test after a minute: only failures take that long.
 */
#ifndef TESTS_UNIT_WAIT_H
#define TESTS_UNIT_WAIT_H

#include <time.h>

#include "test.h"

#define WAIT_MILLISECONDS 60000

static inline void wait_a_little(void)
{
    const struct timespec millisecond = { 0, 1000000 };

    (void)nanosleep(&millisecond, NULL);
}

#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        int wait_left = WAIT_MILLISECONDS;                                                         \
        while (wait_left > 0 && !(condition)) {                                                    \
            wait_left--;                                                                           \
            wait_a_little();                                                                       \
        }                                                                                          \
        test_check(wait_left > 0, "in time: " #condition, __FILE__, __LINE__);                     \
    } while (0)

#endif
