#include "fleet/enroll/certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "core/base/vec.h"

#define SERIAL_BITS     127
#define BEGINS_EARLY    CERTIFICATE_DAY /* clocks may differ by so much */
#define EXTENSION_MAX   ((size_t)64 << 10)
#define PIN_PREFIX      "sha256:"
#define LIBRARY_ERR_MAX 256

/* Fails with the library's error after `what`, and empties its queue. */
static int fail_certificate(struct err *err, const char *what)
{
    char text[LIBRARY_ERR_MAX] = "unknown error";
    unsigned long code = ERR_get_error();

    if (code)
        ERR_error_string_n(code, text, sizeof(text));
    ERR_clear_error();
    return err_set(err, ERR_INVALID, "%s: %s", what, text);
}

/* --- keys ------------------------------------------------------------------------ */

int certificate_key_make(struct certificate_key *ret_key, struct err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");

    if (!key)
        return fail_certificate(err, "make a key");
    ret_key->pkey = key;
    return 0;
}

/* A password prompt would stop a daemon; keys with one are refused. */
static int refuse_password(char *out, int size, int writing, void *user)
{
    (void)out;
    (void)size;
    (void)writing;
    (void)user;
    return -1;
}

int certificate_key_parse(struct str pem, struct certificate_key *ret_key, struct err *err)
{
    BIO *in = BIO_new_mem_buf(pem.p, (int)pem.n);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, refuse_password, NULL) : NULL;

    BIO_free(in);
    if (!key)
        return fail_certificate(err, "read a private key");
    ret_key->pkey = key;
    return 0;
}

/* Returns the output of `out`, in the arena; frees `out`. */
static int take_bio_text(BIO *out, bool written, struct arena *arena, struct str *ret,
                         struct err *err, const char *what)
{
    char *bytes = NULL;
    long n = out && written ? BIO_get_mem_data(out, &bytes) : 0;

    if (n > 0)
        *ret = (struct str){ arena_strndup(arena, bytes, (size_t)n), (size_t)n };
    BIO_free(out);
    return n > 0 ? 0 : fail_certificate(err, what);
}

int certificate_key_print(const struct certificate_key *key, struct arena *arena,
                          struct str *ret_pem, struct err *err)
{
    BIO *out = BIO_new(BIO_s_secmem());
    bool written =
        out && PEM_write_bio_PKCS8PrivateKey(out, key->pkey, NULL, NULL, 0, NULL, NULL) == 1;

    return take_bio_text(out, written, arena, ret_pem, err, "write a private key");
}

void certificate_key_done(struct certificate_key *key)
{
    EVP_PKEY_free(key->pkey);
    key->pkey = NULL;
}

/* --- making ---------------------------------------------------------------------- */

/* Permissions of each kind, in the syntax of OpenSSL's configuration. */
static const struct {
    int nid;
    const char *values[CERTIFICATE_KINDS];
} extensions[] = {
    /* clang-format off */
    { NID_basic_constraints,       { "critical,CA:TRUE", "critical,CA:TRUE,pathlen:0", "critical,CA:FALSE" } },
    { NID_key_usage,               { "critical,keyCertSign,cRLSign", "critical,keyCertSign,cRLSign", "critical,digitalSignature" } },
    { NID_ext_key_usage,           { NULL, NULL, "serverAuth,clientAuth" } },
    { NID_subject_key_identifier,  { "hash", "hash", "hash" } },
    { NID_authority_key_identifier, { NULL, "keyid", "keyid" } },
    /* clang-format on */
};

static int add_extension(X509 *x509, X509V3_CTX *context, int nid, const char *value,
                         struct err *err)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, context, nid, value);
    bool added = extension && X509_add_ext(x509, extension, -1) == 1;

    X509_EXTENSION_free(extension);
    return added ? 0 : fail_certificate(err, "add an extension to a certificate");
}

/* Letters, digits, '-', '.', and '*' as the first label: nothing that has a meaning in the list of
 * names. */
static bool is_dns_name(const char *name)
{
    const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    size_t begin = strncmp(name, "*.", 2) == 0 ? 2 : 0;

    return name[begin] && strlen(name) < 254 && name[begin] != '.' && name[begin] != '-' &&
           name[begin + strspn(name + begin, letters)] == '\0';
}

static bool is_ip_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

