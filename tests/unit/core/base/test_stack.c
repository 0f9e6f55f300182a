#include "core/base/stack.h"

#include <pthread.h>

#include "test.h"

#define SIZE ((size_t)1 << 20)

/* How deep it goes until it is told to stop; each level needs a kilobyte at least. */
static size_t descend(size_t depth)
{
    volatile char frame[1024];

    frame[depth % sizeof(frame)] = 1;
    if (stack_is_low() || depth > SIZE)
        return depth;
    return descend(depth + 1) + (frame[depth % sizeof(frame)] == 0);
}

static void *run(void *arg)
{
    stack_begin(SIZE);
    *(size_t *)arg = descend(0);
    return NULL;
}

TEST(recursion_stops_before_the_stack_of_a_thread_ends)
{
    pthread_attr_t attr;
    pthread_t thread;
    size_t depth = 0;

    CHECK_INT(pthread_attr_init(&attr), 0);
    CHECK_INT(pthread_attr_setstacksize(&attr, SIZE), 0);
    CHECK_INT(pthread_create(&thread, &attr, run, &depth), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(pthread_attr_destroy(&attr), 0);
    CHECK(depth > 20);
    CHECK(depth <= (SIZE - STACK_RESERVE) / 1024);
}

TEST(the_main_thread_has_the_stack_of_its_limit)
{
    const size_t depth = descend(0);

    CHECK(depth > 20 && depth <= SIZE);
}
