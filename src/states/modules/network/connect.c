/* network.connect - whether a port of a host can be connected to. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

#define ARGS        struct connect_args
#define PORT_MAX    65535
#define TIMEOUT_MAX 300

enum { PROTO_TCP, PROTO_UDP };

struct connect_args {
    const char *host;
    int64_t port, timeout;
    int descendants, proto;
};

/* clang-format off */
static const struct param connect_params[] = {
    PARAM("host", STR, ARGS, host, "a name or an address", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("port", INT, ARGS, port, "the port", .flags = PARAM_REQUIRED, PARAM_RANGE(1, PORT_MAX)),
    PARAM("timeout", INT, ARGS, timeout, "seconds to wait for each address", .default_text = "5", PARAM_RANGE(1, TIMEOUT_MAX)),
    PARAM("family", CHOICE, ARGS, descendants, "which addresses to try", .choices = "any|ipv4|ipv6", .default_text = "any"),
    PARAM("proto", CHOICE, ARGS, proto, "the protocol", .choices = "tcp|udp", .default_text = "tcp"),
    PARAM_REFUSED("source", "the system chooses the source address"),
    { 0 },
};
/* clang-format on */

/* The number of the error; 0: it is connected. */
static int try_to_connect(const struct addrinfo *to, int64_t timeout)
{
    AUTO_FD int fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd waiting = { .fd = fd, .events = POLLOUT };
    const int64_t deadline = clock_real() + timeout * CLOCK_SECOND;
    int error = 0, rc;

    if (fd < 0)
        return errno;
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    do {
        struct timespec room;

        rc = ppoll(&waiting, 1, clock_left(deadline, &room), NULL);
    } while (rc < 0 && errno == EINTR);
    if (rc == 0)
        return ETIMEDOUT;
    if (rc < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){ sizeof(error) }) < 0)
        return errno;
    return error;
}

static void put_result(struct state_run *run, bool connected, const char *comment,
                       struct value *ret)
{
    *ret = value_map(value_map_new(run->arena, 2));
    value_map_set(run->arena, ret->map, value_text("result"), value_bool(connected));
    value_map_set(run->arena, ret->map, value_text("comment"), value_text(comment));
}

static void try_all(struct state_run *run, const struct connect_args *want,
                    const struct addrinfo *all, struct value *ret)
{
    char address[NI_MAXHOST] = "";
    bool connected = false;

    for (const struct addrinfo *one = all; one && !connected; one = one->ai_next) {
        if (getnameinfo(one->ai_addr, one->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST) != 0)
            address[0] = '\0';
        connected = try_to_connect(one, want->timeout) == 0;
    }
    put_result(run, connected,
               arena_printf(run->arena, "%s to %s (%s) on %s port %lld",
                            connected ? "Successfully connected" : "Unable to connect", want->host,
                            address, want->proto == PROTO_UDP ? "udp" : "tcp",
                            (long long)want->port),
               ret);
}

static int connect_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    static const int families[] = { AF_UNSPEC, AF_INET, AF_INET6 };
    const struct connect_args *want = args;
    const struct addrinfo hints = { .ai_family = families[want->descendants],
                                    .ai_socktype =
                                        want->proto == PROTO_UDP ? SOCK_DGRAM : SOCK_STREAM };
    struct addrinfo *all = NULL;
    const char *port = arena_printf(run->arena, "%lld", (long long)want->port);
    const int rc = getaddrinfo(want->host, port, &hints, &all);

    (void)err;
    if (rc != 0) {
        put_result(
            run, false,
            arena_printf(run->arena, "Unable to resolve %s: %s", want->host, gai_strerror(rc)),
            ret);
        return 0;
    }
    try_all(run, want, all, ret);
    freeaddrinfo(all);
    return 0;
}

const struct module module_network_connect = {
    .name = "network.connect",
    .summary = "whether a port of a host can be connected to",
    .params = connect_params,
    .args_size = sizeof(struct connect_args),
    .call = connect_call,
};
