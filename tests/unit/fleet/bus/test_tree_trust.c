#include "fleet/bus/tree_trust.h"

#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "test.h"

#define PLACE  "state-files/_manifest"
#define CANARY "state-files/_canary.manifest"

static const unsigned char seed[ED25519_SEED_SIZE] = { 7 };

/* Good until the next call. */
static const struct ed25519_pair *pair_of(const unsigned char *secret)
{
    static unsigned char public_key[ED25519_PUBLIC_SIZE];
    static struct ed25519_pair pair;

    ed25519_public(secret, public_key);
    pair = (struct ed25519_pair){ secret, public_key };
    return &pair;
}

/* Someone who reads trees, and remembers in the folder of the test. */
static struct tree_trust reader(struct arena *arena, enum tree_trust_mode mode)
{
    struct tree_trust trust = { .mode = mode, .has_account = true };

    ed25519_public(seed, trust.account);
    trust.seen = arena_printf(arena, "%s/signed", test_folder());
    return trust;
}

static struct tree_trust_offer offer_at(struct arena *arena, const char *place,
                                        const char *manifest, const struct signature_mark *mark)
{
    struct tree_trust_offer made = { .place = place, .manifest = str_from(manifest) };
    char sum[SHA256_HEX_SIZE];

    sha256_hex(manifest, strlen(manifest), sum);
    if (mark->time)
        made.signature = signature_sign_tree(arena, pair_of(seed), place, sum, mark);
    return made;
}

/* A tree with this content; time 0: it is not signed. */
static struct tree_trust_offer offer(struct arena *arena, const char *manifest, uint64_t revision,
                                     int64_t time)
{
    return offer_at(arena, PLACE, manifest, &(struct signature_mark){ revision, time });
}

/* The same, of a canary that follows it. */
static struct tree_trust_offer offer_canary(struct arena *arena, const char *manifest,
                                            uint64_t revision, int64_t time)
{
    struct tree_trust_offer made =
        offer_at(arena, CANARY, manifest, &(struct signature_mark){ revision, time });

    made.base = PLACE;
    return made;
}

/* NULL: it is accepted, and used. */
static const char *try_offer(struct arena *arena, const struct tree_trust *trust,
                             struct tree_trust_offer offered)
{
    struct err err;

    if (tree_trust_check(trust, &offered, &err) < 0) {
        CHECK_INT(err.code, ERR_UNSAFE);
        return arena_strdup(arena, err.text);
    }
    CHECK_INT(tree_trust_note(trust, &offered, &err), 0);
    return NULL;
}

TEST(a_tree_that_was_never_signed_needs_no_signature_unless_it_is_required)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_trust trust = reader(&arena, TREE_TRUST_VERIFY);
    const struct tree_trust strict = reader(&arena, TREE_TRUST_REQUIRE);

    CHECK(!try_offer(&arena, &trust, offer(&arena, "one", 1, 0)));
    CHECK_HAS(try_offer(&arena, &strict, offer(&arena, "one", 1, 0)), "trust.signed_trees");
    CHECK(!try_offer(&arena, &strict, offer(&arena, "one", 1, 100)));
}

TEST(a_tree_that_was_signed_once_must_be_signed_from_then_on)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_trust trust = reader(&arena, TREE_TRUST_VERIFY);
    struct tree_trust_offer forged = offer(&arena, "one", 1, 100);

    CHECK(!try_offer(&arena, &trust, forged));
    CHECK_HAS(try_offer(&arena, &trust, offer(&arena, "two", 2, 0)), "not signed");
    forged.manifest = STR("two");
    CHECK_HAS(try_offer(&arena, &trust, forged), "not that of the account");
    CHECK(!try_offer(&arena, &trust, offer(&arena, "two", 2, 101)));
}

/* The counter of a server that lost its disk begins again; time goes on. */
TEST(an_older_tree_is_refused_and_a_later_one_accepted_whatever_their_revisions_are)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_trust trust = reader(&arena, TREE_TRUST_VERIFY);
    const char *why, *file = arena_printf(&arena, "%s/state-files._manifest", trust.seen);

    CHECK(!try_offer(&arena, &trust, offer(&arena, "new", 100, 5000)));
    CHECK(!try_offer(&arena, &trust, offer(&arena, "new", 100, 5000))); /* again */
    why = try_offer(&arena, &trust, offer(&arena, "old", 99, 4999));
    CHECK_HAS(why, "revision 99 was signed before revision 100");
    CHECK_HAS(why, file);
    CHECK(try_offer(&arena, &trust, offer(&arena, "old", 101, 4999)));
    CHECK(!try_offer(&arena, &trust, offer(&arena, "after a loss", 1, 6000)));
    CHECK(try_offer(&arena, &trust, offer(&arena, "new", 100, 5000)));
    CHECK_INT(unlink(file), 0); /* the way out */
    CHECK(!try_offer(&arena, &trust, offer(&arena, "new", 100, 5000)));
}

