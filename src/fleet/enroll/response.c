#include "fleet/enroll/response.h"

#include <string.h>
#include <strings.h>

#include "core/base/err.h"
#include "core/base/mem.h"

#define HTTP_OK     200
#define HEAD_END    "\r\n\r\n"
#define LINE_END    "\r\n"
#define DIGITS_MAX  8 /* of a size: 4 GiB in chunks, 100 MB as a length */
#define STATUS_SIZE 3

static bool is_stream(const struct response *response)
{
    return response->event && response->status == HTTP_OK;
}

static int fail_large_response(const struct response *response, struct err *err)
{
    return err_set(err, ERR_LIMIT, "the answer of '%s' is too large", response->host);
}

static struct str take_header_line(struct str *rest)
{
    struct str line = str_cut(rest, '\n');

    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static bool read_response_number(struct str text, unsigned base, size_t *ret)
{
    size_t value = 0;

    if (text.n == 0 || text.n > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                               : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                      : base;

        if (digit >= base)
            return false;
        value = value * base + digit;
    }
    *ret = value;
    return true;
}

/* --- head --------------------------------------------------------------------------- */

static bool read_length(struct response *response, struct str value)
{
    response->has_length = true;
    return read_response_number(value, 10, &response->left);
}

static bool read_transfer_encoding(struct response *response, struct str value)
{
    response->is_chunked = true;
    return str_eq_text(value, "chunked");
}

static bool read_retry_after(struct response *response, struct str value)
{
    size_t seconds;

    if (read_response_number(value, 10, &seconds)) /* or a date, which no server sends */
        response->retry_after = (int)seconds;
    return true;
}

static const struct header_row {
    const char *name;
    bool (*read)(struct response *response, struct str value);
} header_rows[] = {
    { "content-length", read_length },
    { "transfer-encoding", read_transfer_encoding },
    { "retry-after", read_retry_after },
};

static bool read_response_header(struct response *response, struct str line)
{
    struct str value = line, name = str_cut(&value, ':');

    for (size_t i = 0; i < ARRAY_LEN(header_rows); i++)
        if (name.n == strlen(header_rows[i].name) &&
            strncasecmp(name.p, header_rows[i].name, name.n) == 0)
            return header_rows[i].read(response, str_trim(value.p ? value : STR("")));
    return true;
}

static int parse_head(struct response *response, struct str head, struct err *err)
{
    struct str line = take_header_line(&head), version = str_cut(&line, ' ');
    size_t status;
    bool ok = str_starts(version, STR("HTTP/1.")) && line.p && line.n >= STATUS_SIZE &&
              read_response_number(str_slice(line, 0, STATUS_SIZE), 10, &status);

    while (ok && head.p && head.n > 0)
        ok = read_response_header(response, take_header_line(&head));
    if (!ok)
        return err_set(err, ERR_INVALID, "'%s' does not speak HTTP", response->host);
    response->status = (int)status;
    return 0;
}

static int take_head(struct response *response, struct err *err)
{
    size_t end = str_find(buf_view(&response->in), STR(HEAD_END), 0);

    if (end == STR_NONE)
        return response->in.n > RESPONSE_HEAD_MAX ? fail_large_response(response, err) : 0;
    if (parse_head(response, str_slice(buf_view(&response->in), 0, end + strlen(LINE_END)), err) <
        0)
        return -1;
    buf_consume(&response->in, end + strlen(HEAD_END));
    response->has_head = true;
    if (response->is_chunked) {
        response->has_length = false; /* the chunks say it */
        response->left = 0;
    }
    response->is_over = response->has_length && response->left == 0;
    return 0;
}

/* --- body --------------------------------------------------------------------------- */

/* The size of the next chunk. 1: it is known; 0: more bytes are needed. */
static int begin_chunk(struct response *response, struct err *err)
{
    struct str rest = buf_view(&response->in), line;

    if (str_starts(rest, STR(LINE_END))) /* after the last one */
        rest = str_from_offset(rest, strlen(LINE_END));
    if (str_find_char(rest, '\n', 0) == STR_NONE)
        return 0;
    line = take_header_line(&rest);
    if (!read_response_number(str_cut(&line, ';'), 16, &response->left))
        return err_set(err, ERR_INVALID, "'%s' sent a chunk without a size", response->host);
    response->is_over = response->left == 0;
    buf_consume(&response->in, response->in.n - rest.n);
    return 1;
}

/* From `in` to `body`, as far as it goes. */
static int take_body(struct response *response, struct err *err)
{
    while (response->in.n > 0 && !response->is_over) {
        const bool is_counted = response->is_chunked || response->has_length;
        int known = 1;
        size_t n;

        if (response->is_chunked && response->left == 0)
            known = begin_chunk(response, err);
        if (known <= 0)
            return known;
        if (response->is_over)
            break;
        n = response->in.n;
        if (is_counted && n > response->left)
            n = response->left;
        buf_add(&response->body, response->in.p, n);
        buf_consume(&response->in, n);
        response->left -= is_counted ? n : 0;
        response->is_over = response->has_length && response->left == 0;
    }
    return response->body.full ? fail_large_response(response, err) : 0;
}

/* An event ends with an empty line. */
static void tell_events(struct response *response)
{
    struct str rest = buf_view(&response->body);
    size_t end;

    while ((end = str_find(rest, STR("\n\n"), 0)) != STR_NONE) {
        struct str block = str_slice(rest, 0, end), name = STR(""), data = STR("");

        while (block.p) {
            struct str value = str_cut(&block, '\n'), key = str_cut(&value, ':');

            if (str_eq_text(key, "event") && value.p)
                name = str_trim(value);
            if (str_eq_text(key, "data") && value.p)
                data = str_trim(value);
        }
        rest = str_from_offset(rest, end + strlen("\n\n"));
        if (name.n > 0 && !response->event(response->self, name, data)) {
            response->is_over = true;
            return;
        }
    }
    buf_consume(&response->body, response->body.n - rest.n);
}

/* --- all of it ---------------------------------------------------------------------- */

int response_feed(struct response *response, struct str bytes, struct err *err)
{
    buf_add(&response->in, bytes.p, bytes.n);
    if (response->in.full)
        return fail_large_response(response, err);
    if (!response->has_head && take_head(response, err) < 0)
        return -1;
    if (!response->has_head)
        return 0;
    if (take_body(response, err) < 0)
        return -1;
    if (is_stream(response))
        tell_events(response);
    return 0;
}

int response_end(struct response *response, struct err *err)
{
    const bool is_whole = response->is_over || (!response->is_chunked && !response->has_length);

    if (!response->has_head)
        return err_set(err, ERR_INVALID, "'%s' closed the connection", response->host);
    if (!is_whole && !is_stream(response)) /* a stream may end anywhere */
        return err_set(err, ERR_INVALID, "'%s' closed the connection in its answer",
                       response->host);
    response->is_over = true;
    return 0;
}

void response_done(struct response *response)
{
    buf_done(&response->in);
    buf_done(&response->body);
}
