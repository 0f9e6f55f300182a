/*
 * stack - the stack that a thread has left.
 *
 * Depth alone does not bound the stack: the size of a level depends on its content. Code that
 * recurses over input also checks here, and fails with an error that names STACK_RESERVE.
 *
 *     stack_begin, when a thread starts -> stack_is_low...
 *
 * A thread that does not call it is taken for the main thread.
 *
 * Threads: each has its own.
 */
#ifndef CORE_BASE_STACK_H
#define CORE_BASE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reserved for code that does not check: readers and printers of documents, whose depth is
 * limited, and libraries. Half of a small stack. */
#define STACK_RESERVE ((size_t)256 << 10)

/* For messages: "the stack has less than 262144 bytes left". */
#define STACK_IS_LOW "nested too deeply: the stack has less than %zu bytes left"

/* From here on this thread has a stack of this size. */
void stack_begin(size_t size);

extern _Thread_local uintptr_t stack_floor;
/* Without stack_begin: the stack of the main thread. */
void stack_find(void);

static inline bool stack_is_low(void)
{
    if (stack_floor == 0)
        stack_find();
    return (uintptr_t)__builtin_frame_address(0) < stack_floor;
}

#endif
