#include "fleet/enroll/presented.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"

/* The first line of a NATS server. */
#define GREETING_MAX ((size_t)64 << 10)
#define GREETING     "INFO "
#define CHUNK_SIZE   4096

/* Until the socket is ready, or it is too late. */
static int wait_probe_socket(int fd, short events, int64_t deadline, struct err *err)
{
    struct pollfd wait = { .fd = fd, .events = events };
    int64_t left = deadline - clock_now();
    int ready = 0;

    if (left > 0)
        ready = poll(&wait, 1, (int)(left / CLOCK_MS) + 1);
    if (ready < 0 && errno != EINTR)
        return err_sys(err, errno, "wait for the server");
    return ready == 0 ? err_set(err, ERR_TIMEOUT, "no answer in time") : 0;
}

static int finish_probe_connect(int fd, int64_t deadline, struct err *err)
{
    socklen_t size = sizeof(int);
    int problem = 0;

    if (wait_probe_socket(fd, POLLOUT, deadline, err) < 0)
        return err->code == ERR_TIMEOUT ? err_sys(err, ETIMEDOUT, "connect") : -1;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) < 0)
        problem = errno;
    return problem != 0 ? err_sys(err, problem, "connect") : 0;
}

/* It was reached, and is not what it should be. */
static int fail_broken(struct err *err, const char *what)
{
    (void)err_sys(err, errno, "%s", what);
    err->code = ERR_INVALID;
    return -1;
}

/* The server waits for us after its line: there is nothing behind it. */
static int skip_greeting(int fd, int64_t deadline, struct err *err)
{
    char chunk[CHUNK_SIZE], first[sizeof(GREETING) - 1];
    size_t total = 0;

    for (;;) {
        ssize_t n = recv(fd, chunk, sizeof(chunk), 0);
        const char *end;

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return fail_broken(err, "read the greeting");
        if (n == 0)
            return err_set(err, ERR_INVALID, "the server closed the connection");
        for (ssize_t i = 0; i < n && total + (size_t)i < sizeof(first); i++)
            first[total + (size_t)i] = chunk[i];
        total += n > 0 ? (size_t)n : 0;
        if (total >= sizeof(first) && memcmp(first, GREETING, sizeof(first)) != 0)
            return err_set(err, ERR_INVALID, "not a NATS server");
        end = n > 0 ? memchr(chunk, '\n', (size_t)n) : NULL;
        if (end)
            return end + 1 == chunk + n ? 0 : err_set(err, ERR_INVALID, "talks before TLS begins");
        if (total > GREETING_MAX)
            return err_set(err, ERR_LIMIT, "a greeting of more than %zu bytes", GREETING_MAX);
        if (n < 0 && wait_probe_socket(fd, POLLIN, deadline, err) < 0)
            return -1;
    }
}

static int fail_probe_tls(struct err *err)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    return err_set(err, ERR_INVALID, "TLS handshake: %s", reason ? reason : "connection closed");
}

/* Sends the library's output. The next read detects a closed connection. */
static int send_flight(SSL *ssl, int fd, int64_t deadline, struct err *err)
{
    char *bytes;
    long left = BIO_get_mem_data(SSL_get_wbio(ssl), &bytes);

    while (left > 0) {
        ssize_t n = send(fd, bytes, (size_t)left, MSG_NOSIGNAL);

        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            break;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return fail_broken(err, "write to the server");
        if (n < 0 && wait_probe_socket(fd, POLLOUT, deadline, err) < 0)
            return -1;
        bytes += n > 0 ? n : 0;
        left -= n > 0 ? n : 0;
    }
    (void)BIO_reset(SSL_get_wbio(ssl));
    return 0;
}

static int receive_flight(SSL *ssl, int fd, int64_t deadline, struct err *err)
{
    char chunk[CHUNK_SIZE];
    ssize_t n = recv(fd, chunk, sizeof(chunk), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return wait_probe_socket(fd, POLLIN, deadline, err);
    if (n < 0)
        return fail_broken(err, "read from the server");
    if (n == 0)
        return err_set(err, ERR_INVALID, "the server closed the connection");
    return BIO_write(SSL_get_rbio(ssl), chunk, (int)n) == (int)n ? 0 : fail_probe_tls(err);
}

/* The library sees memory only: a write to a server that is gone would end the process. */
static int shake_probe_hands(SSL *ssl, int fd, int64_t deadline, struct err *err)
{
    for (;;) {
        int result, why;

        ERR_clear_error();
        result = SSL_do_handshake(ssl);
        if (result == 1)
            return 0;
        why = SSL_get_error(ssl, result);
        if (why != SSL_ERROR_WANT_READ)
            return fail_probe_tls(err);
        if (send_flight(ssl, fd, deadline, err) < 0 || receive_flight(ssl, fd, deadline, err) < 0)
            return -1;
    }
}

static bool is_ip_literal(const char *name)
{
    unsigned char room[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, name, room) == 1 || inet_pton(AF_INET6, name, room) == 1;
}

/* Trust is not checked: an expired or foreign certificate is what we look for. */
static int fetch_certificate(SSL *ssl, int fd, const char *name, int64_t deadline, X509 **ret,
                             struct err *err)
{
    AUTO_FREE char *host = mem_strdup(name); /* the macro below casts a const away */
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());

    if (!in || !out || (!is_ip_literal(host) && SSL_set_tlsext_host_name(ssl, host) != 1)) {
        BIO_free(in);
        BIO_free(out);
        return fail_probe_tls(err);
    }
    (void)BIO_set_mem_eof_return(in, -1); /* empty is not the end */
    SSL_set_bio(ssl, in, out);
    SSL_set_verify(ssl, SSL_VERIFY_NONE, NULL);
    SSL_set_connect_state(ssl);
    if (shake_probe_hands(ssl, fd, deadline, err) < 0)
        return -1;
    *ret = SSL_get1_peer_certificate(ssl);
    return *ret ? 0 : err_set(err, ERR_INVALID, "the server presents no certificate");
}

int presented_fetch(int fd, enum presented_protocol protocol, const char *name, int64_t timeout,
                    struct certificate *ret_certificate, struct err *err)
{
    int64_t deadline = clock_after(clock_now(), timeout);
    X509 *x509 = NULL;
    SSL_CTX *context;
    SSL *ssl;
    int result;

    if (finish_probe_connect(fd, deadline, err) < 0 ||
        (protocol == PRESENTED_NATS && skip_greeting(fd, deadline, err) < 0))
        return -1;
    context = SSL_CTX_new(TLS_client_method());
    ssl = context ? SSL_new(context) : NULL;
    result = ssl ? fetch_certificate(ssl, fd, name, deadline, &x509, err) : fail_probe_tls(err);
    SSL_free(ssl);
    SSL_CTX_free(context);
    if (result == 0)
        ret_certificate->x509 = x509;
    return result;
}
