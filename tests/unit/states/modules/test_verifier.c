/* What PostgreSQL stores of passwords. */
#include "test.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/modules/postgres/verifier.h"

static const unsigned char salt[VERIFIER_SALT_SIZE] = { 1, 2, 3 };

static bool matches(struct arena *arena, const char *stored, const char *role, const char *password)
{
    struct err err;
    bool same = false;

    CHECK_INT(verifier_matches(arena, str_from(stored), role, password, &same, &err), 0);
    return same;
}

TEST(md5_hashes_password_and_role)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *text;
    struct err err;

    CHECK_INT(verifier_make(&arena, VERIFIER_MD5, "postgres", "secret", salt, &text, &err), 0);
    CHECK_STR(text, "md553f48b7c4b76a86ce72276c5755f217d");
    CHECK(matches(&arena, text, "postgres", "secret"));
    CHECK(!matches(&arena, text, "other", "secret"));
    CHECK(verifier_is(str_from(text)));
}

TEST(scram_verifiers_equal_those_of_a_real_server)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *text;
    struct err err;

    CHECK_INT(verifier_make(&arena, VERIFIER_SCRAM, "x", "pencil", salt, &text, &err), 0);
    CHECK(matches(&arena, text, "any", "pencil"));
    CHECK(!matches(&arena, text, "any", "pencils"));
    CHECK(verifier_kind_of(str_from(text)) == VERIFIER_SCRAM);
    CHECK(matches(&arena,
                  "SCRAM-SHA-256$4096:6YeK/yNMZAzc82EOWl8AgA==$A0vLIU1/hHpFRmf73qwVz/"
                  "PpUX1ehQRxkaRQp15lcew=:SA2nqvka4c5W2jRYMffH60vTtx/llH93G4Gel8cLBMA=",
                  "any", "pencil"));
}

TEST(a_damaged_verifier_matches_nothing)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK(!matches(&arena, "", "a", "b"));
    CHECK(!matches(&arena, "md5xyz", "a", "b"));
    CHECK(!matches(&arena, "SCRAM-SHA-256$", "a", "b"));
    CHECK(!matches(&arena, "SCRAM-SHA-256$99999999999:AA==$BB==:CC==", "a", "b"));
    CHECK(!matches(&arena, "SCRAM-SHA-256$0:AA==$BB==:CC==", "a", "b"));
    CHECK(!verifier_is(STR("md5")));
    CHECK(!verifier_is(STR("a password")));
}
