#include "fleet/nats/header.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"

static const struct str version = { "NATS/1.0", 8 };

#define STATUS_DIGITS 3

/* Up to the line end, which is \r\n or \n; moves `at` past it. */
static struct str next_header_line(struct str block, size_t *at)
{
    size_t end = str_find_char(block, '\n', *at);
    struct str line = str_slice(block, *at, end == STR_NONE ? block.n : end - *at);

    *at = end == STR_NONE ? block.n : end + 1;
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

int nats_header_status(struct str block, struct str *ret_text)
{
    size_t at = 0;
    struct str line = next_header_line(block, &at);
    int status = 0;

    if (ret_text)
        *ret_text = STR("");
    if (!str_starts(line, version))
        return 0;
    line = str_trim(str_from_offset(line, version.n));
    if (line.n < STATUS_DIGITS)
        return 0;
    for (size_t i = 0; i < STATUS_DIGITS; i++) {
        if (line.p[i] < '0' || line.p[i] > '9')
            return 0;
        status = status * 10 + (line.p[i] - '0');
    }
    if (ret_text)
        *ret_text = str_trim(str_from_offset(line, STATUS_DIGITS));
    return status;
}

bool nats_header_next(struct str block, size_t *at, struct str *ret_name, struct str *ret_value)
{
    if (*at == 0)
        (void)next_header_line(block, at); /* the version */
    while (*at < block.n) {
        struct str line = next_header_line(block, at);
        size_t colon = str_find_char(line, ':', 0);

        if (colon == STR_NONE || colon == 0)
            continue;
        *ret_name = str_slice(line, 0, colon);
        *ret_value = str_trim(str_from_offset(line, colon + 1));
        return true;
    }
    return false;
}

bool nats_header_find(struct str block, const char *name, struct str *ret_value)
{
    struct str key, value;
    size_t at = 0;

    while (nats_header_next(block, &at, &key, &value))
        if (str_is(key, name)) {
            *ret_value = value;
            return true;
        }
    return false;
}

static bool is_header_name(const char *name)
{
    for (const char *p = name; *p; p++)
        if (*p <= ' ' || *p == ':' || (unsigned char)*p >= 0x7f)
            return false;
    return *name != '\0';
}

int nats_header_add(struct buf *out, const char *name, struct str value, struct err *err)
{
    if (!is_header_name(name))
        return err_set(err, ERR_INVALID, "'%s' is not a valid header name", name);
    if (value.n > 0 && (memchr(value.p, '\n', value.n) || memchr(value.p, '\r', value.n)))
        return err_set(err, ERR_INVALID, "the value of header '%s' has more than one line", name);
    if (out->n == 0) {
        buf_add_str(out, version);
        buf_add_text(out, "\r\n");
    }
    buf_add_text(out, name);
    buf_add_text(out, ": ");
    buf_add_str(out, value);
    buf_add_text(out, "\r\n");
    if (out->full)
        return err_set(err, ERR_LIMIT, "headers are larger than %zu bytes", out->max);
    return 0;
}
