/*
 * probe - one page of a daemon on this machine, for commands that ask how it is.
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
    int status; /* of HTTP */
    struct str body;
};

/* Fails with ERR_TIMEOUT when it takes longer than `timeout` (nanoseconds), and with the reason
 * when nobody listens. */
int probe_get(struct arena *arena, const char *address, const char *path, int64_t timeout,
              struct probe_answer *ret, struct err *err);

#endif
