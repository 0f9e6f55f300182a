/* Any bytes are JSON or an error with a place; what is read prints, and reads back as the same. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_style(struct arena *arena, const struct value *v, unsigned style)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct value back;
    struct err err;
    int result = json_print(&out, v, style, &err);

    assert(result == 0);
    result = json_decode(arena, buf_view(&out), &back, &err);
    assert(result == 0);
    assert(value_equal(v, &back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct value v;

    if (json_parse(&arena, "fuzz", (struct str){ (const char *)data, size }, &v, &diags) < 0) {
        assert(diags_count(&diags) == 1);
        diags_print(&diags, &out);
        return 0;
    }
    check_style(&arena, &v, JSON_STYLE_COMPACT);
    check_style(&arena, &v, JSON_STYLE_PRETTY | JSON_STYLE_SORTED);
    check_style(&arena, &v, JSON_STYLE_SPACED | JSON_STYLE_ASCII | JSON_STYLE_HTML);
    return 0;
}
