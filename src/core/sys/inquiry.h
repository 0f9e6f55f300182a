/*
 * inquiry - a worker asks the thread of a loop, and waits for the answer.
 *
 *     worker   inquiry_ask(errands, &(struct inquiry_question){ fn, self, request, ... }, ...)
 *     loop     fn(inquiry, self, request) -> inquiry_answer, at once or later
 *
 * An answer that comes when nobody waits for it is dropped.
 *
 * Memory: questions and answers are copied. Threads: as above.
 */
#ifndef CORE_SYS_INQUIRY_H
#define CORE_SYS_INQUIRY_H

#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct cancel;
struct err;
struct errands;
struct inquiry;

typedef void inquiry_fn(struct inquiry *inquiry, void *self, struct str request);

struct inquiry_question {
    inquiry_fn *fn;
    void *self;
    struct str request;
    int64_t timeout;             /* nanoseconds */
    const struct cancel *cancel; /* ends the wait; NULL: nothing does */
};

/* Fails with ERR_TIMEOUT, also with the error of the answer. */
int inquiry_ask(struct errands *errands, const struct inquiry_question *question,
                struct arena *arena, struct str *ret_reply, struct err *err);

/* Once. `error` "": it is an answer. */
void inquiry_answer(struct inquiry *inquiry, struct str reply, const char *error);

#endif
