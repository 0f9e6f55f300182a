/*
 * link - a connection to the servers of the fleet, from what a configuration says.
 *
 *     link_new(hub, &(struct link_options){ .urls = "tls://a:4222,tls://b:4222", ... }, err)
 *     nats_listen(link_conn(link), ...) ... link_free(link)
 *
 * TLS only: an address without tls:// is refused. Whom to trust: the file of the options, else that
 * of NATS_CA_FILE, else <auth_dir>/nats-ca.crt, else the CAs of the system. That file and the
 * credentials are read again for each attempt to connect, so that replacing a file is enough to
 * renew them. Replies come to the inbox that the credentials grant.
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
/* Rights to a file of credentials that nobody but its owner should have. */
#define LINK_OTHERS_MODE 0077

struct link_options {
    const char *urls;     /* separated by commas */
    const char *ca_file;  /* NULL or "": see above */
    const char *auth_dir; /* NULL: none */
    const char *creds_file;
    const char *name;      /* shown by the server's monitoring */
    unsigned attempts_max; /* in a row without success, then it is closed; 0: for ever */
};

/* Are these addresses that link_new would accept? */
int link_check_urls(struct arena *arena, const char *urls, struct err *err);

/* NULL and an error for what can never work: addresses, a CA or credentials that cannot be read. */
struct link *link_new(struct nats_hub *hub, const struct link_options *options, struct err *err);
/* NULL is fine. */
void link_free(struct link *link);
struct nats_conn *link_conn(const struct link *link);
/* The credentials as they are now; the caller wipes them. */
int link_read_creds(const struct link *link, struct nats_creds *ret_creds, struct err *err);
/* The name of the user in the credentials: a peel's id. */
const char *link_user(const struct link *link);
/* The same when it is an operator with a name, who asks masters for everything; else NULL. */
const char *link_operator(const struct link *link);
/* Did the fleet send a request with this header? Where the credentials are of the peels' account,
 * another peel can have the server send answers to any subject there, but not with the line that
 * names the account of the sender (fleet/bus/accounts.h). */
bool link_is_from_fleet(const struct link *link, struct str header);
/* When the credentials that were read at first end, in seconds since 1970; 0: never. */
int64_t link_expires(const struct link *link);
/* Can others read the credentials? Whoever does can be us. */
bool link_has_shared_creds(const struct link *link);
#define LINK_SHARED_CREDS "others can read the credentials; try 'chmod 600'"

#endif
