#include "fleet/master/files/tree_signer.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/nats/nkey.h"
#include "core/sys/clock.h"
#include "test.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"

#define PAIR(key)                                                                                  \
    (const struct ed25519_pair[])                                                                  \
    {                                                                                              \
        nats_nkey_pair(key)                                                                        \
    }

static void make_account(unsigned char first, struct nats_nkey *ret)
{
    unsigned char seed[ED25519_SEED_SIZE] = { first };

    nats_nkey_make(NATS_NKEY_ACCOUNT, seed, ret);
}

static const char *sum_of(struct arena *arena, const char *manifest)
{
    char *sum = arena_alloc(arena, SHA256_HEX_SIZE);

    sha256_hex(manifest, strlen(manifest), sum);
    return sum;
}

static int64_t time_of(struct str stored)
{
    struct signature_mark mark;
    struct err err;

    CHECK_INT(signature_read_mark(stored, &mark, &err), 0);
    return mark.time;
}

static struct tree_signer_tree tree(struct arena *arena, const char *manifest, uint64_t number)
{
    return (struct tree_signer_tree){ FILESET_MANIFEST, sum_of(arena, manifest), number };
}

static bool is_good(const struct tree_signer *signer, const char *manifest, uint64_t number)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_signer_tree made = tree(&arena, manifest, number);

    return tree_signer_is_good(signer, &made);
}

/* Publish it to the bucket. */
static struct str publish_at(struct tree_signer *signer, struct arena *arena, const char *key,
                             const char *manifest, uint64_t number)
{
    struct tree_signer_tree made = tree(arena, manifest, number);
    struct str stored;

    made.manifest = key;
    stored = tree_signer_sign(signer, arena, &made);
    tree_signer_note(signer, str_from(key), str_from(manifest), 2 * number);
    tree_signer_note(signer, str_from(signature_key(arena, key)), stored, 2 * number + 1);
    return stored;
}

static struct str publish(struct tree_signer *signer, struct arena *arena, const char *manifest,
                          uint64_t number)
{
    return publish_at(signer, arena, FILESET_MANIFEST, manifest, number);
}

TEST(a_signature_is_valid_only_for_its_manifest_and_number)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_nkey account, other;
    struct tree_signer signer = { .account = &account, .bucket = "state-files" };
    struct tree_signer stranger = { .account = &other, .bucket = "state-files" };

    make_account(1, &account);
    make_account(2, &other);
    CHECK(!is_good(&signer, "one", 1));
    (void)publish(&signer, &arena, "one", 1);
    CHECK(is_good(&signer, "one", 1));
    CHECK(!is_good(&signer, "one", 2));
    CHECK(!is_good(&signer, "two", 1));
    tree_signer_note(&signer, STR(FILESET_SIGNATURE), publish(&stranger, &arena, "one", 1), 9);
    CHECK(!is_good(&signer, "one", 1));
    tree_signer_note(&signer, STR(FILESET_SIGNATURE), (struct str){ NULL, 0 }, 10);
    CHECK(!is_good(&signer, "one", 1));
}

TEST(a_master_with_a_slow_clock_signs_later_than_its_predecessor)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct signature_mark ahead = { .revision = 1,
                                          .time = clock_wall() + 3600 * CLOCK_SECOND };
    const char *sum = sum_of(&arena, "one");
    struct nats_nkey account;
    struct tree_signer signer = { .account = &account, .bucket = "state-files" };
    struct str stored;

    make_account(1, &account);
    stored =
        signature_sign_tree(&arena, PAIR(&account), "state-files/" FILESET_MANIFEST, sum, &ahead);
    tree_signer_note(&signer, STR(FILESET_MANIFEST), STR("one"), 1);
    tree_signer_note(&signer, STR(FILESET_SIGNATURE), stored, 2);
    CHECK(time_of(publish(&signer, &arena, "two", 2)) == ahead.time + 1);
    CHECK(time_of(publish(&signer, &arena, "three", 3)) == ahead.time + 2);
}

/* Only the account can advance its clock. */
TEST(the_time_of_an_invalid_signature_is_ignored)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct signature_mark far = { .revision = 1, .time = INT64_MAX };
    struct nats_nkey account, other;
    struct tree_signer signer = { .account = &account, .bucket = "state-files" };

    make_account(1, &account);
    make_account(2, &other);
    tree_signer_note(&signer, STR(FILESET_MANIFEST), STR("one"), 1);
    tree_signer_note(&signer, STR(FILESET_SIGNATURE),
                     signature_sign_tree(&arena, PAIR(&other), "state-files/" FILESET_MANIFEST,
                                         sum_of(&arena, "one"), &far),
                     2);
    CHECK(time_of(publish(&signer, &arena, "two", 2)) < clock_wall() + CLOCK_SECOND);
}

/* So a reader can tell that a canary is newer than what it follows, and that it has ended. */
TEST(a_canary_is_signed_for_its_own_place_in_order_with_the_general_set)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct signature_mark ahead = { .revision = 1,
                                          .time = clock_wall() + 3600 * CLOCK_SECOND };
    struct nats_nkey account;
    struct tree_signer signer = { .account = &account, .bucket = "state-files" };
    struct tree_signer_tree canary = tree(&arena, "two", 2);

    make_account(1, &account);
    tree_signer_note(&signer, STR(FILESET_MANIFEST), STR("one"), 1);
    tree_signer_note(&signer, STR(FILESET_SIGNATURE),
                     signature_sign_tree(&arena, PAIR(&account), "state-files/" FILESET_MANIFEST,
                                         sum_of(&arena, "one"), &ahead),
                     2);
    CHECK(time_of(publish_at(&signer, &arena, CANARY_MANIFEST, "two", 2)) == ahead.time + 1);
    CHECK(is_good(&signer, "one", 1)); /* as it was */
    CHECK(!is_good(&signer, "two", 2));
    canary.manifest = CANARY_MANIFEST;
    CHECK(tree_signer_is_good(&signer, &canary));
    tree_signer_note(&signer, STR(CANARY_SIGNATURE), (struct str){ NULL, 0 }, 6);
    CHECK(!tree_signer_is_good(&signer, &canary));
    CHECK(time_of(publish(&signer, &arena, "one", 3)) == ahead.time + 2);
}

TEST(without_an_account_nothing_needs_a_signature)
{
    struct tree_signer signer = { .bucket = "state-files" };

    tree_signer_note(&signer, STR(FILESET_SIGNATURE), STR("x"), 1);
    CHECK(is_good(&signer, "one", 1));
}
