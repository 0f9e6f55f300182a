#include "master/tree_signer.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "nats/nkey.h"
#include "sys/clock.h"
#include "test.h"
#include "wire/fileset.h"

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

/* Publish it: the bucket has it then. */
static struct str publish(struct tree_signer *signer, struct arena *arena, const char *manifest,
                          uint64_t number)
{
    const struct str stored = tree_signer_sign(signer, arena, sum_of(arena, manifest), number);

    tree_signer_note(signer, STR(FILESET_MANIFEST), str_from(manifest), 2 * number);
    tree_signer_note(signer, STR(FILESET_SIGNATURE), stored, 2 * number + 1);
    return stored;
}

TEST(what_the_bucket_has_is_good_for_its_manifest_and_number_only)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_nkey account, other;
    struct tree_signer signer = { .account = &account, .bucket = "state-files" };
    struct tree_signer stranger = { .account = &other, .bucket = "state-files" };

    make_account(1, &account);
    make_account(2, &other);
    CHECK(!tree_signer_is_good(&signer, sum_of(&arena, "one"), 1));
    (void)publish(&signer, &arena, "one", 1);
    CHECK(tree_signer_is_good(&signer, sum_of(&arena, "one"), 1));
    CHECK(!tree_signer_is_good(&signer, sum_of(&arena, "one"), 2));
    CHECK(!tree_signer_is_good(&signer, sum_of(&arena, "two"), 1));
    tree_signer_note(&signer, STR(FILESET_SIGNATURE), publish(&stranger, &arena, "one", 1), 9);
    CHECK(!tree_signer_is_good(&signer, sum_of(&arena, "one"), 1));
    tree_signer_note(&signer, STR(FILESET_SIGNATURE), (struct str){ NULL, 0 }, 10);
    CHECK(!tree_signer_is_good(&signer, sum_of(&arena, "one"), 1));
}

TEST(a_master_whose_clock_is_behind_signs_with_a_later_time_than_the_one_before_it)
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

/* Nobody but the account can move its clock. */
TEST(the_time_of_a_signature_that_is_not_good_counts_for_nothing)
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

TEST(without_an_account_nothing_is_to_be_signed)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree_signer signer = { .bucket = "state-files" };

    tree_signer_note(&signer, STR(FILESET_SIGNATURE), STR("x"), 1);
    CHECK(tree_signer_is_good(&signer, sum_of(&arena, "one"), 1));
}
