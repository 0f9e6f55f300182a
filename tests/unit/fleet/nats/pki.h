/*
 * pki - certificates for tests, made on the spot.
 *
 *     struct pki pki = pki_new("name");          a CA; its certificate is <folder>/name-ca.pem
 *     pki_issue(&pki, "server", "DNS:localhost,IP:127.0.0.1", 3600);
 *                                                <folder>/name-server.pem and name-server.key
 */
#ifndef TESTS_UNIT_FLEET_NATS_PKI_H
#define TESTS_UNIT_FLEET_NATS_PKI_H

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "test.h"

#define PKI_PATH_SIZE 300

struct pki {
    const char *name;
    EVP_PKEY *key;
    X509 *cert;
};

static inline const char *pki_path(const struct pki *pki, const char *file, char *room)
{
    (void)snprintf(room, PKI_PATH_SIZE, "%s/%s-%s", test_folder(), pki->name, file);
    return room;
}

static inline void pki_write(const char *path, X509 *cert, EVP_PKEY *key)
{
    FILE *file = fopen(path, "we");

    CHECK(file != NULL);
    CHECK_INT(cert ? PEM_write_X509(file, cert)
                   : PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL),
              1);
    (void)fclose(file);
}

static inline void pki_extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;

    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    CHECK(extension != NULL);
    CHECK_INT(X509_add_ext(cert, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static inline X509 *pki_cert(const char *name, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key,
                             const char *names, long seconds)
{
    static long serial;
    X509 *cert = X509_new();
    X509_NAME *subject = X509_get_subject_name(cert);

    (void)X509_set_version(cert, 2);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    (void)X509_gmtime_adj(X509_getm_notBefore(cert), -7200);
    (void)X509_gmtime_adj(X509_getm_notAfter(cert), seconds);
    (void)X509_set_pubkey(cert, key);
    (void)X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                                     -1, 0);
    (void)X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject);
    pki_extend(cert, issuer ? issuer : cert, NID_basic_constraints,
               issuer ? "CA:FALSE" : "critical,CA:TRUE");
    if (names)
        pki_extend(cert, issuer, NID_subject_alt_name, names);
    CHECK(X509_sign(cert, issuer_key, EVP_sha256()) > 0);
    return cert;
}

static inline struct pki pki_new(const char *name)
{
    struct pki pki = { .name = name, .key = EVP_EC_gen("P-256") };
    char room[PKI_PATH_SIZE];

    pki.cert = pki_cert(name, pki.key, NULL, pki.key, NULL, 3600);
    pki_write(pki_path(&pki, "ca.pem", room), pki.cert, NULL);
    return pki;
}

static inline void pki_issue(struct pki *pki, const char *name, const char *names, long seconds)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = pki_cert(name, key, pki->cert, pki->key, names, seconds);
    char room[PKI_PATH_SIZE], file[64];

    (void)snprintf(file, sizeof(file), "%s.pem", name);
    pki_write(pki_path(pki, file, room), cert, NULL);
    (void)snprintf(file, sizeof(file), "%s.key", name);
    pki_write(pki_path(pki, file, room), NULL, key);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static inline void pki_done(struct pki *pki)
{
    X509_free(pki->cert);
    EVP_PKEY_free(pki->key);
}

#endif
