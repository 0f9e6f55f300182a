#include "fleet/update/seal.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/nats/nkey.h"

#define TEXT_MAX 1024

/* The facts that a signature covers. */
struct facts {
    enum update_component component;
    const char *goos, *goarch, *version, *sha256;
    int64_t size;
};

static void print_facts(const struct facts *facts, struct buf *out)
{
    buf_printf(out,
               "zester update 1\ncomponent %s\nos %s\narch %s\nversion %s\nsize %" PRId64
               "\nsha256 %s\n",
               update_component_name(facts->component), facts->goos, facts->goarch, facts->version,
               facts->size, facts->sha256);
}

void seal_sign(struct arena *arena, struct update_manifest *manifest, const struct nats_nkey *key)
{
    const struct facts facts = { manifest->component, manifest->goos,   manifest->goarch,
                                 manifest->version,   manifest->sha256, manifest->size };
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX), base64 = BUF_INIT(TEXT_MAX);
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    char public_key[NATS_NKEY_TEXT_SIZE];

    print_facts(&facts, &text);
    nats_nkey_sign(key, buf_view(&text), signature);
    base64_encode((struct str){ (const char *)signature, sizeof(signature) }, BASE64_STANDARD,
                  &base64);
    nats_nkey_print_public(key, public_key);
    manifest->key = arena_strdup(arena, public_key);
    manifest->signature = buf_copy(&base64, arena).p;
}

static bool is_key_trusted(const char *key, const struct param_strs *trusted)
{
    for (size_t i = 0; i < trusted->n; i++)
        if (strcmp(trusted->p[i], key) == 0)
            return true;
    return false;
}

/* A line break would make one fact look like two. */
static bool are_words(const struct update_command *command)
{
    const char *const words[] = { command->goos, command->goarch, command->version,
                                  command->sha256 };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (!words[i][0] || strlen(words[i]) > UPDATE_VERSION_MAX || strpbrk(words[i], "\n\r "))
            return false;
    return true;
}

static int verify_seal(const struct update_command *command, struct str text, struct err *err)
{
    AUTO_BUF struct buf signature = BUF_INIT(ED25519_SIGNATURE_SIZE);
    struct nats_nkey key;

    if (nats_nkey_parse_public(str_from(command->key), &key, err) < 0 ||
        base64_decode_strict(str_from(command->signature), BASE64_STANDARD, &signature, err) < 0)
        return err_set(err, ERR_UNSAFE, "the signature of version '%s' cannot be read",
                       command->version);
    if (signature.n != ED25519_SIGNATURE_SIZE ||
        !nats_nkey_verify(&key, text, (const unsigned char *)signature.p))
        return err_set(err, ERR_UNSAFE, "the signature of version '%s' does not match",
                       command->version);
    return 0;
}

int seal_check(const struct update_command *command, const struct param_strs *trusted,
               struct err *err)
{
    const struct facts facts = { command->component, command->goos,   command->goarch,
                                 command->version,   command->sha256, command->size };
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

    if (!update_version_is_valid(command->version) || !are_words(command))
        return err_set(err, ERR_UNSAFE, "the command does not name a version");
    if (!command->signature[0])
        return err_set(err, ERR_UNSAFE, "version '%s' is not signed", command->version);
    if (trusted->n == 0)
        return err_set(err, ERR_UNSAFE, "this node trusts no key: set trusted_keys");
    if (!is_key_trusted(command->key, trusted))
        return err_set(err, ERR_UNSAFE,
                       "version '%s' is signed with '%.64s', which this node does not trust",
                       command->version, command->key);
    print_facts(&facts, &text);
    return verify_seal(command, buf_view(&text), err);
}
