/* Any line is a JSON object with a message or none, and prints in every form as one line. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "kepler/logs/jsonline.h"
#include "kepler/logs/log_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One line, which ends in the only line end. */
static void check_one_line(const struct buf *out)
{
    assert(out->n > 0);
    assert(str_find_char(buf_view(out), '\n', 0) == out->n - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct log_line line = { .seq = 1, .service = "s", .hook = "", .text = str_bytes(data, size) };
    struct jsonline json;
    struct value back;
    struct err err;

    if (memchr(data, '\n', size))
        return 0; /* never in a line */
    if (jsonline_parse(&arena, line.text, &json)) {
        assert(size > 0 && data[0] == '{');
        assert(json.message.p && json.attributes && json.level < JSONLINE_LEVELS);
        assert(!json.has_time || json.time >= 0);
    }
    log_line_print(&line, LOG_LINE_PLAIN, NULL, &out);
    check_one_line(&out);
    assert(utf8_is_valid(buf_view(&out)));
    buf_clear(&out);
    log_line_print(&line, LOG_LINE_JSON, NULL, &out);
    check_one_line(&out);
    assert(json_decode(&arena, buf_view(&out), &back, &err) == 0);
    return 0;
}
