#include "fleet/enroll/ca.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"
#include "test.h"

#define NOW ((int64_t)1800000000)

static const char *new_folder(struct arena *arena)
{
    char *folder = arena_strdup(arena, "/tmp/zester-ca-XXXXXX");

    CHECK(mkdtemp(folder) != NULL);
    return path_join(arena, folder, "ca");
}

static void remove_folder(struct arena *arena, const char *dir)
{
    struct err err;

    CHECK_INT(tree_remove(path_dirname(arena, dir), &err), 0);
}

static const char *names[] = { "nats.example.com", "*.example.com" };
static const char *addresses[] = { "127.0.0.1", "::1" };
static const struct certificate_spec server = {
    .name = "nats-server",
    .dns = { 2, names },
    .ips = { 2, addresses },
    .now = NOW,
    .life = CA_SERVER_DAYS * CERTIFICATE_DAY,
};

TEST(a_new_authority_is_opened_and_issues_certificates_that_it_signed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *dir = new_folder(&arena);
    AUTO_CA struct ca ca = { 0 };
    AUTO_CERTIFICATE struct certificate leaf = { 0 };
    AUTO_CERTIFICATE_KEY struct certificate_key key = { 0 };
    struct certificate_facts facts;
    struct ca_leaf issued;
    struct err err;

    CHECK_INT(ca_init(dir, NOW, &err), 0);
    CHECK_INT(ca_open(&arena, dir, &ca, &err), 0);
    CHECK(ca.has_root_key);
    CHECK_INT(ca_issue(&ca, &server, &arena, &issued, &err), 0);
    CHECK_INT(certificate_parse(issued.chain_pem, &leaf, &err), 0);
    CHECK_INT(certificate_key_parse(issued.key_pem, &key, &err), 0);
    CHECK(certificate_is_signed_by(&leaf, &ca.intermediate));
    CHECK(!certificate_is_signed_by(&leaf, &ca.root));
    CHECK(certificate_has_key(&leaf, &key));
    CHECK_HAS(issued.chain_pem.p, ca.intermediate_pem.p);
    CHECK_INT(certificate_look(&leaf, &arena, &facts, &err), 0);
    CHECK_STR(facts.subject, "nats-server");
    CHECK_INT(facts.names.n, 4);
    CHECK_STR(facts.names.p[0], "nats.example.com");
    CHECK_STR(facts.names.p[3], "::1");
    CHECK_INT(facts.begins, NOW - CERTIFICATE_DAY);
    CHECK_INT(facts.ends, NOW + CA_SERVER_DAYS * CERTIFICATE_DAY);
    remove_folder(&arena, dir);
}

TEST(keys_are_readable_by_their_owner_only)
{
    static const char *const private_names[] = { "root.key", "intermediate.key" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *dir = new_folder(&arena);
    struct fs_info info;
    struct err err;

    (void)umask(0);
    CHECK_INT(ca_init(dir, NOW, &err), 0);
    CHECK_INT(fs_stat(dir, &info, &err), 0);
    CHECK_INT(info.mode, 0700);
    for (size_t i = 0; i < ARRAY_LEN(private_names); i++) {
        CHECK_INT(fs_stat(path_join(&arena, dir, private_names[i]), &info, &err), 0);
        CHECK_INT(info.mode, 0600);
    }
    remove_folder(&arena, dir);
}

TEST(an_authority_is_never_overwritten)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *dir = new_folder(&arena);
    struct str before, after;
    struct err err;

    CHECK_INT(ca_init(dir, NOW, &err), 0);
    CHECK_INT(fs_read(&arena, path_join(&arena, dir, "root.crt"), 1 << 20, &before, &err), 0);
    CHECK_INT(fs_unlink(path_join(&arena, dir, "root.key"), &err), 0);
    CHECK_INT(ca_init(dir, NOW, &err), -1);
    CHECK_INT(err.code, ERR_BUSY);
    CHECK_INT(fs_read(&arena, path_join(&arena, dir, "root.crt"), 1 << 20, &after, &err), 0);
    CHECK_STR(after.p, before.p);
    remove_folder(&arena, dir);
}

