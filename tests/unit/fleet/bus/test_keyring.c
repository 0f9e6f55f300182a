#include "fleet/bus/keyring.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/nkey.h"
#include "test.h"

#define SCOPED "{\"kind\":\"user_scope\",\"key\":\"K\",\"role\":\"r\"}"

static const char *make_key(struct arena *arena, unsigned char fill)
{
    unsigned char seed[ED25519_SEED_SIZE];
    char text[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey key;

    memset(seed, fill, sizeof(seed));
    nats_nkey_make(NATS_NKEY_ACCOUNT, seed, &key);
    nats_nkey_print_public(&key, text);
    return arena_strdup(arena, text);
}

static struct value parse(struct arena *arena, const char *json)
{
    struct value claims;
    struct err err;

    CHECK_INT(json_decode(arena, str_from(json), &claims, &err), 0);
    return value_copy(arena, &claims);
}

static const char *print(struct arena *arena, const struct value *claims)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    CHECK_INT(json_print(&text, value_get(claims, "nats"), JSON_STYLE_COMPACT, &err), 0);
    return buf_copy(&text, arena).p;
}

static struct keyring read_ring(struct arena *arena, const struct value *claims)
{
    struct keyring ring;
    struct err err;

    CHECK_INT(keyring_read(arena, claims, &ring, &err), 0);
    return ring;
}

static struct keyring add(struct arena *arena, const struct keyring *ring, const char *key)
{
    struct keyring next;
    struct err err;

    CHECK_INT(keyring_add(arena, ring, key, 100, 60, &next, &err), 0);
    return next;
}

TEST(claims_without_a_tag_have_no_keys_of_ours)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value claims =
        parse(&arena, "{\"nats\":{\"signing_keys\":[\"A1\"," SCOPED "],\"tags\":[\"x\"]}}");
    const struct keyring ring = read_ring(&arena, &claims);

    CHECK_INT(ring.generation, 0);
    CHECK_INT(ring.keys.n, 0);
    CHECK(!keyring_current(&ring));
}

TEST(keys_of_others_and_their_tags_stay_through_a_rotation)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *first = make_key(&arena, 1), *second = make_key(&arena, 2);
    struct value claims = parse(&arena, "{\"nats\":{\"signing_keys\":[\"A1\"," SCOPED
                                        "],\"tags\":[\"x\"],\"type\":1}}");
    struct keyring ring = { 0 };

    ring = add(&arena, &ring, first);
    keyring_write(&arena, &ring, &claims);
    CHECK_STR(print(&arena, &claims),
              arena_printf(&arena,
                           "{\"signing_keys\":[\"A1\"," SCOPED ",\"%s\"],"
                           "\"tags\":[\"x\",\"zester-keys:1:100:60:%s\"],\"type\":1}",
                           first, first));
    ring = read_ring(&arena, &claims);
    ring = add(&arena, &ring, second);
    keyring_write(&arena, &ring, &claims);
    ring = read_ring(&arena, &claims);
    CHECK_INT(ring.generation, 2);
    CHECK_INT(ring.keys.n, 2);
    CHECK_STR(keyring_current(&ring), second);
    CHECK(keyring_has(&ring, first));
    ring = keyring_drop_older(&ring);
    keyring_write(&arena, &ring, &claims);
    CHECK_STR(print(&arena, &claims),
              arena_printf(&arena,
                           "{\"signing_keys\":[\"A1\"," SCOPED ",\"%s\"],"
                           "\"tags\":[\"x\",\"zester-keys:3:100:60:%s\"],\"type\":1}",
                           second, second));
}

TEST(a_key_that_somebody_took_out_of_the_list_is_not_used)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *key = make_key(&arena, 1);
    const struct value claims = parse(
        &arena,
        arena_printf(&arena,
                     "{\"nats\":{\"signing_keys\":[\"A1\"],\"tags\":[\"zester-keys:4:1:0:%s\"]}}",
                     key));
    const struct keyring ring = read_ring(&arena, &claims);

    CHECK_INT(ring.generation, 4);
    CHECK(!keyring_current(&ring));
}

TEST(the_later_decision_is_the_one_with_the_higher_generation_whatever_the_clocks_say)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *low = make_key(&arena, 1), *high = make_key(&arena, 2);
    const char *const a[] = { strcmp(low, high) < 0 ? low : high };
    const char *const b[] = { strcmp(low, high) < 0 ? high : low };
    const struct keyring none = { 0 };
    const struct keyring old = { .generation = 1, .since = 900, .keys = { 1, a } };
    const struct keyring new = { .generation = 2, .since = 100, .keys = { 1, a } };
    const struct keyring twin = { .generation = 2, .since = 100, .keys = { 1, b } };

    CHECK(keyring_is_newer(&old, &none) && !keyring_is_newer(&none, &old));
    CHECK(keyring_is_newer(&new, &old) && !keyring_is_newer(&old, &new));
    CHECK(!keyring_is_newer(&new, &new) && !keyring_is_newer(&none, &none));
    CHECK(keyring_is_newer(&twin, &new) && !keyring_is_newer(&new, &twin));
}

TEST(a_tag_that_cannot_be_read_is_an_error)
{
    static const char *const tags[] = { "",
                                        "1",
                                        "1:2:3",
                                        "0:2:3:{key}",
                                        "1:2:3:",
                                        "-1:2:3:{key}",
                                        "1:x:3:{key}",
                                        "1:2:3:{key},",
                                        "1:2:3:UX" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *key = make_key(&arena, 1);

    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        const char *at = strstr(tags[i], "{key}");
        const char *tag =
            at ? arena_printf(&arena, "%.*s%s%s", (int)(at - tags[i]), tags[i], key, at + 5)
               : tags[i];
        const struct value claims =
            parse(&arena, arena_printf(&arena, "{\"nats\":{\"tags\":[\"zester-keys:%s\"]}}", tag));
        struct keyring ring;
        struct err err;

        CHECK(keyring_read(&arena, &claims, &ring, &err) < 0);
        CHECK_HAS(err.text, "tag 'zester-keys:");
    }
}

TEST(an_account_has_a_limited_number_of_keys)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct keyring ring = { 0 }, next;
    struct err err;

    for (unsigned char i = 0; i < KEYRING_KEYS_MAX; i++)
        ring = add(&arena, &ring, make_key(&arena, i));
    CHECK(keyring_add(&arena, &ring, make_key(&arena, 99), 1, 0, &next, &err) < 0);
    CHECK_HAS(err.text, "which is the limit");
}
