#include "core/sys/post.h"

#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/curl_api.h"
#include "core/sys/pool.h"

#define CONNECT_TIMEOUT (10 * CLOCK_SECOND)
#define AGENT           "zester/" ZESTER_VERSION

struct sending {
    const struct post_request *request;
    uint64_t received;
};

/* The answer is read and dropped. */
static size_t discard_answer(char *bytes, size_t size, size_t count, void *self)
{
    struct sending *sending = self;

    (void)bytes;
    sending->received += size * count;
    return sending->received > POST_ANSWER_MAX ? 0 : size * count;
}

static int on_post_progress(void *self, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct sending *sending = self;

    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return cancel_is_raised(sending->request->cancel);
}

static void set_post_options(CURL *easy, struct sending *sending, struct curl_slist *headers)
{
    const struct post_request *request = sending->request;
    const int64_t connect = request->timeout < CONNECT_TIMEOUT ? request->timeout : CONNECT_TIMEOUT;

    (void)curl_api.easy_setopt(easy, CURLOPT_URL, request->url);
    (void)curl_api.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_api.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_api.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_api.easy_setopt(easy, CURLOPT_POST, 1L);
    (void)curl_api.easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.p);
    (void)curl_api.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.n);
    (void)curl_api.easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    (void)curl_api.easy_setopt(easy, CURLOPT_USERAGENT, AGENT);
    (void)curl_api.easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    (void)curl_api.easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (request->ca)
        (void)curl_api.easy_setopt(easy, CURLOPT_CAINFO, request->ca);
    (void)curl_api.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(connect / CLOCK_MS));
    (void)curl_api.easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(request->timeout / CLOCK_MS));
    (void)curl_api.easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard_answer);
    (void)curl_api.easy_setopt(easy, CURLOPT_WRITEDATA, sending);
    (void)curl_api.easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_post_progress);
    (void)curl_api.easy_setopt(easy, CURLOPT_XFERINFODATA, sending);
    (void)curl_api.easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
}

/* "Expect" would cost a round trip with servers that do not support it. */
static struct curl_slist *make_headers(const struct post_request *request)
{
    struct curl_slist *list = curl_api.slist_append(NULL, "Expect:");

    for (size_t i = 0; i < POST_HEADERS_MAX && request->headers[i]; i++)
        list = curl_api.slist_append(list, request->headers[i]);
    return list;
}

static int read_post_answer(CURL *easy, CURLcode code, const struct sending *sending,
                            struct post_answer *ret, struct err *err)
{
    long status = 0;
    curl_off_t wait = 0;

    if (cancel_is_raised(sending->request->cancel))
        return err_set(err, ERR_CANCELED, "canceled");
    if (code != CURLE_OK)
        return err_set(err, code == CURLE_OPERATION_TIMEDOUT ? ERR_TIMEOUT : ERR_INVALID, "%s",
                       curl_api.easy_strerror(code));
    (void)curl_api.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_api.easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait);
    if (wait < 0 || wait > INT64_MAX / CLOCK_SECOND)
        wait = 0;
    *ret = (struct post_answer){ (int)status, (int64_t)wait * CLOCK_SECOND };
    return 0;
}

int post(const struct post_request *request, struct post_answer *ret_answer, struct err *err)
{
    struct sending sending = { .request = request };
    CURL *easy = curl_api_load() ? curl_api.easy_init() : NULL;
    struct curl_slist *headers;
    CURLcode code;
    int rc;

    if (!easy)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot be loaded (install libcurl4)",
                       CURL_API_LIBRARY);
    headers = make_headers(request);
    set_post_options(easy, &sending, headers);
    pool_block_begin();
    code = curl_api.easy_perform(easy);
    pool_block_end();
    rc = read_post_answer(easy, code, &sending, ret_answer, err);
    curl_api.easy_cleanup(easy);
    curl_api.slist_free_all(headers);
    return rc;
}
