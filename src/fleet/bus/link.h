/*
 * link - a connection to the servers of the fleet, made from the configuration.
 *
 *     link_new(hub, &(struct link_options){ .urls = "tls://a:4222,tls://b:4222", ... }, err)
 *     nats_listen(link_conn(link), ...) ... link_free(link)
 *
 * TLS only: an address without tls:// is refused. Trusted CAs: the file in the options, else
 * NATS_CA_FILE, else <auth_dir>/nats-ca.crt, else those of the system. That file and the
 * credentials are read for each attempt to connect, so replacing a file is enough to renew them.
 * Replies come to the inbox that the credentials permit.
 *
 * Memory: texts are copied. Threads: the loop's.
 */
#ifndef FLEET_BUS_LINK_H
#define FLEET_BUS_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct err;
struct link;
struct nats_conn;
struct nats_creds;
struct nats_hub;

#define LINK_URL_DEFAULT "tls://nats:4222"
#define LINK_CA_VARIABLE "NATS_CA_FILE"
#define LINK_CA_FILE     "nats-ca.crt"
#define LINK_CA_MAX      ((size_t)1 << 20)
/* Permissions that only the owner of a credentials file should have. */
#define LINK_OTHERS_MODE 0077

struct link_options {
    const char *urls;     /* separated by commas */
    const char *ca_file;  /* NULL or "": see above */
    const char *auth_dir; /* NULL: none */
    const char *creds_file;
    const char *name;      /* shown by the server's monitoring */
    unsigned attempts_max; /* consecutive failed attempts, then it is closed; 0: no limit */
};

/* Checks addresses as link_new does. */
int link_check_urls(struct arena *arena, const char *urls, struct err *err);

/* NULL and an error for permanent problems: invalid addresses, an unreadable CA or credentials. */
struct link *link_new(struct nats_hub *hub, const struct link_options *options, struct err *err);
/* NULL is fine. */
void link_free(struct link *link);
struct nats_conn *link_conn(const struct link *link);
/* The credentials as they are now; the caller wipes them. */
int link_read_creds(const struct link *link, struct nats_creds *ret_creds, struct err *err);
/* The name of the user in the credentials: a peel's id. */
const char *link_user(const struct link *link);
/* The same for a named operator, who asks masters for everything; else NULL. */
const char *link_operator(const struct link *link);
/* Did the fleet send a request with this header? In the peels' account, another peel can make the
 * server send replies to any subject, but not with the header that names the sender's account
 * (fleet/bus/accounts.h). */
bool link_is_from_fleet(const struct link *link, struct str header);
/* Expiry of the credentials that were read first, in seconds since 1970; 0: never. */
int64_t link_expires(const struct link *link);
/* Can other users read the credentials, and so impersonate us? */
bool link_has_shared_creds(const struct link *link);
#define LINK_SHARED_CREDS "others can read the credentials; try 'chmod 600'"

#endif
