#include "fleet/enroll/https.h"

#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/enroll/response.h"
#include "fleet/enroll/token.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/pool.h"

#define SCHEME           "https://"
#define READ_SIZE        ((size_t)16 << 10)
#define HOST_MAX         256
#define LIBRARY_ERR_MAX  256
#define REQUEST_HEAD_MAX ((size_t)64 << 10)

/* One call. */
struct https_call {
    struct arena *arena;
    const struct https_server *server;
    const struct https_request *request;
    char host[HOST_MAX], port[8];
    int fd;
    SSL_CTX *context;
    SSL *ssl;
    int64_t deadline;
    struct response response;
};

static int fail_https(struct err *err, enum err_code code, const char *what)
{
    char text[LIBRARY_ERR_MAX] = "connection closed";
    unsigned long number = ERR_get_error();

    if (number)
        ERR_error_string_n(number, text, sizeof(text));
    ERR_clear_error();
    return err_set(err, code, "%s: %s", what, text);
}

/* --- addresses -------------------------------------------------------------------- */

/* "https://host:port/", "https://[::1]:8443". */
static bool split_url(const char *url, char host[static HOST_MAX], char port[static 8])
{
    struct str rest = str_from(url), name;
    size_t end;

    if (!str_starts(rest, STR(SCHEME)))
        return false;
    rest = str_from_offset(rest, strlen(SCHEME));
    if (rest.n > 0 && rest.p[rest.n - 1] == '/')
        rest.n--;
    if (rest.n > 0 && rest.p[0] == '[') {
        end = str_find_char(rest, ']', 0);
        if (end == STR_NONE)
            return false;
        name = str_slice(rest, 1, end - 1);
        rest = str_from_offset(rest, end + 1);
    } else {
        end = str_find_char(rest, ':', 0);
        name = str_slice(rest, 0, end);
        rest = str_from_offset(rest, name.n);
    }
    if (name.n == 0 || name.n >= HOST_MAX || memchr(name.p, '/', name.n))
        return false;
    memcpy(host, name.p, name.n);
    host[name.n] = '\0';
    rest = rest.n > 0 ? str_from_offset(rest, 1) : STR(HTTPS_PORT);
    if (rest.n == 0 || rest.n > 5)
        return false;
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] < '0' || rest.p[i] > '9')
            return false;
    memcpy(port, rest.p, rest.n);
    port[rest.n] = '\0';
    return true;
}

/* --- waiting ---------------------------------------------------------------------- */

