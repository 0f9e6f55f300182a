/*
 * certificate - makes, signs, prints and reads X.509 certificates with P-256 keys.
 *
 * All certificates have a random serial number of 127 bits and begin a day before `now`, so that
 * machines whose clocks are behind accept them. Text is PEM.
 *
 * Memory: certificate_done and certificate_key_done free; texts are in the arena. Threads: any.
 */
#ifndef FLEET_ENROLL_CERTIFICATE_H
#define FLEET_ENROLL_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/params.h"

struct arena;
struct err;

enum certificate_kind {
    CERTIFICATE_ROOT,         /* signs intermediates */
    CERTIFICATE_INTERMEDIATE, /* signs servers only */
    CERTIFICATE_SERVER,       /* a server, or a client of another server */
    CERTIFICATE_KINDS,
};

#define CERTIFICATE_DAY       ((int64_t)86400) /* seconds */
#define CERTIFICATE_NAMES_MAX 100
#define CERTIFICATE_PEM_MAX   ((size_t)1 << 20)

struct certificate {
    void *x509; /* NULL: none */
};

struct certificate_key {
    void *pkey; /* NULL: none */
};

struct certificate_spec {
    enum certificate_kind kind;
    const char *name;           /* the common name */
    struct param_strs dns, ips; /* of a server; at least one */
    int64_t now;                /* seconds since 1970 */
    int64_t life;               /* seconds */
};

int certificate_key_make(struct certificate_key *ret_key, struct err *err);
/* Fails with ERR_INVALID; the error never shows the key. */
int certificate_key_parse(struct str pem, struct certificate_key *ret_key, struct err *err);
int certificate_key_print(const struct certificate_key *key, struct arena *arena,
                          struct str *ret_pem, struct err *err);
void certificate_key_done(struct certificate_key *key);

/* The issuer's certificate and key; both NULL: self-signed. */
struct certificate_issuer {
    const struct certificate *certificate;
    const struct certificate_key *key;
};
int certificate_make(const struct certificate_spec *spec, const struct certificate_key *key,
                     const struct certificate_issuer *issuer, struct certificate *ret_certificate,
                     struct err *err);
/* The first certificate of the text. */
int certificate_parse(struct str pem, struct certificate *ret_certificate, struct err *err);
int certificate_print(const struct certificate *certificate, struct arena *arena,
                      struct str *ret_pem, struct err *err);
void certificate_done(struct certificate *certificate);

/* The pin of a certificate: "sha256:<hex>" of its public key (SubjectPublicKeyInfo). A new
 * certificate with the same key has the same pin. */
#define CERTIFICATE_PIN_SIZE 72
void certificate_pin(const struct certificate *certificate, char pin[static CERTIFICATE_PIN_SIZE]);
/* Is it a pin: "sha256:" and 64 digits? */
bool certificate_is_pin(const char *text);

struct certificate_facts {
    const char *subject;     /* the common name */
    int64_t begins, ends;    /* seconds since 1970 */
    struct param_strs names; /* DNS names and addresses */
};
int certificate_look(const struct certificate *certificate, struct arena *arena,
                     struct certificate_facts *ret_facts, struct err *err);
/* Signed by the key of `issuer`? */
bool certificate_is_signed_by(const struct certificate *certificate,
                              const struct certificate *issuer);
/* Do key and certificate belong together? */
bool certificate_has_key(const struct certificate *certificate, const struct certificate_key *key);

#define AUTO_CERTIFICATE     __attribute__((cleanup(certificate_done)))
#define AUTO_CERTIFICATE_KEY __attribute__((cleanup(certificate_key_done)))

#endif
