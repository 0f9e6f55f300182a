#include "core/sys/fetch.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/curl_api.h"
#include "core/sys/fd.h"
#include "core/sys/pool.h"

struct transfer {
    const struct fetch_options *options;
    struct buf bytes; /* the result, unless it goes to a file */
    int fd;           /* that file; -1 */
    uint64_t size;
    int errnum; /* the file could not be written */
    struct curl_slist *headers;
};

static bool write_fetched_bytes(struct transfer *transfer, const char *bytes, size_t n)
{
    struct err err;

    if (transfer->fd < 0) {
        buf_add(&transfer->bytes, bytes, n);
        return true;
    }
    if (fd_write(transfer->fd, bytes, n, &err) == 0)
        return true;
    transfer->errnum = err.errnum;
    return false;
}

static size_t on_fetched_bytes(char *bytes, size_t size, size_t count, void *self)
{
    struct transfer *transfer = self;
    const size_t n = size * count;

    transfer->size += n;
    if (transfer->size > transfer->options->size_max || !write_fetched_bytes(transfer, bytes, n))
        return 0;
    return n;
}

static int on_fetch_progress(void *self, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct transfer *transfer = self;

    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return cancel_is_raised(transfer->options->cancel);
}

static void set_headers(CURL *easy, struct transfer *transfer)
{
    const struct fetch_options *options = transfer->options;

    for (size_t i = 0; i < FETCH_HEADERS_MAX && options->headers[i]; i++)
        transfer->headers = curl_api.slist_append(transfer->headers, options->headers[i]);
    if (transfer->headers) {
        (void)curl_api.easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
        (void)curl_api.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    }
    if (options->ca)
        (void)curl_api.easy_setopt(easy, CURLOPT_CAINFO, options->ca);
}

static void set_fetch_options(CURL *easy, const char *url, struct transfer *transfer)
{
    const struct fetch_options *options = transfer->options;

    (void)curl_api.easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_api.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_api.easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    (void)curl_api.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    (void)curl_api.easy_setopt(easy, CURLOPT_MAXREDIRS, (long)FETCH_REDIRECTS_MAX);
    (void)curl_api.easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    (void)curl_api.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_api.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                               (long)(FETCH_CONNECT_TIMEOUT / CLOCK_MS));
    (void)curl_api.easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(options->timeout / CLOCK_MS));
    (void)curl_api.easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)options->size_max);
    (void)curl_api.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_fetched_bytes);
    (void)curl_api.easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    (void)curl_api.easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_fetch_progress);
    (void)curl_api.easy_setopt(easy, CURLOPT_XFERINFODATA, transfer);
    (void)curl_api.easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
}

static int explain_fetch_error(CURL *easy, CURLcode code, const char *url,
                               const struct transfer *transfer, struct err *err)
{
    long status = 0;

    if (cancel_is_raised(transfer->options->cancel))
        return err_set(err, ERR_CANCELED, "fetch '%s': canceled", url);
    if (transfer->errnum != 0)
        return err_sys(err, transfer->errnum, "fetch '%s': write", url);
    if (transfer->size > transfer->options->size_max || code == CURLE_FILESIZE_EXCEEDED)
        return err_set(err, ERR_LIMIT, "fetch '%s': more than the limit of %llu bytes", url,
                       (unsigned long long)transfer->options->size_max);
    (void)curl_api.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_HTTP_RETURNED_ERROR)
        return err_set(err, status == 404 || status == 410 ? ERR_NOT_FOUND : ERR_INVALID,
                       "fetch '%s': HTTP status %ld", url, status);
    return err_set(err, code == CURLE_OPERATION_TIMEDOUT ? ERR_TIMEOUT : ERR_INVALID,
                   "fetch '%s': %s", url, curl_api.easy_strerror(code));
}

/* The library does not report an ignored redirect as an error. */
static int check_status(CURL *easy, const char *url, struct err *err)
{
    long status = 0;

    (void)curl_api.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 300)
        return err_set(err, ERR_INVALID, "fetch '%s': HTTP status %ld", url, status);
    return 0;
}

static int transfer_all(const char *url, struct transfer *transfer, struct err *err)
{
    CURL *easy = curl_api_load() ? curl_api.easy_init() : NULL;
    CURLcode code;
    int rc;

    if (!easy)
        return err_set(err, ERR_UNSUPPORTED, "fetch '%s': %s cannot be loaded (install libcurl4)",
                       url, CURL_API_LIBRARY);
    set_fetch_options(easy, url, transfer);
    set_headers(easy, transfer);
    pool_block_begin();
    code = curl_api.easy_perform(easy);
    pool_block_end();
    rc = code == CURLE_OK ? check_status(easy, url, err)
                          : explain_fetch_error(easy, code, url, transfer, err);
    curl_api.easy_cleanup(easy);
    curl_api.slist_free_all(transfer->headers);
    return rc;
}

int fetch_file(int fd, const char *url, const struct fetch_options *options, struct err *err)
{
    struct transfer transfer = { .options = options, .bytes = BUF_INIT(0), .fd = fd };

    return transfer_all(url, &transfer, err);
}

int fetch(struct arena *arena, const char *url, const struct fetch_options *options,
          struct str *ret_bytes, struct err *err)
{
    struct transfer transfer = { .options = options, .bytes = BUF_INIT(BUF_NO_LIMIT), .fd = -1 };
    const int rc = transfer_all(url, &transfer, err);

    if (rc == 0)
        *ret_bytes = buf_copy(&transfer.bytes, arena);
    buf_done(&transfer.bytes);
    return rc;
}