static int wait_fd(struct https_call *call, short events, struct err *err)
{
    struct pollfd fds[] = { { .fd = call->fd, .events = events },
                            { .fd = cancel_fd(call->request->cancel), .events = POLLIN } };
    struct timespec room;
    int n;

    do {
        pool_block_begin();
        n = ppoll(fds, ARRAY_LEN(fds), clock_left(call->deadline, &room), NULL);
        pool_block_end();
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(err, errno, "wait for '%s'", call->host);
    if (cancel_is_raised(call->request->cancel))
        return err_set(err, ERR_CANCELED, "canceled");
    if (n == 0)
        return err_set(err, ERR_TIMEOUT, "no answer from '%s:%s' in time", call->host, call->port);
    return 0;
}

/* After an operation of the library that did not succeed: 0 to try again. */
static int wait_ssl(struct https_call *call, int result, const char *what, struct err *err)
{
    switch (SSL_get_error(call->ssl, result)) {
    case SSL_ERROR_WANT_READ: return wait_fd(call, POLLIN, err);
    case SSL_ERROR_WANT_WRITE: return wait_fd(call, POLLOUT, err);
    default: return fail_https(err, ERR_SYSTEM, what);
    }
}

/* --- connecting ------------------------------------------------------------------- */

static int connect_to(struct https_call *call, const struct addrinfo *address, struct err *err)
{
    socklen_t size = sizeof(int);
    int problem = 0;

    call->fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (call->fd < 0)
        return err_sys(err, errno, "socket");
    if (connect(call->fd, address->ai_addr, address->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return err_sys(err, errno, "connect to '%s:%s'", call->host, call->port);
    if (wait_fd(call, POLLOUT, err) < 0)
        return -1;
    (void)getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    return problem ? err_sys(err, problem, "connect to '%s:%s'", call->host, call->port) : 0;
}

static int connect_any(struct https_call *call, struct err *err)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
    struct addrinfo *list = NULL;
    int code, result = -1;

    pool_block_begin();
    code = getaddrinfo(call->host, call->port, &hints, &list);
    pool_block_end();
    if (code != 0)
        return err_set(err, ERR_NOT_FOUND, "host '%s': %s", call->host, gai_strerror(code));
    for (const struct addrinfo *one = list; one && result < 0; one = one->ai_next) {
        if (call->fd >= 0)
            (void)close(call->fd);
        result = connect_to(call, one, err);
        if (result < 0 && (err->code == ERR_CANCELED || err->code == ERR_TIMEOUT))
            break;
    }
    freeaddrinfo(list);
    return result;
}

/* --- trust ------------------------------------------------------------------------ */

static int add_anchors(SSL_CTX *context, struct str pem, struct err *err)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    size_t count = 0;
    X509 *cert;

    while (bio && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        count += X509_STORE_add_cert(store, cert) == 1;
        X509_free(cert);
    }
    BIO_free(bio);
    ERR_clear_error();
    /* a pin may name any certificate of the chain */
    (void)X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    return count > 0 ? 0 : err_set(err, ERR_INVALID, "no certificate to trust");
}

static int open_context(struct https_call *call, struct err *err)
{
    call->context = SSL_CTX_new(TLS_client_method());
    if (!call->context || SSL_CTX_set_min_proto_version(call->context, TLS1_3_VERSION) != 1)
        return fail_https(err, ERR_INVALID, "TLS");
    SSL_CTX_set_verify(
        call->context,
        call->server->trust == HTTPS_TRUST_NOBODY ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (call->server->trust == HTTPS_TRUST_TEXT)
        return add_anchors(call->context, call->server->ca_pem, err);
    if (call->server->trust == HTTPS_TRUST_SYSTEM &&
        SSL_CTX_set_default_verify_paths(call->context) != 1)
        return fail_https(err, ERR_INVALID, "certificates of the system");
    return 0;
}

static int open_https_session(struct https_call *call, struct err *err)
{
    X509_VERIFY_PARAM *param;

    call->ssl = SSL_new(call->context);
    if (!call->ssl || SSL_set_fd(call->ssl, call->fd) != 1)
        return fail_https(err, ERR_INVALID, "TLS");
    param = SSL_get0_param(call->ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(param, call->host) != 1) {
        ERR_clear_error();
        (void)SSL_set_tlsext_host_name(call->ssl, call->host);
        if (SSL_set1_host(call->ssl, call->host) != 1)
            return fail_https(err, ERR_INVALID, "TLS");
    }
    return 0;
}

/* A certificate from a trusted issuer, but for another name or time: a problem of the server or the
 * clock, not an attack. */
static bool is_own_mistake(const struct https_call *call, long verdict)
{
    return call->server->trust == HTTPS_TRUST_TEXT &&
           (verdict == X509_V_ERR_CERT_NOT_YET_VALID || verdict == X509_V_ERR_CERT_HAS_EXPIRED ||
            verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH);
}

static int shake_https_hands(struct https_call *call, struct err *err)
{
    int result;

    if (open_context(call, err) < 0 || open_https_session(call, err) < 0)
        return -1;
    while ((result = SSL_connect(call->ssl)) != 1)
        if (wait_ssl(call, result, "TLS", err) < 0) {
            const long verdict = SSL_get_verify_result(call->ssl);

            if (verdict != X509_V_OK && err->code == ERR_SYSTEM)
                return err_set(err, is_own_mistake(call, verdict) ? ERR_INVALID : ERR_UNSAFE,
                               "the certificate of '%s' is not trusted: %s", call->host,
                               X509_verify_cert_error_string(verdict));
            return -1;
        }
    return 0;
}

/* --- talking ---------------------------------------------------------------------- */

static int send_https_request(struct https_call *call, struct err *err)
{
    const struct https_request *request = call->request;
    AUTO_BUF struct buf out = BUF_INIT(REQUEST_HEAD_MAX + request->body.n);
    struct str rest;

    buf_printf(&out, "%s %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n", request->method,
               request->path, call->host, call->port);
    buf_printf(&out, "Accept: %s\r\nUser-Agent: zester-peel/" ZESTER_VERSION "\r\n",
               request->event ? "text/event-stream" : "application/json");
    if (request->authorization)
        buf_printf(&out, "Authorization: %s\r\n", request->authorization);
    if (request->token)
        buf_printf(&out, TOKEN_HEADER ": %s\r\n", request->token);
    if (request->body.n > 0)
        buf_printf(&out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                   request->body.n);
    buf_add_text(&out, "\r\n");
    buf_add_str(&out, request->body);
    for (rest = buf_view(&out); rest.n > 0;) {
        int n = SSL_write(call->ssl, rest.p, str_int(rest.n));

        if (n > 0)
            rest = str_from_offset(rest, (size_t)n);
        else if (wait_ssl(call, n, "send", err) < 0)
            return -1;
    }
    return 0;
}

/* More bytes of the answer, or its end. */
static int read_https_response(struct https_call *call, struct err *err)
{
    char bytes[READ_SIZE];
    int n;

    if (call->request->event) /* a stream may last, but not in silence */
        call->deadline = clock_after(clock_real(), call->request->timeout);
    while ((n = SSL_read(call->ssl, bytes, sizeof(bytes))) <= 0) {
        const int why = SSL_get_error(call->ssl, n);

        if (why == SSL_ERROR_ZERO_RETURN || (why == SSL_ERROR_SYSCALL && errno == 0)) {
            ERR_clear_error();
            return response_end(&call->response, err);
        }
        if (wait_ssl(call, n, "receive", err) < 0)
            return -1;
    }
    return response_feed(&call->response, (struct str){ bytes, (size_t)n }, err);
}

static int exchange_https(struct https_call *call, struct err *err)
{
    if (connect_any(call, err) < 0 || shake_https_hands(call, err) < 0 ||
        send_https_request(call, err) < 0)
        return -1;
    while (!call->response.is_over)
        if (read_https_response(call, err) < 0)
            return -1;
    return 0;
}

int https_call(struct arena *arena, const struct https_server *server,
               const struct https_request *request, struct https_response *ret_response,
               struct err *err)
{
    struct https_call call = {
        .arena = arena,
        .server = server,
        .request = request,
        .fd = -1,
        .deadline = clock_after(clock_real(), request->timeout),
        .response = RESPONSE_INIT(NULL, request->size_max),
    };
    int result;

    if (!split_url(server->url, call.host, call.port))
        return err_set(err, ERR_INVALID, "'%s': expected 'https://HOST:PORT'", server->url);
    call.response.host = call.host;
    call.response.event = request->event;
    call.response.self = request->self;
    result = exchange_https(&call, err);
    if (result == 0)
        *ret_response = (struct https_response){ call.response.status, call.response.retry_after,
                                                 buf_copy(&call.response.body, arena) };
    SSL_free(call.ssl);
    SSL_CTX_free(call.context);
    if (call.fd >= 0)
        (void)close(call.fd);
    response_done(&call.response);
    return result;
}
