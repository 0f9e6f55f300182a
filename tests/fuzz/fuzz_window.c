/* Any text is a window that opens within a week and is open then, or is refused with a message.
 * Input: eight bytes of time, then the text. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/err.h"
#include "core/sys/window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DAY   INT64_C(86400)
#define YEARS (INT64_C(200) * 366 * DAY)

static void check_times(const struct window *window, time_t now)
{
    const time_t next = window_next(window, now);

    assert(next > now && next <= now + 9 * DAY); /* a clock may be set forward in between */
    assert(!window->is_fixed || window_is_open(window, next));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct window window;
    struct err err;
    int64_t now;

    if (size < sizeof(now))
        return 0;
    memcpy(&now, data, sizeof(now));
    if (window_parse((struct str){ (const char *)data + sizeof(now), size - sizeof(now) }, &window,
                     &err) < 0) {
        assert(err.code == ERR_INVALID && err.text[0]);
        return 0;
    }
    assert(window.days && window.days < 0x80 && window.begin < window.end);
    check_times(&window, (time_t)(now % YEARS));
    return 0;
}
