/* Checks of a server that need no login. */
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "commands/cli/fleet/doctor/doctor.h"
#include "fleet/enroll/presented.h"
#include "core/http/address.h"
#include "fleet/nats/servers.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

/* For the connection and the handshake of one address. */
#define REACH_NS (INT64_C(5) * CLOCK_SECOND)

/* A server to check, and advice for each problem. */
struct endpoint {
    enum presented_protocol protocol;
    const char *what;                        /* "server 10.0.0.1:4222" */
    const char *host;                        /* the name that is asked for */
    const char *renew, *closed, *not_spoken; /* advice */
};

static void add_presented(struct doctor *doctor, const struct endpoint *endpoint,
                          const struct certificate *certificate)
{
    struct certificate_facts facts;
    struct err err;

    if (certificate_look(certificate, doctor->arena, &facts, &err) < 0) {
        doctor_add(doctor, (struct doctor_finding){
                               "certificate", DOCTOR_FAIL,
                               arena_printf(doctor->arena, "%s: %s", endpoint->what, err.text),
                               endpoint->renew });
        return;
    }
    doctor_add_term(doctor, &(struct doctor_term){ .check = "certificate",
                                                   .what = endpoint->what,
                                                   .begins = facts.begins,
                                                   .ends = facts.ends,
                                                   .advice = endpoint->renew });
}

/* The port is open when it answers, whatever it answers. */
static bool probe_socket(struct doctor *doctor, const struct endpoint *endpoint, int fd)
{
    AUTO_CERTIFICATE struct certificate certificate = { 0 };
    struct err err;

    if (presented_fetch(fd, endpoint->protocol, endpoint->host, REACH_NS, &certificate, &err) < 0) {
        if (err.code == ERR_SYSTEM)
            return false;
        doctor_add_ok(doctor, "port", arena_printf(doctor->arena, "%s is open", endpoint->what));
        doctor_add(doctor, (struct doctor_finding){
                               "certificate", DOCTOR_FAIL,
                               arena_printf(doctor->arena, "%s: %s", endpoint->what, err.text),
                               endpoint->not_spoken });
        return true;
    }
    doctor_add_ok(doctor, "port", arena_printf(doctor->arena, "%s is open", endpoint->what));
    add_presented(doctor, endpoint, &certificate);
    return true;
}

static void add_closed(struct doctor *doctor, const struct endpoint *endpoint)
{
    doctor_add(doctor, (struct doctor_finding){
                           "port", DOCTOR_FAIL,
                           arena_printf(doctor->arena, "%s cannot be reached", endpoint->what),
                           endpoint->closed });
}

/* --- servers of the bus ------------------------------------------------------------- */

static bool probe_address(struct doctor *doctor, const struct endpoint *endpoint,
                          const struct addrinfo *address)
{
    AUTO_FD int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return false;
    (void)connect(fd, address->ai_addr, address->ai_addrlen); /* presented_fetch sees how it ends */
    return probe_socket(doctor, endpoint, fd);
}

static void probe_addresses(struct doctor *doctor, const struct nats_server *server,
                            const struct addrinfo *list)
{
    const struct endpoint endpoint = {
        .protocol = PRESENTED_NATS,
        .what = arena_printf(doctor->arena, "%s:%u", server->host, server->port),
        .host = server->host,
        .renew = "issue a new one with 'zester ca issue nats-server', then reload nats-server",
        .closed = "start nats-server there, or open the port in the firewall",
        .not_spoken = "no nats-server with TLS on this port: see 'zester nats-auth init'",
    };

    for (const struct addrinfo *address = list; address; address = address->ai_next)
        if (probe_address(doctor, &endpoint, address))
            return;
    add_closed(doctor, &endpoint);
}

static void check_server(struct doctor *doctor, const struct nats_server *server)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    char port[16];
    int status;

    (void)snprintf(port, sizeof(port), "%u", server->port);
    status = getaddrinfo(server->host, port, &hints, &list);
    if (status != 0) {
        doctor_add(doctor,
                   (struct doctor_finding){
                       "name", DOCTOR_FAIL,
                       arena_printf(doctor->arena, "%s: %s", server->host, gai_strerror(status)),
                       "add it to the DNS or to /etc/hosts, or use its address" });
        return;
    }
    doctor_add_ok(doctor, "name", arena_printf(doctor->arena, "%s is known", server->host));
    probe_addresses(doctor, server, list);
    freeaddrinfo(list);
}

static void check_bus_servers(struct doctor *doctor)
{
    struct str rest = str_from(doctor->target.urls);
    struct nats_servers servers;
    struct err err;

    nats_servers_init(&servers);
    while (rest.p)
        if (nats_servers_add(&servers, str_trim(str_cut(&rest, ',')), &err) < 0)
            doctor_add(doctor, (struct doctor_finding){ "name", DOCTOR_FAIL,
                                                        arena_strdup(doctor->arena, err.text),
                                                        "an address looks like tls://host:4222" });
    VEC_EACH (&servers.list, server)
        check_server(doctor, server);
    nats_servers_done(&servers);
}

/* --- the enrollment endpoint -------------------------------------------------------- */

/* Checks the master whose configuration is used; other addresses are unknown. */
static void check_enrollment(struct doctor *doctor)
{
    const char *address = doctor->target.enroll_addr;
    const struct endpoint endpoint = {
        .protocol = PRESENTED_HTTPS,
        .what = arena_printf(doctor->arena, "enrollment at %s", address),
        .host = "localhost",
        .renew = "a master renews a certificate that it issued: see its log; for one from a file, "
                 "run 'zester ca issue enroll' and reload the master",
        .closed = "start zester-master and check its log",
        .not_spoken = "another program uses the port: see 'enroll.addr' in the configuration",
    };
    AUTO_FD int fd = -1;
    struct err err;

    fd = address_connect(address, &err);
    if (fd < 0 || !probe_socket(doctor, &endpoint, fd))
        add_closed(doctor, &endpoint);
}

void doctor_check_reach(struct doctor *doctor)
{
    check_bus_servers(doctor);
    if (doctor->target.enroll_addr)
        check_enrollment(doctor);
}
