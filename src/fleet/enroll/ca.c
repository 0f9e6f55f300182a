#include "fleet/enroll/ca.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"

#define KEY_MODE  0600
#define CERT_MODE 0644

enum ca_file { CA_INTERMEDIATE_KEY, CA_INTERMEDIATE_CRT, CA_ROOT_KEY, CA_ROOT_CRT, CA_FILES };

/* In the order in which they are written: where the root's certificate is, everything is. */
static const struct {
    const char *name;
    mode_t mode;
} files[CA_FILES] = {
    [CA_INTERMEDIATE_KEY] = { "intermediate.key", KEY_MODE },
    [CA_INTERMEDIATE_CRT] = { "intermediate.crt", CERT_MODE },
    [CA_ROOT_KEY] = { "root.key", KEY_MODE },
    [CA_ROOT_CRT] = { CA_ROOT_FILE, CERT_MODE },
};

/* --- making ---------------------------------------------------------------------- */

static int print_ca_pair(const struct certificate *certificate, const struct certificate_key *key,
                         struct arena *arena, struct str *ret_certificate, struct str *ret_key,
                         struct err *err)
{
    if (certificate_print(certificate, arena, ret_certificate, err) < 0)
        return -1;
    return certificate_key_print(key, arena, ret_key, err);
}

static int make_texts(struct arena *arena, int64_t now, struct str texts[static CA_FILES],
                      struct err *err)
{
    const struct certificate_spec root_spec = { .kind = CERTIFICATE_ROOT,
                                                .name = "zester root CA",
                                                .now = now,
                                                .life = CA_ROOT_DAYS * CERTIFICATE_DAY };
    const struct certificate_spec spec = { .kind = CERTIFICATE_INTERMEDIATE,
                                           .name = "zester intermediate CA",
                                           .now = now,
                                           .life = CA_INTERMEDIATE_DAYS * CERTIFICATE_DAY };
    AUTO_CERTIFICATE_KEY struct certificate_key root_key = { 0 }, key = { 0 };
    AUTO_CERTIFICATE struct certificate root = { 0 }, intermediate = { 0 };
    const struct certificate_issuer issuer = { &root, &root_key };

    if (certificate_key_make(&root_key, err) < 0 || certificate_key_make(&key, err) < 0 ||
        certificate_make(&root_spec, &root_key, NULL, &root, err) < 0 ||
        certificate_make(&spec, &key, &issuer, &intermediate, err) < 0)
        return -1;
    if (print_ca_pair(&root, &root_key, arena, &texts[CA_ROOT_CRT], &texts[CA_ROOT_KEY], err) < 0)
        return -1;
    return print_ca_pair(&intermediate, &key, arena, &texts[CA_INTERMEDIATE_CRT],
                         &texts[CA_INTERMEDIATE_KEY], err);
}

int ca_init(const char *dir, int64_t now, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct newfile list[CA_FILES];
    struct str texts[CA_FILES];

    if (make_texts(&arena, now, texts, err) < 0)
        return -1;
    for (size_t i = 0; i < CA_FILES; i++)
        list[i] = (struct newfile){ files[i].name, texts[i], files[i].mode };
    return newfiles_write(dir, list, CA_FILES, "a certificate authority is never overwritten", err);
}

/* --- reading --------------------------------------------------------------------- */

int ca_is_there(const char *dir, bool *ret_is_there, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_info info;

    if (fs_stat(path_join(&arena, dir, CA_ROOT_FILE), &info, err) < 0)
        return -1;
    *ret_is_there = info.kind != FS_NONE;
    return 0;
}

static int read_ca_file(struct arena *arena, const char *dir, enum ca_file file,
                        struct str *ret_pem, struct err *err)
{
    const char *path = path_join(arena, dir, files[file].name);

    if (fs_read(arena, path, CERTIFICATE_PEM_MAX, ret_pem, err) < 0)
        return -1;
    if (!ret_pem->p)
        return err_set(err, ERR_NOT_FOUND,
                       "no certificate authority: '%s' does not exist (make one with "
                       "'zester ca init')",
                       path);
    return 0;
}

static int read_certificate(struct arena *arena, const char *dir, enum ca_file file,
                            struct str *ret_pem, struct certificate *ret, struct err *err)
{
    if (read_ca_file(arena, dir, file, ret_pem, err) < 0)
        return -1;
    if (certificate_parse(*ret_pem, ret, err) < 0)
        return err_wrap(err, "'%s/%s'", dir, files[file].name);
    return 0;
}

static int read_ca_key(struct arena *arena, const char *dir, struct certificate_key *ret,
                       struct err *err)
{
    struct str pem;

    if (read_ca_file(arena, dir, CA_INTERMEDIATE_KEY, &pem, err) < 0)
        return -1;
    if (certificate_key_parse(pem, ret, err) < 0)
        return err_wrap(err, "'%s/%s'", dir, files[CA_INTERMEDIATE_KEY].name);
    return 0;
}

static int check_ca_files(const char *dir, const struct ca *ca, struct err *err)
{
    if (!certificate_is_signed_by(&ca->intermediate, &ca->root))
        return err_set(err, ERR_INVALID, "'%s/intermediate.crt' is not signed by '%s/root.crt'",
                       dir, dir);
    if (!certificate_has_key(&ca->intermediate, &ca->key))
        return err_set(err, ERR_INVALID,
                       "'%s/intermediate.key' is not the key of '%s/"
                       "intermediate.crt'",
                       dir, dir);
    return 0;
}

int ca_open(struct arena *arena, const char *dir, struct ca *ret_ca, struct err *err)
{
    struct ca ca = { 0 };
    struct fs_info info;

    if (read_certificate(arena, dir, CA_ROOT_CRT, &ca.root_pem, &ca.root, err) < 0 ||
        read_certificate(arena, dir, CA_INTERMEDIATE_CRT, &ca.intermediate_pem, &ca.intermediate,
                         err) < 0 ||
        read_ca_key(arena, dir, &ca.key, err) < 0 || check_ca_files(dir, &ca, err) < 0 ||
        fs_lstat(path_join(arena, dir, files[CA_ROOT_KEY].name), &info, err) < 0) {
        ca_done(&ca);
        return -1;
    }
    ca.has_root_key = info.kind != FS_NONE;
    *ret_ca = ca;
    return 0;
}

void ca_done(struct ca *ca)
{
    certificate_done(&ca->root);
    certificate_done(&ca->intermediate);
    certificate_key_done(&ca->key);
}

int ca_issue(const struct ca *ca, const struct certificate_spec *spec, struct arena *arena,
             struct ca_leaf *ret_leaf, struct err *err)
{
    AUTO_CERTIFICATE_KEY struct certificate_key key = { 0 };
    AUTO_CERTIFICATE struct certificate leaf = { 0 };
    AUTO_BUF struct buf chain = BUF_INIT(CERTIFICATE_PEM_MAX);
    const struct certificate_issuer issuer = { &ca->intermediate, &ca->key };
    struct certificate_spec server = *spec;
    struct str certificate_pem, key_pem;

    server.kind = CERTIFICATE_SERVER;
    if (certificate_key_make(&key, err) < 0 ||
        certificate_make(&server, &key, &issuer, &leaf, err) < 0 ||
        print_ca_pair(&leaf, &key, arena, &certificate_pem, &key_pem, err) < 0)
        return -1;
    buf_add_str(&chain, certificate_pem);
    buf_add_str(&chain, ca->intermediate_pem);
    *ret_leaf = (struct ca_leaf){ .chain_pem = buf_copy(&chain, arena), .key_pem = key_pem };
    return 0;
}
