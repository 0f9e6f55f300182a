/*
 * stack - how much of its stack a thread has left.
 *
 * Depth alone is no bound: what a level needs depends on what is in it. Who recurses over
 * something from outside asks here as well, and fails with an error that names STACK_RESERVE.
 *
 *     stack_begin, where a thread begins -> stack_is_low...
 *
 * A thread that does not begin with it has the stack of the main thread.
 *
 * Threads: each has its own.
 */
#ifndef BASE_STACK_H
#define BASE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kept for what does not ask: readers and printers of documents, whose depth is limited, and
 * libraries. Of a small stack it is half. */
#define STACK_RESERVE ((size_t)256 << 10)

/* For messages: "the stack has less than 262144 bytes left". */
#define STACK_IS_LOW "nested too deeply: the stack has less than %zu bytes left"

/* The stack that this thread has from here on. */
void stack_begin(size_t size);

extern _Thread_local uintptr_t stack_floor;
/* The stack of the main thread, when nobody began. */
void stack_find(void);

static inline bool stack_is_low(void)
{
    if (stack_floor == 0)
        stack_find();
    return (uintptr_t)__builtin_frame_address(0) < stack_floor;
}

#endif
