/*
 * exchange - one request to the daemon and its reply, for callers that may block.
 *
 * No loop and no callbacks: the calling thread sleeps until the reply arrives, the time is up, or
 * it is canceled. Events before the reply are skipped. A pool worker is marked as blocked
 * meanwhile.
 *
 *     home_find_client -> exchange_ask
 *
 * Memory: the reply is in the arena. Threads: any.
 */
#ifndef KEPLER_CONTROL_EXCHANGE_H
#define KEPLER_CONTROL_EXCHANGE_H

#include <stdint.h>

#include "kepler/control/message.h"
#include "kepler/control/request.h"

struct arena;
struct cancel;
struct err;
struct home;

/* The caller, the daemon, and how long to wait. */
struct exchange {
    struct arena *arena;
    const struct home *home;
    const struct cancel *cancel; /* NULL: cannot be canceled */
    int64_t timeout;             /* nanoseconds */
};

/* `args` is the struct of this request kind. A refusal by the daemon is a reply too, with the error
 * as its name. Fails with ERR_NOT_FOUND when there is no daemon, with ERR_TIMEOUT and ERR_CANCELED.
 */
int exchange_ask(const struct exchange *exchange, enum request_kind kind, const void *args,
                 struct message *ret_answer, struct err *err);

#endif
