#include "core/sys/passhash.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "test.h"

static bool matches(const char *password, const char *hash)
{
    struct err err = { 0 };
    bool same = false;

    CHECK_INT(passhash_matches(password, hash, &same, &err), 0);
    return same;
}

TEST(a_hash_matches_its_own_password_and_no_other)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err = { 0 };
    const char *one, *two;

    CHECK_INT(passhash_make(&arena, "open sesame", &one, &err), 0);
    CHECK_INT(passhash_make(&arena, "open sesame", &two, &err), 0);
    CHECK(strncmp(one, "$6$", 3) == 0);
    CHECK(strcmp(one, two) != 0); /* each has its salt */
    CHECK(matches("open sesame", one) && matches("open sesame", two));
    CHECK(!matches("open sesam", one));
}

TEST(an_invalid_hash_matches_nothing)
{
    CHECK(!matches("x", "!"));
    CHECK(!matches("x", "*"));
    CHECK(!matches("", ""));
    CHECK(!matches("x", "x"));
}

TEST(a_hash_that_another_program_made_is_known)
{
    /* openssl passwd -6 -salt abcdefgh secret */
    CHECK(matches("secret", "$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaN"
                            "GStk8PSwGfQv72N2CKPPrVACtLtip/cZ/1GM/O6IND4WQhG."));
}