TEST(each_place_has_a_memory_of_its_own)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_trust trust = reader(&arena, TREE_TRUST_VERIFY);
    struct tree_trust_offer other = { .place = "settings-files/_manifest", .manifest = STR("x") };

    CHECK(!try_offer(&arena, &trust, offer(&arena, "one", 1, 100)));
    CHECK(!try_offer(&arena, &trust, other)); /* never signed */
}

TEST(a_canary_must_be_signed_when_what_it_follows_was)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_trust trust = reader(&arena, TREE_TRUST_VERIFY);
    const struct tree_trust strict = reader(&arena, TREE_TRUST_REQUIRE);
    struct tree_trust_offer swapped = offer(&arena, "one", 3, 300);

    CHECK_HAS(try_offer(&arena, &strict, offer_canary(&arena, "x", 1, 0)), "trust.signed_trees");
    CHECK(!try_offer(&arena, &trust, offer_canary(&arena, "x", 1, 0))); /* nothing ever was */
    CHECK(!try_offer(&arena, &trust, offer(&arena, "one", 1, 100)));
    CHECK_HAS(try_offer(&arena, &trust, offer_canary(&arena, "x", 2, 0)),
              "the tree is not signed, and revision 1 was");
    swapped.place = CANARY; /* a good signature, of another place */
    swapped.base = PLACE;
    CHECK_HAS(try_offer(&arena, &trust, swapped), "not that of the account");
    CHECK(!try_offer(&arena, &trust, offer_canary(&arena, "two", 2, 200)));
}

TEST(a_canary_is_later_than_what_it_follows_and_not_accepted_again_after_it_has_ended)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_trust trust = reader(&arena, TREE_TRUST_VERIFY);

    CHECK(!try_offer(&arena, &trust, offer(&arena, "one", 1, 100)));
    CHECK_HAS(try_offer(&arena, &trust, offer_canary(&arena, "old", 2, 100)), "it has ended");
    CHECK(!try_offer(&arena, &trust, offer_canary(&arena, "two", 2, 200)));
    CHECK_HAS(try_offer(&arena, &trust, offer_canary(&arena, "old", 2, 199)), "was signed before");
    CHECK(!try_offer(&arena, &trust, offer(&arena, "one", 1, 100))); /* it is aborted: go back */
    CHECK(!try_offer(&arena, &trust, offer(&arena, "one", 3, 300))); /* and signed anew */
    CHECK_HAS(try_offer(&arena, &trust, offer_canary(&arena, "two", 2, 200)), "it has ended");
    CHECK(!try_offer(&arena, &trust, offer_canary(&arena, "four", 4, 400)));
}

TEST(a_damaged_memory_is_reported_with_what_to_do)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_trust trust = reader(&arena, TREE_TRUST_VERIFY);
    const char *file = arena_printf(&arena, "%s/state-files._manifest", trust.seen);
    struct err err;

    CHECK(!try_offer(&arena, &trust, offer(&arena, "one", 1, 100)));
    CHECK_INT(fs_replace(file, STR("\xc1"), NULL, &err), 0);
    CHECK_HAS(try_offer(&arena, &trust, offer(&arena, "two", 2, 200)), "is damaged");
}

TEST(who_ignores_signatures_or_knows_no_account_accepts_everything_but_what_is_required)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_trust careless = reader(&arena, TREE_TRUST_IGNORE);
    struct tree_trust stranger = reader(&arena, TREE_TRUST_VERIFY);
    struct tree_trust_offer forged = offer(&arena, "one", 1, 100);

    forged.manifest = STR("two");
    stranger.has_account = false;
    CHECK(!try_offer(&arena, &careless, forged));
    CHECK(!try_offer(&arena, &stranger, forged));
    stranger.mode = TREE_TRUST_REQUIRE;
    CHECK_HAS(try_offer(&arena, &stranger, forged), "by whom");
}
