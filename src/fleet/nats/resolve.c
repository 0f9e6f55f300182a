#include "fleet/nats/resolve.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/nats/hub.h"
#include "core/sys/background_task.h"

#define PORT_SIZE 8

struct nats_resolve {
    struct background_task background_task;
    char *host;
    uint16_t port;
    nats_resolve_fn *fn; /* NULL: cancelled */
    void *self;
    struct addrinfo *list;
    int error;
};

static int find_addresses(const char *host, uint16_t port, int flags, struct addrinfo **ret_list)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICSERV | flags,
                                    .ai_socktype = SOCK_STREAM };
    char service[PORT_SIZE];

    (void)snprintf(service, sizeof(service), "%u", port);
    return getaddrinfo(host, service, &hints, ret_list);
}

static void resolve_host(struct background_task *background_task)
{
    struct nats_resolve *resolve =
        container_of(background_task, struct nats_resolve, background_task);

    resolve->error = find_addresses(resolve->host, resolve->port, AI_ADDRCONFIG, &resolve->list);
}

static void finish_resolve(struct background_task *background_task)
{
    struct nats_resolve *resolve =
        container_of(background_task, struct nats_resolve, background_task);
    struct addrinfo *list = resolve->error == 0 ? resolve->list : NULL;

    if (resolve->fn)
        resolve->fn(resolve->self, list, list ? NULL : gai_strerror(resolve->error));
    else if (list)
        freeaddrinfo(list);
    free(resolve->host);
    free(resolve);
}

struct nats_resolve *nats_resolve_begin(struct nats_hub *hub, const char *host, uint16_t port,
                                        nats_resolve_fn *fn, void *self, struct addrinfo **ret_list,
                                        struct err *err)
{
    struct nats_resolve *resolve;
    struct background_tasks *background_tasks;

    if (find_addresses(host, port, AI_NUMERICHOST, ret_list) == 0)
        return NULL;
    *ret_list = NULL;
    if (nats_hub_workers(hub, &background_tasks, err) < 0)
        return NULL;
    resolve = mem_zalloc(sizeof(*resolve));
    *resolve =
        (struct nats_resolve){ .host = mem_strdup(host), .port = port, .fn = fn, .self = self };
    background_task_begin(background_tasks, &resolve->background_task, resolve_host,
                          finish_resolve);
    return resolve;
}

void nats_resolve_cancel(struct nats_resolve *resolve)
{
    if (resolve)
        resolve->fn = NULL;
}
