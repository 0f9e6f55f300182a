#include "core/http/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/str.h"
#include "core/sys/fd.h"

#define BACKLOG  512
#define HOST_MAX INET6_ADDRSTRLEN
#define PORT_MAX 65535

union endpoint {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct bind_at {
    union endpoint at;
    socklen_t size;
    bool is_everywhere; /* no host was given */
};

static void set_v4(struct bind_at *where, in_port_t port)
{
    where->size = sizeof(where->at.v4);
    where->at.v4.sin_family = AF_INET;
    where->at.v4.sin_port = port;
}

static void set_v6(struct bind_at *where, in_port_t port)
{
    where->size = sizeof(where->at.v6);
    where->at.v6.sin6_family = AF_INET6;
    where->at.v6.sin6_port = port;
}

static int read_host(struct str host, in_port_t port, struct bind_at *ret)
{
    char text[HOST_MAX + 1];
    bool has_brackets = host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';

    if (host.n == 0) {
        ret->is_everywhere = true;
        set_v6(ret, port);
        return 0;
    }
    if (has_brackets)
        host = str_slice(host, 1, host.n - 2);
    if (host.n > HOST_MAX)
        return -1;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    if (has_brackets) {
        set_v6(ret, port);
        return inet_pton(AF_INET6, text, &ret->at.v6.sin6_addr) == 1 ? 0 : -1;
    }
    set_v4(ret, port);
    return inet_pton(AF_INET, text, &ret->at.v4.sin_addr) == 1 ? 0 : -1;
}

static int read_bind_address(const char *text, struct bind_at *ret, struct err *err)
{
    struct str all = str_from(text);
    const char *colon = strrchr(text, ':');
    struct str host = str_slice(all, 0, colon ? (size_t)(colon - text) : 0);
    int64_t port;

    memset(ret, 0, sizeof(*ret));
    if (!colon || number_parse_int(str_from(colon + 1), &port, err) < 0 || port < 0 ||
        port > PORT_MAX || read_host(host, htons((uint16_t)port), ret) < 0)
        return err_set(err, ERR_INVALID,
                       "'%s': expected an address and a port such as 127.0.0.1:8443, [::1]:8443 or "
                       ":8443",
                       text);
    return 0;
}

int address_check(const char *text, struct err *err)
{
    struct bind_at where;

    return read_bind_address(text, &where, err);
}

/* --- listening ---------------------------------------------------------------------- */

static int open_listen_socket(const struct bind_at *where, struct err *err)
{
    const int yes = 1, no = 0;
    int family = where->at.any.sa_family;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_sys(err, errno, "socket");
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY,
                                          where->is_everywhere ? &no : &yes, sizeof(no)) < 0) ||
        bind(fd, &where->at.any, where->size) < 0 || listen(fd, BACKLOG) < 0) {
        err_sys(err, errno, "bind");
        fd_close(&fd);
        return -1;
    }
    return fd;
}

static uint16_t get_socket_port(int fd)
{
    union endpoint at;
    socklen_t size = sizeof(at);

    memset(&at, 0, sizeof(at));
    if (getsockname(fd, &at.any, &size) < 0)
        return 0;
    return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
}

int address_listen(const char *text, uint16_t *ret_port, struct err *err)
{
    struct bind_at where;
    int fd;

    if (read_bind_address(text, &where, err) < 0)
        return -1;
    fd = open_listen_socket(&where, err);
    if (fd < 0 && where.is_everywhere && err->errnum == EAFNOSUPPORT) {
        in_port_t port = where.at.v6.sin6_port;

        memset(&where.at, 0, sizeof(where.at));
        set_v4(&where, port); /* a kernel without IPv6 */
        fd = open_listen_socket(&where, err);
    }
    if (fd < 0)
        return err_wrap(err, "cannot listen on '%s'", text);
    *ret_port = get_socket_port(fd);
    return fd;
}

/* --- connecting --------------------------------------------------------------------- */

/* A server that listens everywhere listens on loopback, too. */
static void aim_at_loopback(struct bind_at *where)
{
    in_port_t port = where->at.v6.sin6_port;

    memset(&where->at, 0, sizeof(where->at));
    set_v4(where, port);
    where->at.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

int address_connect(const char *text, struct err *err)
{
    struct bind_at where;
    int fd;

    if (read_bind_address(text, &where, err) < 0)
        return -1;
    if (where.is_everywhere)
        aim_at_loopback(&where);
    fd = socket(where.at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(err, errno, "socket");
    if (connect(fd, &where.at.any, where.size) < 0 && errno != EINPROGRESS) {
        err_sys(err, errno, "connect");
        fd_close(&fd);
    }
    return fd;
}

const char *address_host(struct arena *arena, const struct sockaddr *address)
{
    char text[HOST_MAX] = "unknown";
    union endpoint at;

    memset(&at, 0, sizeof(at));
    if (address && address->sa_family == AF_INET) {
        memcpy(&at.v4, address, sizeof(at.v4));
        (void)inet_ntop(AF_INET, &at.v4.sin_addr, text, sizeof(text));
    } else if (address && address->sa_family == AF_INET6) {
        memcpy(&at.v6, address, sizeof(at.v6));
        if (IN6_IS_ADDR_V4MAPPED(&at.v6.sin6_addr))
            (void)inet_ntop(AF_INET, &at.v6.sin6_addr.s6_addr[12], text, sizeof(text));
        else
            (void)inet_ntop(AF_INET6, &at.v6.sin6_addr, text, sizeof(text));
    }
    return arena_strdup(arena, text);
}
