#include "fleet/master/enroll/leaf.h"

#include "core/base/err.h"
#include "fleet/bus/link.h"
#include "fleet/enroll/ca.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/hostnames.h"
#include "core/sys/path.h"

#define CERT_FILE "enroll.crt"
#define KEY_FILE  "enroll.key"
#define CA_FOLDER "ca"
/* The host name that peels try by default. */
#define CONVENTIONAL_NAME "zester"

int64_t leaf_renewal(int64_t made, int64_t ends)
{
    return made + (ends - made) / 3 * 2;
}

/* --- issued by the CA --------------------------------------------------------------- */

static int check_leaf_ca(struct leaf *leaf, const struct certificate *root, struct err *err)
{
    struct certificate_facts facts;

    if (certificate_look(root, &leaf->arena, &facts, err) < 0)
        return -1;
    leaf->ca_begins = facts.begins;
    certificate_pin(root, leaf->pin);
    return 0;
}

static int issue_leaf(const char *dir, const struct master_conf *conf, int64_t now,
                      struct leaf *leaf, struct err *err)
{
    struct hostnames names = { .arena = &leaf->arena };
    AUTO_CA struct ca ca = { 0 };
    struct ca_leaf made;

    for (size_t i = 0; i < conf->ca_enroll_sans.n; i++)
        hostnames_add(&names, conf->ca_enroll_sans.p[i]);
    hostnames_add(&names, CONVENTIONAL_NAME);
    hostnames_add_own(&names);
    if (ca_open(&leaf->arena, dir, &ca, err) < 0)
        return err_wrap(err, "'%s'", dir);
    if (ca_issue(&ca,
                 &(struct certificate_spec){
                     .name = "zester-master",
                     .dns = { names.dns.n, names.dns.p },
                     .ips = { names.ips.n, names.ips.p },
                     .now = now,
                     .life = conf->ca_enroll_cert_validity / CLOCK_SECOND,
                 },
                 &leaf->arena, &made, err) < 0)
        return -1;
    leaf->is_issued = true;
    leaf->chain = made.chain_pem;
    leaf->key = made.key_pem;
    leaf->ca_bundle = arena_str(&leaf->arena, ca.root_pem);
    return check_leaf_ca(leaf, &ca.root, err);
}

/* --- files -------------------------------------------------------------------------- */

static int read_leaf_file(struct leaf *leaf, const char *path, struct str *ret, struct err *err)
{
    if (fs_read(&leaf->arena, path, CERTIFICATE_PEM_MAX, ret, err) < 0)
        return -1;
    if (!ret->p)
        return err_set(err, ERR_NOT_FOUND,
                       "'%s' does not exist; issue one with 'zester ca issue enroll', or make an "
                       "authority with 'zester ca init'",
                       path);
    return 0;
}

/* The CA bundle for the bus is separate from the endpoint's certificate. */
static int read_leaf_bundle(const struct master_conf *conf, struct leaf *leaf, struct err *err)
{
    const char *path = conf->nats_ca && conf->nats_ca[0]
                           ? conf->nats_ca
                           : path_join(&leaf->arena, conf->auth_dir, LINK_CA_FILE);
    AUTO_CERTIFICATE struct certificate first = { 0 };

    if (fs_read(&leaf->arena, path, CERTIFICATE_PEM_MAX, &leaf->ca_bundle, err) < 0)
        return -1;
    if (!leaf->ca_bundle.p) {
        leaf->ca_bundle = STR("");
        return 0;
    }
    if (certificate_parse(leaf->ca_bundle, &first, err) < 0)
        return err_wrap(err, "'%s'", path);
    return check_leaf_ca(leaf, &first, err);
}

static const char *find_leaf_path(const struct master_conf *conf, struct leaf *leaf,
                                  const char *given, const char *name)
{
    return given && given[0] ? given : path_join(&leaf->arena, conf->auth_dir, name);
}

static int read_leaf_files(const struct master_conf *conf, struct leaf *leaf, struct err *err)
{
    const char *cert = find_leaf_path(conf, leaf, conf->enroll_tls_cert, CERT_FILE);
    const char *key = find_leaf_path(conf, leaf, conf->enroll_tls_key, KEY_FILE);

    if (read_leaf_file(leaf, cert, &leaf->chain, err) < 0 ||
        read_leaf_file(leaf, key, &leaf->key, err) < 0)
        return -1;
    return read_leaf_bundle(conf, leaf, err);
}

/* --- both --------------------------------------------------------------------------- */

static int check_leaf_pair(struct leaf *leaf, int64_t now, struct err *err)
{
    AUTO_CERTIFICATE struct certificate certificate = { 0 };
    AUTO_CERTIFICATE_KEY struct certificate_key key = { 0 };
    struct certificate_facts facts;

    if (certificate_parse(leaf->chain, &certificate, err) < 0 ||
        certificate_key_parse(leaf->key, &key, err) < 0 ||
        certificate_look(&certificate, &leaf->arena, &facts, err) < 0)
        return -1;
    if (!certificate_has_key(&certificate, &key))
        return err_set(err, ERR_INVALID, "the key does not belong to the certificate");
    leaf->made = leaf->is_issued ? now : facts.begins;
    leaf->ends = facts.ends;
    return 0;
}

static int load_leaf(const struct master_conf *conf, int64_t now, struct leaf *leaf,
                     struct err *err)
{
    const char *dir = conf->ca_dir && conf->ca_dir[0]
                          ? conf->ca_dir
                          : path_join(&leaf->arena, conf->auth_dir, CA_FOLDER);
    bool is_there = true;

    if (conf->ca_mode == MASTER_CA_AUTO && ca_is_there(dir, &is_there, err) < 0)
        return -1;
    if (conf->ca_mode == MASTER_CA_EXTERNAL || !is_there)
        return read_leaf_files(conf, leaf, err);
    return issue_leaf(dir, conf, now, leaf, err);
}

int leaf_load(const struct master_conf *conf, int64_t now, struct leaf *ret_leaf, struct err *err)
{
    struct leaf leaf = { .arena = ARENA_INIT };

    if (load_leaf(conf, now, &leaf, err) < 0 || check_leaf_pair(&leaf, now, err) < 0) {
        leaf_done(&leaf);
        return err_wrap(err, "certificate of the HTTPS endpoint");
    }
    *ret_leaf = leaf;
    return 0;
}

void leaf_done(struct leaf *leaf)
{
    if (leaf->key.n > 0)
        explicit_bzero((void *)(uintptr_t)leaf->key.p, leaf->key.n);
    arena_done(&leaf->arena);
}
