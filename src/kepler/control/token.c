#include "kepler/control/token.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hex.h"

const char *token_given(void)
{
    const char *text = getenv(TOKEN_VARIABLE);

    return text && text[0] ? text : NULL;
}

bool token_read(const char *text, uint8_t ret_bytes[static TOKEN_BYTES])
{
    AUTO_BUF struct buf bytes = BUF_INIT(TOKEN_BYTES);
    struct err ignored;
    bool whole = strlen(text) == 2 * TOKEN_BYTES &&
                 hex_decode(str_from(text), &bytes, &ignored) == 0 && bytes.n == TOKEN_BYTES;

    if (whole)
        memcpy(ret_bytes, bytes.p, TOKEN_BYTES);
    if (bytes.p)
        explicit_bzero(bytes.p, bytes.n);
    return whole;
}

void token_write(const uint8_t bytes[static TOKEN_BYTES], char ret_text[static TOKEN_TEXT_SIZE])
{
    hex_write(bytes, TOKEN_BYTES, ret_text);
}

bool token_equal(const uint8_t a[static TOKEN_BYTES], const uint8_t b[static TOKEN_BYTES])
{
    volatile uint8_t different = 0;

    for (size_t i = 0; i < TOKEN_BYTES; i++)
        different = (uint8_t)(different | (a[i] ^ b[i]));
    return different == 0;
}