TEST(a_root_key_that_is_kept_elsewhere_is_not_needed_to_issue)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *dir = new_folder(&arena);
    AUTO_CA struct ca ca = { 0 };
    struct ca_leaf issued;
    struct err err;

    CHECK_INT(ca_init(dir, NOW, &err), 0);
    CHECK_INT(fs_unlink(path_join(&arena, dir, "root.key"), &err), 0);
    CHECK_INT(ca_open(&arena, dir, &ca, &err), 0);
    CHECK(!ca.has_root_key);
    CHECK_INT(ca_issue(&ca, &server, &arena, &issued, &err), 0);
    remove_folder(&arena, dir);
}

TEST(files_of_two_authorities_do_not_mix)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *a = new_folder(&arena), *b = new_folder(&arena);
    struct ca ca;
    struct err err;

    CHECK_INT(ca_init(a, NOW, &err), 0);
    CHECK_INT(ca_init(b, NOW, &err), 0);
    CHECK_INT(
        fs_copy(path_join(&arena, b, "root.crt"), path_join(&arena, a, "root.crt"), NULL, &err), 0);
    CHECK_INT(ca_open(&arena, a, &ca, &err), -1);
    CHECK_HAS(err.text, "is not signed by");
    remove_folder(&arena, a);
    remove_folder(&arena, b);
}

TEST(names_that_would_smuggle_something_in_are_refused)
{
    static const char *const bad_names[] = { "", "a,IP:1.2.3.4", "a b", "-a", ".a", "a\n", "*" };
    static const char *const bad_addresses[] = { "", "localhost", "1.2.3", "1.2.3.4,DNS:a" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *dir = new_folder(&arena);
    AUTO_CA struct ca ca = { 0 };
    struct certificate_spec spec = { .name = "x", .now = NOW, .life = CERTIFICATE_DAY };
    struct ca_leaf issued;
    struct err err;

    CHECK_INT(ca_init(dir, NOW, &err), 0);
    CHECK_INT(ca_open(&arena, dir, &ca, &err), 0);
    CHECK_INT(ca_issue(&ca, &spec, &arena, &issued, &err), -1);
    for (size_t i = 0; i < ARRAY_LEN(bad_names); i++) {
        spec.dns = (struct param_strs){ 1, &bad_names[i] };
        CHECK_INT(ca_issue(&ca, &spec, &arena, &issued, &err), -1);
    }
    spec.dns = (struct param_strs){ 0 };
    for (size_t i = 0; i < ARRAY_LEN(bad_addresses); i++) {
        spec.ips = (struct param_strs){ 1, &bad_addresses[i] };
        CHECK_INT(ca_issue(&ca, &spec, &arena, &issued, &err), -1);
    }
    remove_folder(&arena, dir);
}

TEST(a_pin_is_of_the_public_key)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *dir = new_folder(&arena);
    AUTO_CA struct ca ca = { 0 };
    char root[CERTIFICATE_PIN_SIZE], below[CERTIFICATE_PIN_SIZE];
    struct err err;

    CHECK_INT(ca_init(dir, NOW, &err), 0);
    CHECK_INT(ca_open(&arena, dir, &ca, &err), 0);
    certificate_pin(&ca.root, root);
    certificate_pin(&ca.intermediate, below);
    CHECK(certificate_is_pin(root) && certificate_is_pin(below));
    CHECK(strcmp(root, below) != 0);
    CHECK(!certificate_is_pin("sha256:"));
    CHECK(!certificate_is_pin(root + 1));
    remove_folder(&arena, dir);
}

TEST(what_is_not_a_certificate_or_key_is_refused)
{
    static const char *const texts[] = {
        "", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    };
    struct certificate certificate;
    struct certificate_key key;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CHECK_INT(certificate_parse(str_from(texts[i]), &certificate, &err), -1);
        CHECK_INT(certificate_key_parse(str_from(texts[i]), &key, &err), -1);
    }
}
