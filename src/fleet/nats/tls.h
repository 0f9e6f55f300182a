/*
 * tls - whom to trust and who we are, for any number of connections.
 *
 * TLS 1.3 at least; the server's certificate must be signed by a CA of ours and name the host, or
 * the IP address, that the connection goes to. Our own certificate is optional.
 *
 * Memory: must outlive the connections that use it. Threads: one loop's.
 */
#ifndef FLEET_NATS_TLS_H
#define FLEET_NATS_TLS_H

#include "core/base/str.h"

struct err;
struct nats_tls;
struct ssl_ctx_st;

/* Authorities: all that are given count; when none is, those of the system. */
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
/* Use these from the next handshake on; what stands goes on as it is. On failure nothing changes.
 */
int nats_tls_change(struct nats_tls *tls, const struct nats_tls_options *options, struct err *err);

/* For the transport. */
struct ssl_ctx_st *nats_tls_context(struct nats_tls *tls);

#endif
