/*
 * fetch - the content of an http or https address.
 *
 * The library is loaded on first use, so that programs start fast. A few redirects are followed,
 * never to a third scheme; a request with its own headers follows none, because they may hold a
 * token for the named address. A status other than 2xx is an error.
 *
 * Memory: the arena, or none. Threads: any; a pool worker is marked as blocked meanwhile.
 */
#ifndef CORE_SYS_FETCH_H
#define CORE_SYS_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct cancel;
struct err;

#define FETCH_REDIRECTS_MAX   5
#define FETCH_CONNECT_TIMEOUT (30 * INT64_C(1000000000))
#define FETCH_HEADERS_MAX     4

struct fetch_options {
    uint64_t size_max; /* more is ERR_LIMIT */
    int64_t timeout;   /* nanoseconds, in total */
    const struct cancel *cancel;
    const char *headers[FETCH_HEADERS_MAX]; /* "Name: value"; NULL ends them */
    const char *ca;                         /* a file of certificates; NULL: the system's */
};

/* Fails with ERR_UNSUPPORTED when the library is not installed, with ERR_CANCELED, ERR_LIMIT and
 * ERR_TIMEOUT, with ERR_NOT_FOUND for status 404 or 410. */
int fetch(struct arena *arena, const char *url, const struct fetch_options *options,
          struct str *ret_bytes, struct err *err);
/* The same, written to an open file as it comes. After a failure the written part stays. */
int fetch_file(int fd, const char *url, const struct fetch_options *options, struct err *err);

#endif
