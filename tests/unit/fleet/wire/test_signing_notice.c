#include "fleet/wire/signing_notice.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "test.h"

static struct ed25519_pair make_pair(unsigned char first)
{
    static unsigned char seeds[2][ED25519_SEED_SIZE], keys[2][ED25519_PUBLIC_SIZE];

    seeds[first][0] = first;
    ed25519_public(seeds[first], keys[first]);
    return (struct ed25519_pair){ seeds[first], keys[first] };
}

static struct str make_notice(struct arena *arena, const struct ed25519_pair *signer)
{
    return signing_notice_sign(
        arena, signer, &(struct signing_notice){ .generation = 3, .spread = 3600, .key = "AKEY" });
}

TEST(a_notice_comes_back_as_it_was_signed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct ed25519_pair pair = make_pair(0);
    struct signing_notice notice;
    struct err err;

    CHECK_INT(
        signing_notice_read(&arena, pair.public_key, make_notice(&arena, &pair), &notice, &err), 0);
    CHECK_INT(notice.generation, 3);
    CHECK_INT(notice.spread, 3600);
    CHECK_STR(notice.key, "AKEY");
}

TEST(every_byte_of_a_notice_is_signed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct ed25519_pair pair = make_pair(0), other = make_pair(1);
    const struct str stored = make_notice(&arena, &pair);
    struct signing_notice notice;
    struct err err;

    CHECK(signing_notice_read(&arena, other.public_key, stored, &notice, &err) < 0);
    CHECK_STR(err.text, "the notice of a signing key is not signed by the account");
    for (size_t i = 0; i < stored.n; i++) {
        char *copy = arena_strndup(&arena, stored.p, stored.n);

        copy[i] ^= 1;
        CHECK(signing_notice_read(&arena, pair.public_key, (struct str){ copy, stored.n }, &notice,
                                  &err) < 0);
        CHECK_INT(err.code, ERR_UNSAFE);
        CHECK(signing_notice_read(&arena, pair.public_key, (struct str){ stored.p, i }, &notice,
                                  &err) < 0);
    }
}
