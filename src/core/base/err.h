/*
 * err - a failure in one line that grows towards the front.
 *
 * A function that can fail returns 0, or -1 with `err` filled in. The struct is
 * on the caller's stack and allocates nothing. Each level adds what it knows in
 * front: "web.sls:12: file.managed '/etc/motd': write: No space
 * left". When the text is full the newest part is cut, never the cause.
 *
 * Errors of the system (files, processes, limits) are an err. Mistakes in user
 * input are a list of diagnostics with places: core/base/diag.h.
 */
#ifndef CORE_BASE_ERR_H
#define CORE_BASE_ERR_H

#include <stdarg.h>

#include "core/base/mem.h"

/* Few: one for each case that callers handle differently. */
enum err_code {
    ERR_NONE,
    ERR_SYSTEM,    /* a system call failed; see errnum */
    ERR_INVALID,   /* invalid input */
    ERR_LIMIT,     /* a named limit was reached */
    ERR_NOT_FOUND, /* not found */
    ERR_CYCLE,     /* a graph has a cycle */
    ERR_TIMEOUT,
    ERR_CANCELED,
    ERR_BUSY, /* another process holds it */
    ERR_UNSUPPORTED,
    ERR_UNSAFE, /* an unprivileged user could redirect the path */
};

#define ERR_TEXT_SIZE 1016

struct err {
    enum err_code code;
    int errnum; /* errno when code is ERR_SYSTEM */
    char text[ERR_TEXT_SIZE];
};

/* All return -1, so that a caller writes `return err_set(...)`. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* "<words>: <text of errnum>" */
int err_sys(struct err *err, int errnum, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* "<words>: <previous text>" */
int err_wrap(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
