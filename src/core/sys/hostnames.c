#include "core/sys/hostnames.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"

bool hostnames_is_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

void hostnames_add(struct hostnames *names, const char *name)
{
    VEC_EACH (&names->dns, known)
        if (strcmp(*known, name) == 0)
            return;
    VEC_EACH (&names->ips, known)
        if (strcmp(*known, name) == 0)
            return;
    if (!name[0] || names->dns.n + names->ips.n == HOSTNAMES_MAX)
        return;
    if (hostnames_is_address(name))
        VEC_PUSH_IN(names->arena, &names->ips, arena_strdup(names->arena, name));
    else
        VEC_PUSH_IN(names->arena, &names->dns, arena_strdup(names->arena, name));
}

/* Link-local addresses are valid on one interface only. */
static void add_interface_address(struct hostnames *names, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;

    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof(v4));
        (void)inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
    } else if (address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof(v6));
        if (!IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr))
            (void)inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
    }
    hostnames_add(names, text);
}

const char *hostnames_own(struct arena *arena)
{
    char host[HOST_NAME_MAX + 1] = "";

    if (gethostname(host, sizeof(host) - 1) < 0)
        return "";
    return arena_strdup(arena, host);
}

void hostnames_add_own(struct hostnames *names)
{
    struct ifaddrs *list = NULL;

    hostnames_add(names, hostnames_own(names->arena));
    hostnames_add(names, "localhost");
    hostnames_add(names, "127.0.0.1");
    if (getifaddrs(&list) < 0)
        return; /* the names remain */
    for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next)
        if (entry->ifa_addr && (entry->ifa_flags & IFF_UP))
            add_interface_address(names, entry->ifa_addr);
    freeifaddrs(list);
}

bool hostnames_is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", strlen("127.")) == 0 ||
           strcmp(host, "::1") == 0;
}
