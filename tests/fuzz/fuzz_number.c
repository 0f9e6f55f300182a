/* Any text is a number or an error; what is read prints and reads back as the same. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"

/* Longer texts test nothing new. */
#define TEXT_MAX 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_whole(struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    int64_t value, back = 0;
    uint64_t natural, again = 0;
    struct err err;

    if (number_parse_int(text, &value, &err) == 0) {
        buf_printf(&out, "%" PRId64, value);
        assert(number_parse_int(buf_view(&out), &back, &err) == 0 && back == value);
    }
    buf_clear(&out);
    if (number_parse_uint(text, &natural, &err) == 0) {
        buf_printf(&out, "%" PRIu64, natural);
        assert(number_parse_uint(buf_view(&out), &again, &err) == 0 && again == natural);
    }
}

static void check_double(struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    double value, back = 0;
    struct err err;

    if (number_parse_double(text, &value, &err) < 0)
        return;
    assert(isfinite(value));
    number_print_double(value, &out);
    assert(number_parse_double(buf_view(&out), &back, &err) == 0 && back == value);
    assert(signbit(back) == signbit(value));
}

static void check_units(struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    int64_t ns, strict;
    uint64_t bytes;
    unsigned mode;
    struct err err;

    if (number_parse_duration(text, &ns, &err) == 0) {
        assert(ns >= 0);
        number_print_duration(ns, &out);
        number_print_age(ns, &out);
    }
    if (number_parse_duration_strict(text, &strict, &err) == 0) {
        assert(strict >= 0);
        /* In lower case both dialects agree. */
        assert(number_parse_duration(text, &ns, &err) < 0 || ns == strict);
    }
    if (number_parse_size(text, &bytes, &err) == 0)
        number_print_size(bytes, &out);
    assert(number_parse_mode(text, &mode, &err) < 0 || mode <= 07777);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_bytes(data, size < TEXT_MAX ? size : TEXT_MAX);

    check_whole(text);
    check_double(text);
    check_units(text);
    return 0;
}
