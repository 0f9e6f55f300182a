/*
 * tls - trusted CAs and our certificate, for any number of connections.
 *
 * At least TLS 1.3. The server's certificate must be signed by a trusted CA and name the host or IP
 * address of the connection. Our own certificate is optional.
 *
 * Memory: must outlive the connections that use it. Threads: one loop's.
 */
#ifndef FLEET_NATS_TLS_H
#define FLEET_NATS_TLS_H

#include "core/base/str.h"

struct err;
struct nats_tls;
struct ssl_ctx_st;

/* CAs: all given ones; if none is given, those of the system. */
struct nats_tls_options {
    const char *ca_file, *ca_dir;
    struct str ca_pem; /* in memory */
    /* Our certificate with its chain, and its key: two files, or two texts in memory. */
    const char *cert_file, *key_file;
    struct str cert_pem, key_pem;
};

/* NULL and an error that names the file. */
struct nats_tls *nats_tls_new(const struct nats_tls_options *options, struct err *err);
void nats_tls_free(struct nats_tls *tls);
/* Applies to future handshakes; open connections are unaffected. A failure changes nothing. */
int nats_tls_change(struct nats_tls *tls, const struct nats_tls_options *options, struct err *err);

/* For the transport. */
struct ssl_ctx_st *nats_tls_context(struct nats_tls *tls);

#endif
