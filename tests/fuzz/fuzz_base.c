/* A text that a strict decoder takes is the one text that the encoder writes; and any bytes can be
 * encoded and read back. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/base32.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/base/ksuid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_base64(struct str text, enum base64_form form)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT), again = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf loose = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (base64_decode_strict(text, form, &bytes, &err) == 0) {
        base64_encode(buf_view(&bytes), form, &again);
        assert(str_eq(buf_view(&again), text));
        assert(base64_decode(text, form, &loose, &err) == 0);
        assert(str_eq(buf_view(&loose), buf_view(&bytes)));
    } else {
        assert(bytes.n == 0);
        (void)base64_decode(text, form, &bytes, &err);
    }
    buf_clear(&bytes);
    buf_clear(&again);
    base64_encode(text, form, &again);
    assert(base64_decode_strict(buf_view(&again), form, &bytes, &err) == 0);
    assert(str_eq(buf_view(&bytes), text));
}

static void check_base32(struct str text)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT), again = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (base32_decode(text, &bytes, &err) == 0) {
        base32_encode(buf_view(&bytes), &again);
        assert(str_eq(buf_view(&again), text));
    }
    buf_clear(&bytes);
    buf_clear(&again);
    base32_encode(text, &again);
    assert(base32_decode(buf_view(&again), &bytes, &err) == 0);
    assert(str_eq(buf_view(&bytes), text));
}

static void check_hex(struct str text)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT), again = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (hex_decode(text, &bytes, &err) == 0)
        assert(bytes.n * 2 == text.n);
    buf_clear(&bytes);
    hex_encode(text, &again);
    assert(hex_decode(buf_view(&again), &bytes, &err) == 0);
    assert(str_eq(buf_view(&bytes), text));
}

static void check_ksuid(struct str text)
{
    char again[KSUID_SIZE];
    struct ksuid ksuid;
    struct err err;

    if (ksuid_parse(text, &ksuid, &err) < 0)
        return;
    ksuid_print(&ksuid, again);
    assert(str_is(text, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_bytes(data, size);

    check_base64(text, BASE64_STANDARD);
    check_base64(text, BASE64_URL);
    check_base32(text);
    check_hex(text);
    check_ksuid(text);
    return 0;
}
