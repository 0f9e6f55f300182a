#include "wire/signature.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "test.h"
#include "wire/fileset.h"

#define PLACE "state-files/" FILESET_MANIFEST

static const unsigned char seed[ED25519_SEED_SIZE] = { 1, 2, 3 };
static const struct signature_mark mark = { .revision = 14, .time = 1794765600123456789 };

static const char *sum_of(struct arena *arena, const char *manifest)
{
    char *sum = arena_alloc(arena, SHA256_HEX_SIZE);

    sha256_hex(manifest, strlen(manifest), sum);
    return sum;
}

static int check(const char *place, const char *sum, struct str stored)
{
    unsigned char account[ED25519_PUBLIC_SIZE];
    struct signature_mark got;
    struct err err;
    int result;

    ed25519_public(seed, account);
    result = signature_check_tree(account, place, sum, stored, &got, &err);
    if (result < 0)
        CHECK_INT(err.code, ERR_UNSAFE);
    else
        CHECK(got.revision == mark.revision && got.time == mark.time);
    return result;
}

TEST(a_manifest_that_the_account_signed_for_this_place_is_accepted)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *sum = sum_of(&arena, "files");
    const struct str stored = signature_sign_tree(&arena, seed, PLACE, sum, &mark);
    struct signature_mark got;
    struct err err;

    CHECK(stored.n <= SIGNATURE_TREE_MAX);
    CHECK_INT(check(PLACE, sum, stored), 0);
    CHECK_INT(signature_read_mark(stored, &got, &err), 0);
    CHECK(got.revision == 14 && got.time == mark.time);
}

TEST(another_manifest_place_or_key_is_refused)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    static const unsigned char other[ED25519_SEED_SIZE] = { 1, 2, 4 };
    const char *sum = sum_of(&arena, "files");
    const struct str stored = signature_sign_tree(&arena, seed, PLACE, sum, &mark);

    CHECK_INT(check(PLACE, sum_of(&arena, "other files"), stored), -1);
    CHECK_INT(check("settings-files/" FILESET_MANIFEST, sum, stored), -1);
    CHECK_INT(check(PLACE, sum, signature_sign_tree(&arena, other, PLACE, sum, &mark)), -1);
}

/* Also those of revision and time: another mark would be another tree. */
TEST(no_bit_of_a_signature_can_be_flipped)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *sum = sum_of(&arena, "files");
    const struct str stored = signature_sign_tree(&arena, seed, PLACE, sum, &mark);
    char bytes[SIGNATURE_TREE_MAX];

    for (size_t bit = 0; bit < stored.n * 8; bit++) {
        memcpy(bytes, stored.p, stored.n);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        CHECK_INT(check(PLACE, sum, (struct str){ bytes, stored.n }), -1);
    }
    for (size_t n = 0; n < stored.n; n++)
        CHECK_INT(check(PLACE, sum, str_slice(stored, 0, n)), -1);
}

TEST(what_is_not_a_signature_is_refused_with_the_reason)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(4096);
    char room[4096] = "";
    const struct signature_tree forms[] = {
        { .revision = 1, .time = 1, .signature = { room, ED25519_SIGNATURE_SIZE - 1 } },
        { .revision = 1, .time = 1, .signature = { room, ED25519_SIGNATURE_SIZE + 1 } },
        { .revision = 1, .time = 0, .signature = { room, ED25519_SIGNATURE_SIZE } },
        { .revision = 1, .time = -1, .signature = { room, ED25519_SIGNATURE_SIZE } },
        { .revision = 1, .time = 1, .signature = { room, 2000 } },
    };
    const char *sum = sum_of(&arena, "files");
    struct signature_mark got;
    struct err err;

    CHECK_INT(check(PLACE, sum, STR("")), -1);
    CHECK_INT(check(PLACE, sum, STR("\xc1")), -1);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        buf_clear(&bytes);
        CHECK_INT(record_encode(&bytes, &signature_tree_type, &forms[i], &err), 0);
        CHECK_INT(check(PLACE, sum, buf_view(&bytes)), -1);
        CHECK_INT(signature_read_mark(buf_view(&bytes), &got, &err), -1);
    }
}

TEST(a_signature_is_beside_its_manifest)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK_STR(signature_key(&arena, FILESET_MANIFEST), FILESET_SIGNATURE);
    CHECK_STR(signature_key(&arena, "states.manifest.7"), "states.signature.7");
    CHECK_STR(signature_key(&arena, "odd"), "odd.signature");
    CHECK_STR(signature_place(&arena, "state-files", FILESET_MANIFEST), PLACE);
}
