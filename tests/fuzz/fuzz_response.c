/* Any bytes are the answer of an HTTP server, or an error; what is read does not depend on how the
 * bytes come, and never grows beyond its limit. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/err.h"
#include "fleet/enroll/response.h"

#define BODY_MAX  ((size_t)4096)
#define COUNT_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool on_event(void *self, struct str name, struct str data)
{
    size_t *count = self;

    assert(name.n > 0 && name.n + data.n <= BODY_MAX);
    return ++*count < COUNT_MAX;
}

/* 0, or -1 after an error. */
static int read_all(struct response *response, struct str rest, size_t step)
{
    struct err err;

    while (rest.n > 0 && !response->is_over) {
        size_t n = rest.n < step ? rest.n : step;

        if (response_feed(response, str_slice(rest, 0, n), &err) < 0)
            return -1;
        assert(response->body.n <= BODY_MAX);
        rest = str_from_offset(rest, n);
    }
    return response->is_over ? 0 : response_end(response, &err);
}

static void compare(struct str input, bool is_stream)
{
    struct response whole = RESPONSE_INIT("host", BODY_MAX), slow = RESPONSE_INIT("host", BODY_MAX);
    size_t counts[2] = { 0, 0 };
    int results[2];

    if (is_stream)
        whole.event = slow.event = on_event;
    whole.self = &counts[0];
    slow.self = &counts[1];
    results[0] = read_all(&whole, input, input.n + 1);
    results[1] = read_all(&slow, input, 1);
    assert(is_stream || results[0] == results[1] || input.n > BODY_MAX);
    if (!is_stream && results[0] == 0 && results[1] == 0) {
        assert(whole.status == slow.status);
        assert(str_eq(buf_view(&whole.body), buf_view(&slow.body)));
    }
    response_done(&whole);
    response_done(&slow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str input = str_bytes(data, size);

    compare(input, false);
    compare(input, true);
    return 0;
}
