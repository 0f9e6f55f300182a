/*
 * post - sends a body to an http or https address.
 *
 * The certificate of the server is verified. Redirects are not followed: the body is for the named
 * address only. Of the answer only the status is kept.
 *
 * Memory: none. Threads: any; a pool worker is marked as blocked meanwhile.
 */
#ifndef CORE_SYS_POST_H
#define CORE_SYS_POST_H

#include <stdint.h>

#include "core/base/str.h"

struct cancel;
struct err;

#define POST_HEADERS_MAX 8
/* The rest of an answer is not read. */
#define POST_ANSWER_MAX ((uint64_t)1 << 20)

struct post_request {
    const char *url;
    struct str body;
    const char *headers[POST_HEADERS_MAX]; /* "Name: value"; NULL ends them */
    const char *ca;                        /* a file of certificates; NULL: the system's */
    int64_t timeout;                       /* nanoseconds, in total */
    const struct cancel *cancel;           /* may be NULL */
};

struct post_answer {
    int status;          /* HTTP status */
    int64_t retry_after; /* delay in nanoseconds that the server asks for; 0: none */
};

/* Fails without an answer: with ERR_UNSUPPORTED when the library is not installed, with
 * ERR_CANCELED, ERR_TIMEOUT, else ERR_INVALID. Errors contain neither the address nor the body. */
int post(const struct post_request *request, struct post_answer *ret_answer, struct err *err);

#endif
