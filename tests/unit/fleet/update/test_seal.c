#include "fleet/update/seal.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/nats/nkey.h"
#include "test.h"

#define HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void make_key(unsigned char first, struct nats_nkey *ret)
{
    unsigned char seed[ED25519_SEED_SIZE] = { first };

    nats_nkey_make(NATS_NKEY_USER, seed, ret);
}

/* A command for a version that this key has signed. */
static struct update_command sign_command(struct arena *arena, const struct nats_nkey *key)
{
    struct update_manifest manifest = { .version = "2.0",
                                        .component = UPDATE_PEEL,
                                        .goos = "linux",
                                        .goarch = "amd64",
                                        .sha256 = HASH,
                                        .size = 1000 };

    seal_sign(arena, &manifest, key);
    return (struct update_command){ .verb = UPDATE_PREPARE,
                                    .version = manifest.version,
                                    .component = manifest.component,
                                    .goos = manifest.goos,
                                    .goarch = manifest.goarch,
                                    .sha256 = manifest.sha256,
                                    .size = manifest.size,
                                    .object_key = "",
                                    .key = manifest.key,
                                    .signature = manifest.signature };
}

TEST(a_version_that_a_trusted_key_has_signed_is_accepted)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct update_command command;
    struct nats_nkey key;
    struct err err;

    make_key(1, &key);
    command = sign_command(&arena, &key);
    CHECK_INT(seal_check(&command, &(struct param_strs){ 1, &command.key }, &err), 0);
}

TEST(a_version_that_is_unsigned_changed_or_signed_by_somebody_else_is_refused)
{
    enum change {
        NO_SIGNATURE,
        NO_TRUST,
        OTHER_KEY,
        VERSION,
        COMPONENT,
        ARCH,
        HASHED,
        SIZE,
        CUT,
        LINES
    };
    static const char *const words[] = {
        [NO_SIGNATURE] = "is not signed", [NO_TRUST] = "trusts no key",
        [OTHER_KEY] = "does not trust",   [VERSION] = "does not match",
        [COMPONENT] = "does not match",   [ARCH] = "does not match",
        [HASHED] = "does not match",      [SIZE] = "does not match",
        [CUT] = "cannot be read",         [LINES] = "does not name a version",
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct nats_nkey key, other;
        struct update_command command;
        char public_key[NATS_NKEY_TEXT_SIZE];
        const char *trusted = public_key;
        struct err err;

        make_key(1, &key);
        make_key(2, &other);
        nats_nkey_print_public(i == OTHER_KEY ? &other : &key, public_key);
        command = sign_command(&arena, &key);
        switch ((enum change)i) {
        case NO_SIGNATURE: command.signature = ""; break;
        case VERSION: command.version = "3.0"; break;
        case COMPONENT: command.component = UPDATE_MASTER; break;
        case ARCH: command.goarch = "arm64"; break;
        case HASHED: command.sha256 = "b"; break;
        case SIZE: command.size++; break;
        case CUT: command.signature = "abc"; break;
        case LINES: command.goos = "linux\narch amd64"; break;
        case NO_TRUST:
        case OTHER_KEY: break;
        }
        CHECK_INT(seal_check(&command, &(struct param_strs){ i != NO_TRUST, &trusted }, &err), -1);
        CHECK_INT(err.code, ERR_UNSAFE);
        CHECK(strstr(err.text, words[i]));
    }
}
