#include "fleet/wire/revoked.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "test.h"

static struct ed25519_pair make_pair(unsigned char first)
{
    static unsigned char seeds[2][ED25519_SEED_SIZE], keys[2][ED25519_PUBLIC_SIZE];

    seeds[first][0] = first;
    ed25519_public(seeds[first], keys[first]);
    return (struct ed25519_pair){ seeds[first], keys[first] };
}

static struct str make_list(struct arena *arena, const struct ed25519_pair *signer, size_t count)
{
    struct value_map *map = value_map_new(arena, count);

    for (size_t i = 0; i < count; i++)
        value_map_set(arena, map, value_text(arena_printf(arena, "U%zu", i)), value_int(1000));
    return revoked_sign(arena, signer,
                        &(struct revoked_notice){ .time = 7, .keys = value_map(map) });
}

TEST(a_list_comes_back_as_it_was_signed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct ed25519_pair pair = make_pair(0);
    struct revoked_notice list;
    struct err err;

    CHECK_INT(revoked_read(&arena, pair.public_key, make_list(&arena, &pair, 2), &list, &err), 0);
    CHECK_INT(list.time, 7);
    CHECK(revoked_has(&list, "U0") && revoked_has(&list, "U1") && !revoked_has(&list, "U2"));
    CHECK_INT(revoked_read(&arena, pair.public_key, make_list(&arena, &pair, 0), &list, &err), 0);
    CHECK(!revoked_has(&list, "U0"));
}

TEST(every_byte_of_a_list_is_signed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct ed25519_pair pair = make_pair(0), other = make_pair(1);
    const struct str stored = make_list(&arena, &pair, 3);
    struct revoked_notice list;
    struct err err;

    CHECK(revoked_read(&arena, other.public_key, stored, &list, &err) < 0);
    CHECK_STR(err.text, "the list of revoked keys is not signed by the account");
    for (size_t i = 0; i < stored.n; i++) {
        char *copy = arena_strndup(&arena, stored.p, stored.n);

        copy[i] ^= 1;
        CHECK(revoked_read(&arena, pair.public_key, (struct str){ copy, stored.n }, &list, &err) <
              0);
        CHECK_INT(err.code, ERR_UNSAFE);
        CHECK(revoked_read(&arena, pair.public_key, (struct str){ stored.p, i }, &list, &err) < 0);
    }
}

TEST(a_list_that_is_too_large_is_refused)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct ed25519_pair pair = make_pair(0);
    struct revoked_notice list;
    struct err err;

    CHECK_INT(revoked_read(&arena, pair.public_key, make_list(&arena, &pair, REVOKED_KEYS_MAX),
                           &list, &err),
              0);
    CHECK(revoked_read(&arena, pair.public_key, make_list(&arena, &pair, REVOKED_KEYS_MAX + 1),
                       &list, &err) < 0);
    CHECK(revoked_read(&arena, pair.public_key,
                       (struct str){ arena_zalloc(&arena, REVOKED_MAX + 1), REVOKED_MAX + 1 },
                       &list, &err) < 0);
    CHECK_STR(err.text, "the list of revoked keys cannot be read: more than 262144 bytes");
}
