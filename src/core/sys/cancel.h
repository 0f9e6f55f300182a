/*
 * cancel - one thread tells many others to stop.
 *
 * Raised once, it stays raised until cleared. Code that blocks in poll adds
 * `fd`, which is then readable; code that computes calls cancel_is_raised now and then.
 *
 *     cancel_init -> { cancel_raise, cancel_is_raised }... -> cancel_done
 *
 * A NULL token is never raised. Threads: any; raising is also
 * safe in a signal handler.
 */
#ifndef CORE_SYS_CANCEL_H
#define CORE_SYS_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>

struct err;

struct cancel {
    int fd; /* readable once raised; never read from it */
    atomic_bool raised;
    int child_registry; /* list of cancelable programs (core/sys/child_registry.h); 0: none */
};

int cancel_init(struct cancel *cancel, struct err *err);
void cancel_done(struct cancel *cancel);
/* Move `from`, which was never raised and is no longer used; cheaper than making a new one. */
void cancel_move(struct cancel *to, struct cancel *from);
void cancel_raise(struct cancel *cancel);
bool cancel_is_raised(const struct cancel *cancel);
/* -1 for a NULL token, which poll ignores. */
int cancel_fd(const struct cancel *cancel);

/* The token that long work of this thread (walks, copies) checks from now on; NULL: none. Returns
 * the previous one, which the caller restores. */
const struct cancel *cancel_heed(const struct cancel *cancel);
/* Fails with ERR_CANCELED when that token is raised. */
int cancel_check(struct err *err);

/* Around work that this thread does:
 *
 *     cancel_begin -> rc = work() -> cancel_end(rc)
 *
 * Work that saw a raised token was cut short: it fails with ERR_CANCELED, whatever it returned. */
void cancel_begin(void);
int cancel_end(int rc, struct err *err);

#endif
