#include "fleet/nats/servers.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"

#define DOUBLINGS_MAX 16

static const struct {
    struct str text;
    bool tls;
} schemes[] = {
    { { "nats://", 7 }, false },
    { { "tls://", 6 }, true },
};

static char *copy_server_text(struct str text)
{
    char *copy = mem_alloc(text.n + 1);

    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return copy;
}

void nats_servers_init(struct nats_servers *servers)
{
    *servers = (struct nats_servers){ .current = NATS_SERVERS_MAX };
}

static void free_server(struct nats_server *server)
{
    free(server->host);
    free(server->tls_name);
}

void nats_servers_done(struct nats_servers *servers)
{
    VEC_EACH (&servers->list, server)
        free_server(server);
    vec_done(&servers->list);
    nats_servers_init(servers);
}

/* --- addresses ---------------------------------------------------------------------- */

struct address {
    struct str host;
    uint16_t port;
    bool tls;
};

static int split_port(struct str text, struct address *ret, struct err *err)
{
    size_t colon = STR_NONE;
    uint64_t port = NATS_PORT_DEFAULT;

    if (text.n > 0 && text.p[0] == '[') {
        size_t end = str_find_char(text, ']', 0);

        if (end == STR_NONE)
            return err_set(err, ERR_INVALID, "']' is missing");
        ret->host = str_slice(text, 1, end - 1);
        text = str_from_offset(text, end + 1);
        if (text.n > 0 && text.p[0] != ':')
            return err_set(err, ERR_INVALID, "expected ':' and a port after ']'");
        colon = text.n > 0 ? 0 : STR_NONE;
    } else {
        colon = str_find_char(text, ':', 0);
        ret->host = colon == STR_NONE ? text : str_slice(text, 0, colon);
    }
    if (colon != STR_NONE && number_parse_uint(str_from_offset(text, colon + 1), &port, err) < 0)
        return err_wrap(err, "port");
    if (port == 0 || port > UINT16_MAX)
        return err_set(err, ERR_INVALID, "port is not in 1..65535");
    ret->port = (uint16_t)port;
    return 0;
}

static bool is_host(struct str host)
{
    if (host.n == 0 || host.n > NATS_HOST_MAX)
        return false;
    for (size_t i = 0; i < host.n; i++)
        if (host.p[i] <= ' ' || (unsigned char)host.p[i] >= 0x7f || strchr("/@?#[]", host.p[i]))
            return false;
    return true;
}

static int parse_server_address(struct str text, struct address *ret, struct err *err)
{
    struct str rest = text;

    *ret = (struct address){ .tls = false };
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(text, schemes[i].text)) {
            rest = str_from_offset(text, schemes[i].text.n);
            ret->tls = schemes[i].tls;
        }
    if (rest.p == text.p && str_find(text, STR("://"), 0) != STR_NONE)
        return err_set(err, ERR_INVALID, "expected tls:// or nats://");
    if (str_find_char(rest, '@', 0) != STR_NONE)
        return err_set(err, ERR_INVALID, "user and password do not belong into an address");
    if (rest.n > 0 && rest.p[rest.n - 1] == '/')
        rest.n--;
    if (split_port(rest, ret, err) < 0)
        return -1;
    if (!is_host(ret->host))
        return err_set(err, ERR_INVALID, "not a valid host name");
    return 0;
}

static struct nats_server *find_server_address(struct nats_servers *servers,
                                               const struct address *address)
{
    VEC_EACH (&servers->list, server)
        if (server->port == address->port && str_is(address->host, server->host))
            return server;
    return NULL;
}