/* "DNS:a,IP:10.0.0.1" */
static int print_alt_names(const struct certificate_spec *spec, struct buf *out, struct err *err)
{
    if (spec->dns.n + spec->ips.n == 0)
        return err_set(err, ERR_INVALID, "a server certificate requires a DNS name or an address");
    if (spec->dns.n + spec->ips.n > CERTIFICATE_NAMES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d names in a certificate",
                       CERTIFICATE_NAMES_MAX);
    for (size_t i = 0; i < spec->dns.n; i++) {
        if (!is_dns_name(spec->dns.p[i]))
            return err_set(err, ERR_INVALID, "'%s' is not a valid DNS name", spec->dns.p[i]);
        buf_printf(out, "%sDNS:%s", out->n > 0 ? "," : "", spec->dns.p[i]);
    }
    for (size_t i = 0; i < spec->ips.n; i++) {
        if (!is_ip_address(spec->ips.p[i]))
            return err_set(err, ERR_INVALID, "'%s' is not a valid IP address", spec->ips.p[i]);
        buf_printf(out, "%sIP:%s", out->n > 0 ? "," : "", spec->ips.p[i]);
    }
    return 0;
}

static int add_extensions(X509 *x509, const struct certificate_spec *spec, X509 *issuer,
                          struct err *err)
{
    AUTO_BUF struct buf names = BUF_INIT(EXTENSION_MAX);
    X509V3_CTX context;

    X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
    for (size_t i = 0; i < ARRAY_LEN(extensions); i++) {
        const char *value = extensions[i].values[spec->kind];

        if (value && add_extension(x509, &context, extensions[i].nid, value, err) < 0)
            return -1;
    }
    if (spec->kind != CERTIFICATE_SERVER)
        return 0;
    if (print_alt_names(spec, &names, err) < 0)
        return -1;
    return add_extension(x509, &context, NID_subject_alt_name, buf_text(&names), err);
}

static bool set_serial(X509 *x509)
{
    BIGNUM *number = BN_new();
    bool done = number && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
                BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != NULL;

    BN_free(number);
    return done;
}

static bool set_names(X509 *x509, const char *name, const X509 *issuer)
{
    X509_NAME *subject = X509_get_subject_name(x509);

    return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1,
                                      -1, 0) == 1 &&
           X509_set_issuer_name(x509, X509_get_subject_name(issuer)) == 1;
}

static bool set_times(X509 *x509, int64_t now, int64_t life)
{
    return ASN1_TIME_set(X509_getm_notBefore(x509), now - BEGINS_EARLY) &&
           ASN1_TIME_set(X509_getm_notAfter(x509), now + life);
}

static int fill_certificate(X509 *x509, const struct certificate_spec *spec, EVP_PKEY *key,
                            const struct certificate_issuer *issuer, struct err *err)
{
    X509 *above = issuer ? issuer->certificate->x509 : x509;

    if (X509_set_version(x509, X509_VERSION_3) != 1 || !set_serial(x509) ||
        !set_names(x509, spec->name, above) || !set_times(x509, spec->now, spec->life) ||
        X509_set_pubkey(x509, key) != 1)
        return fail_certificate(err, "make a certificate");
    if (add_extensions(x509, spec, above, err) < 0)
        return -1;
    if (X509_sign(x509, issuer ? issuer->key->pkey : key, EVP_sha256()) == 0)
        return fail_certificate(err, "sign a certificate");
    return 0;
}

int certificate_make(const struct certificate_spec *spec, const struct certificate_key *key,
                     const struct certificate_issuer *issuer, struct certificate *ret_certificate,
                     struct err *err)
{
    X509 *x509 = X509_new();

    if (!x509)
        return fail_certificate(err, "make a certificate");
    if (fill_certificate(x509, spec, key->pkey, issuer, err) < 0) {
        X509_free(x509);
        return -1;
    }
    ret_certificate->x509 = x509;
    return 0;
}

/* --- text ------------------------------------------------------------------------ */

int certificate_parse(struct str pem, struct certificate *ret_certificate, struct err *err)
{
    BIO *in = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *x509 = in ? PEM_read_bio_X509(in, NULL, refuse_password, NULL) : NULL;

    BIO_free(in);
    if (!x509)
        return fail_certificate(err, "read a certificate");
    ret_certificate->x509 = x509;
    return 0;
}

