#include "fleet/beacons/tail.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

/* Skips the rest of a line that is too long. */
static void keep_part(struct tail *tail, struct str bytes)
{
    const size_t room = TAIL_LINE_MAX - tail->n;
    const size_t n = bytes.n < room ? bytes.n : room;

    if (!tail->part)
        tail->part = mem_alloc(TAIL_LINE_MAX);
    memcpy(tail->part + tail->n, bytes.p, n);
    tail->n += n;
}

static int finish_tail_line(struct tail *tail, struct str rest, tail_fn *fn, void *self,
                            struct err *err)
{
    struct str line = str_slice(rest, 0, rest.n < TAIL_LINE_MAX ? rest.n : TAIL_LINE_MAX);
    int result;

    if (tail->part) {
        keep_part(tail, rest);
        line = (struct str){ tail->part, tail->n };
    }
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    result = fn(self, line, err);
    tail_clear(tail);
    return result;
}

int tail_feed(struct tail *tail, struct str bytes, tail_fn *fn, void *self, struct err *err)
{
    while (bytes.n > 0) {
        const char *end = memchr(bytes.p, '\n', bytes.n);
        const size_t n = end ? (size_t)(end - bytes.p) : bytes.n;

        if (!end) {
            keep_part(tail, bytes);
            return 0;
        }
        if (finish_tail_line(tail, str_slice(bytes, 0, n), fn, self, err) < 0)
            return -1;
        bytes = str_from_offset(bytes, n + 1);
    }
    return 0;
}

void tail_clear(struct tail *tail)
{
    free(tail->part);
    *tail = (struct tail){ 0 };
}