int nats_servers_add(struct nats_servers *servers, struct str address, struct err *err)
{
    struct address parsed;

    if (parse_server_address(address, &parsed, err) < 0)
        return err_wrap(err, "server '%.*s'", STR_ARG(address));
    if (find_server_address(servers, &parsed))
        return 0;
    if (servers->list.n >= NATS_SERVERS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d servers", NATS_SERVERS_MAX);
    VEC_PUSH(&servers->list, (struct nats_server){ .host = copy_server_text(parsed.host),
                                                   .port = parsed.port,
                                                   .tls = parsed.tls });
    return 0;
}

void nats_servers_shuffle(struct nats_servers *servers, uint64_t random)
{
    for (size_t i = servers->list.n; i > 1; i--) {
        size_t j;
        struct nats_server kept = servers->list.p[i - 1];

        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        j = (size_t)((random >> 33) % i);
        servers->list.p[i - 1] = servers->list.p[j];
        servers->list.p[j] = kept;
    }
}

/* --- discovery ---------------------------------------------------------------------- */

static bool is_ip(const char *host)
{
    unsigned char room[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, room) == 1 || inet_pton(AF_INET6, host, room) == 1;
}

static bool is_server_listed(const struct nats_server *server, const struct str *addresses,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct address parsed;
        struct err err;

        if (parse_server_address(addresses[i], &parsed, &err) == 0 && parsed.port == server->port &&
            str_is(parsed.host, server->host))
            return true;
    }
    return false;
}

static void forget_unlisted(struct nats_servers *servers, const struct str *addresses, size_t count)
{
    size_t kept = 0, current = servers->current;

    for (size_t i = 0; i < servers->list.n; i++) {
        struct nats_server *server = &servers->list.p[i];

        if (server->discovered && i != current && !is_server_listed(server, addresses, count)) {
            free_server(server);
            continue;
        }
        if (i == current)
            servers->current = kept;
        servers->list.p[kept++] = *server;
    }
    servers->list.n = kept;
}

void nats_servers_discover(struct nats_servers *servers, const struct str *addresses, size_t count,
                           const char *tls_name)
{
    forget_unlisted(servers, addresses, count);
    for (size_t i = 0; i < count; i++) {
        size_t before = servers->list.n;
        struct nats_server *added;
        struct err err;

        if (nats_servers_add(servers, addresses[i], &err) < 0 || servers->list.n == before)
            continue; /* what a server announces is a hint */
        added = &servers->list.p[before];
        added->discovered = true;
        if (tls_name && is_ip(added->host) && !is_ip(tls_name))
            added->tls_name = mem_strdup(tls_name);
    }
}

/* --- turns -------------------------------------------------------------------------- */

/* The first that is not tried after the current one; SIZE_MAX: none. */
static size_t find_untried(const struct nats_servers *servers, bool lame)
{
    size_t n = servers->list.n, begin = servers->current < n ? servers->current + 1 : 0;

    for (size_t i = 0; i < n; i++) {
        const struct nats_server *server = &servers->list.p[(begin + i) % n];

        if (!server->tried && server->lame == lame)
            return (begin + i) % n;
    }
    return SIZE_MAX;
}

struct nats_server *nats_servers_next(struct nats_servers *servers, bool *ret_round_over)
{
    size_t found;

    *ret_round_over = false;
    for (;;) {
        found = find_untried(servers, false);
        if (found == SIZE_MAX)
            found = find_untried(servers, true);
        if (found != SIZE_MAX)
            break;
        VEC_EACH (&servers->list, server)
            server->tried = server->lame = false;
        servers->rounds++;
        *ret_round_over = true;
    }
    servers->current = found;
    servers->list.p[found].tried = true;
    return &servers->list.p[found];
}

struct nats_server *nats_servers_current(struct nats_servers *servers)
{
    return servers->current < servers->list.n ? &servers->list.p[servers->current] : NULL;
}

void nats_servers_succeeded(struct nats_servers *servers)
{
    servers->rounds = 0;
    VEC_EACH (&servers->list, server)
        server->tried = server->lame = false;
}

int64_t nats_servers_pause(const struct nats_servers *servers, int64_t min, int64_t max,
                           uint64_t random)
{
    unsigned doublings = servers->rounds < DOUBLINGS_MAX ? servers->rounds : DOUBLINGS_MAX;
    int64_t plan_binding = min > max >> doublings ? max : min << doublings;

    return plan_binding > 0 ? (int64_t)(random % (uint64_t)plan_binding) + 1 : 0;
}
