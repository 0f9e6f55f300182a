/*
 * blocking_query - a worker asks the thread of a loop, and waits for the answer.
 *
 *     worker   blocking_query_ask(messages, &question, ...)
 *     loop     fn(query, self, request) -> blocking_query_answer, at once or later
 *
 * An answer that comes after the worker stopped waiting is dropped.
 *
 * Memory: questions and answers are copied. Threads: as above.
 */
#ifndef CORE_SYS_BLOCKING_QUERY_H
#define CORE_SYS_BLOCKING_QUERY_H

#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct cancel;
struct err;
struct loop_messages;
struct blocking_query;

typedef void blocking_query_fn(struct blocking_query *query, void *self, struct str request);

struct blocking_query_question {
    blocking_query_fn *fn;
    void *self;
    struct str request;
    int64_t timeout;             /* nanoseconds */
    const struct cancel *cancel; /* ends the wait; NULL: never */
};

/* Fails with ERR_TIMEOUT, for an answer with an error as well. */
int blocking_query_ask(struct loop_messages *messages,
                       const struct blocking_query_question *question, struct arena *arena,
                       struct str *ret_reply, struct err *err);

/* Must be called once. An empty `error` means success. */
void blocking_query_answer(struct blocking_query *query, struct str reply, const char *error);

#endif
