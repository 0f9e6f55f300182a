/*
 * probe - fetch one page of a daemon on this machine, for status commands.
 *
 *     struct probe_answer answer;
 *     probe_get(arena, "127.0.0.1:9091", "/readyz", 5 * CLOCK_SECOND, &answer, err);
 *
 * Plain HTTP, no redirects, at most PROBE_MAX bytes. Blocks. Threads: any.
 */
#ifndef CORE_HTTP_PROBE_H
#define CORE_HTTP_PROBE_H

#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct err;

#define PROBE_MAX (1024 * 1024)

struct probe_answer {
    int status; /* HTTP status */
    struct str body;
};

/* Fails with ERR_TIMEOUT after `timeout` (nanoseconds), and with the reason when the connection is
 * refused. */
int probe_get(struct arena *arena, const char *address, const char *path, int64_t timeout,
              struct probe_answer *ret, struct err *err);

#endif