int certificate_print(const struct certificate *certificate, struct arena *arena,
                      struct str *ret_pem, struct err *err)
{
    BIO *out = BIO_new(BIO_s_mem());
    bool written = out && PEM_write_bio_X509(out, certificate->x509) == 1;

    return take_bio_text(out, written, arena, ret_pem, err, "write a certificate");
}

void certificate_done(struct certificate *certificate)
{
    X509_free(certificate->x509);
    certificate->x509 = NULL;
}

/* --- looking --------------------------------------------------------------------- */

void certificate_pin(const struct certificate *certificate, char pin[static CERTIFICATE_PIN_SIZE])
{
    unsigned char *bytes = NULL;
    int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate->x509), &bytes);

    memcpy(pin, PIN_PREFIX, sizeof(PIN_PREFIX) - 1);
    sha256_hex(bytes, n > 0 ? (size_t)n : 0, pin + sizeof(PIN_PREFIX) - 1);
    OPENSSL_free(bytes);
}

bool certificate_is_pin(const char *text)
{
    const size_t digits = (size_t)SHA256_SIZE * 2;

    if (strncmp(text, PIN_PREFIX, sizeof(PIN_PREFIX) - 1) != 0)
        return false;
    text += sizeof(PIN_PREFIX) - 1;
    return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

static int read_asn1_time(const ASN1_TIME *time, int64_t *ret, struct err *err)
{
    struct tm parts;

    if (ASN1_TIME_to_tm(time, &parts) != 1)
        return fail_certificate(err, "read the validity of a certificate");
    *ret = timegm(&parts);
    return 0;
}

struct name_list {
    VEC(const char *) list;
};

static void add_certificate_name(struct arena *arena, const GENERAL_NAME *name,
                                 struct name_list *names)
{
    char text[INET6_ADDRSTRLEN];
    int kind;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &kind);
    const unsigned char *bytes = ASN1_STRING_get0_data(value);
    int n = ASN1_STRING_length(value);

    if (kind == GEN_DNS && n >= 0 && !memchr(bytes, '\0', (size_t)n))
        VEC_PUSH_IN(arena, &names->list, arena_strndup(arena, (const char *)bytes, (size_t)n));
    if (kind == GEN_IPADD && (n == 4 || n == 16) &&
        inet_ntop(n == 4 ? AF_INET : AF_INET6, bytes, text, sizeof(text)))
        VEC_PUSH_IN(arena, &names->list, arena_strdup(arena, text));
}

static struct param_strs list_alt_names(X509 *x509, struct arena *arena)
{
    GENERAL_NAMES *all = X509_get_ext_d2i(x509, NID_subject_alt_name, NULL, NULL);
    struct name_list names = { 0 };

    for (int i = 0; i < sk_GENERAL_NAME_num(all); i++)
        add_certificate_name(arena, sk_GENERAL_NAME_value(all, i), &names);
    GENERAL_NAMES_free(all);
    return (struct param_strs){ names.list.n, names.list.p };
}

static const char *common_name(X509 *x509, struct arena *arena)
{
    X509_NAME *subject = X509_get_subject_name(x509);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    unsigned char *text = NULL;
    const char *copy = "";
    int n = 0;

    if (at >= 0)
        n = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (n > 0)
        copy = arena_strndup(arena, (const char *)text, (size_t)n);
    OPENSSL_free(text);
    return copy;
}

int certificate_look(const struct certificate *certificate, struct arena *arena,
                     struct certificate_facts *ret_facts, struct err *err)
{
    X509 *x509 = certificate->x509;
    struct certificate_facts facts = { .subject = common_name(x509, arena),
                                       .names = list_alt_names(x509, arena) };

    if (read_asn1_time(X509_get0_notBefore(x509), &facts.begins, err) < 0 ||
        read_asn1_time(X509_get0_notAfter(x509), &facts.ends, err) < 0)
        return -1;
    *ret_facts = facts;
    return 0;
}

bool certificate_is_signed_by(const struct certificate *certificate,
                              const struct certificate *issuer)
{
    bool is = X509_verify(certificate->x509, X509_get0_pubkey(issuer->x509)) == 1;

    ERR_clear_error();
    return is;
}

bool certificate_has_key(const struct certificate *certificate, const struct certificate_key *key)
{
    bool has = X509_check_private_key(certificate->x509, key->pkey) == 1;

    ERR_clear_error();
    return has;
}
