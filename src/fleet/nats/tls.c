#include "fleet/nats/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/mem.h"

#define PEM_MAX ((size_t)1 << 20)

struct nats_tls {
    SSL_CTX *context;
};

/* The first reason in the queue of the library, which is empty then. */
static int fail_tls_setup(struct err *err, const char *what, const char *name)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    return err_set(err, ERR_INVALID, "%s%s%s%s: %s", what, name ? " '" : "", name ? name : "",
                   name ? "'" : "", reason ? reason : "cannot be read");
}

static BIO *open_pem(struct str pem)
{
    return pem.n <= PEM_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
}

static int add_authorities(SSL_CTX *context, struct str pem, struct err *err)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    BIO *bio = open_pem(pem);
    int count = 0;
    X509 *cert;

    if (!bio)
        return err_set(err, ERR_LIMIT, "CA is larger than %zu bytes", PEM_MAX);
    while ((cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        count += X509_STORE_add_cert(store, cert) == 1;
        X509_free(cert);
    }
    BIO_free(bio);
    ERR_clear_error(); /* the end of the text is an error, too */
    if (count == 0)
        return err_set(err, ERR_INVALID, "no certificate in PEM form in it");
    return 0;
}

static int load_trusted_cas(SSL_CTX *context, const struct nats_tls_options *options,
                            struct err *err)
{
    if (options->ca_file && SSL_CTX_load_verify_file(context, options->ca_file) != 1)
        return fail_tls_setup(err, "CA file", options->ca_file);
    if (options->ca_dir && SSL_CTX_load_verify_dir(context, options->ca_dir) != 1)
        return fail_tls_setup(err, "CA folder", options->ca_dir);
    if (options->ca_pem.n > 0 && add_authorities(context, options->ca_pem, err) < 0)
        return -1;
    if (!options->ca_file && !options->ca_dir && options->ca_pem.n == 0 &&
        SSL_CTX_set_default_verify_paths(context) != 1)
        return fail_tls_setup(err, "CAs of the system", NULL);
    return 0;
}

static int use_chain(SSL_CTX *context, struct str pem, struct err *err)
{
    BIO *bio = open_pem(pem);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    bool ok = cert && SSL_CTX_use_certificate(context, cert) == 1;

    X509_free(cert);
    while (ok && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
        if (SSL_CTX_add0_chain_cert(context, cert) != 1) {
            X509_free(cert);
            ok = false;
        }
    BIO_free(bio);
    if (!ok)
        return fail_tls_setup(err, "certificate", NULL);
    ERR_clear_error();
    return 0;
}

static int use_key(SSL_CTX *context, struct str pem, struct err *err)
{
    BIO *bio = open_pem(pem);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
    bool ok = key && SSL_CTX_use_PrivateKey(context, key) == 1;

    EVP_PKEY_free(key);
    BIO_free(bio);
    return ok ? 0 : fail_tls_setup(err, "key of the certificate", NULL);
}

static int load_client_certificate(SSL_CTX *context, const struct nats_tls_options *options,
                                   struct err *err)
{
    if (options->cert_file && SSL_CTX_use_certificate_chain_file(context, options->cert_file) != 1)
        return fail_tls_setup(err, "certificate", options->cert_file);
    if (options->cert_pem.n > 0 && use_chain(context, options->cert_pem, err) < 0)
        return -1;
    if (options->key_file &&
        SSL_CTX_use_PrivateKey_file(context, options->key_file, SSL_FILETYPE_PEM) != 1)
        return fail_tls_setup(err, "key", options->key_file);
    if (options->key_pem.n > 0 && use_key(context, options->key_pem, err) < 0)
        return -1;
    if ((options->cert_file || options->cert_pem.n > 0) && SSL_CTX_check_private_key(context) != 1)
        return fail_tls_setup(err, "certificate and key", NULL);
    return 0;
}

static SSL_CTX *new_tls_context(const struct nats_tls_options *options, struct err *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) {
        fail_tls_setup(err, "TLS", NULL);
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    /* thousands of connections: no buffers while idle, no unused sessions */
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (load_trusted_cas(context, options, err) < 0 ||
        load_client_certificate(context, options, err) < 0) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

struct nats_tls *nats_tls_new(const struct nats_tls_options *options, struct err *err)
{
    SSL_CTX *context = new_tls_context(options, err);
    struct nats_tls *tls;

    if (!context)
        return NULL;
    tls = mem_zalloc(sizeof(*tls));
    tls->context = context;
    return tls;
}

int nats_tls_change(struct nats_tls *tls, const struct nats_tls_options *options, struct err *err)
{
    SSL_CTX *context = new_tls_context(options, err);

    if (!context)
        return -1;
    SSL_CTX_free(tls->context); /* sessions that use it keep it */
    tls->context = context;
    return 0;
}

void nats_tls_free(struct nats_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    free(tls);
}

struct ssl_ctx_st *nats_tls_context(struct nats_tls *tls)
{
    return tls->context;
}
