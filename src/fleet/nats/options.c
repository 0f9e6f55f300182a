/* The options of a connection: checked, and copied with their defaults. */
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/nats/core.h"
#include "fleet/nats/subject.h"

static char *copy_option_text(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

#define DEFAULT(field, value)                                                                      \
    do {                                                                                           \
        if (!(field))                                                                              \
            (field) = (value);                                                                     \
    } while (0)

void nats_options_copy(struct nats_options *to, const struct nats_options *from)
{
    *to = *from;
    to->servers = NULL;
    to->name = copy_option_text(from->name);
    to->user = copy_option_text(from->user);
    to->password = copy_option_text(from->password);
    to->token = copy_option_text(from->token);
    to->inbox_prefix =
        copy_option_text(from->inbox_prefix ? from->inbox_prefix : NATS_INBOX_PREFIX);
    DEFAULT(to->connect_timeout, NATS_CONNECT_TIMEOUT_NS);
    DEFAULT(to->ping_interval, NATS_PING_INTERVAL_NS);
    DEFAULT(to->pings_max, NATS_PINGS_MAX);
    DEFAULT(to->backoff_min, NATS_BACKOFF_MIN_NS);
    DEFAULT(to->backoff_max, NATS_BACKOFF_MAX_NS);
    DEFAULT(to->out_max, NATS_OUT_MAX);
    DEFAULT(to->parked_max, NATS_PARKED_MAX);
}

static void free_text(const char *text)
{
    union {
        const char *borrowed;
        char *owned;
    } both = { text };

    if (text)
        explicit_bzero(both.owned, strlen(text));
    free(both.owned);
}

void nats_options_done(struct nats_options *options)
{
    free_text(options->name);
    free_text(options->user);
    free_text(options->password);
    free_text(options->token);
    free_text(options->inbox_prefix);
}

int nats_options_check(const struct nats_options *options, struct nats_servers *servers,
                       struct err *err)
{
    if (!options->tls && !options->plain)
        return err_set(err, ERR_INVALID, "a connection without TLS requires the option 'plain'");
    if (options->inbox_prefix && !nats_subject_is_plain(str_from(options->inbox_prefix)))
        return err_set(err, ERR_INVALID, "'%s' is not a valid inbox prefix", options->inbox_prefix);
    for (size_t i = 0; i < options->server_count; i++)
        if (nats_servers_add(servers, str_from(options->servers[i]), err) < 0)
            return -1;
    if (servers->list.n == 0)
        return err_set(err, ERR_INVALID, "no server to connect to");
    VEC_EACH (&servers->list, server)
        if (server->tls && !options->tls)
            return err_set(err, ERR_INVALID,
                           "server '%s' is asked for by TLS, for which nothing is "
                           "set up",
                           server->host);
    return 0;
}
