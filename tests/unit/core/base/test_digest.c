#include "core/base/digest.h"

#include "core/base/err.h"
#include "test.h"

static struct err err;

/* 'a', so many times. */
static void check(const char *name, size_t n, const char *expected)
{
    char message[1000], text[DIGEST_HEX_MAX];
    const struct digest *digest = digest_find(str_from(name));

    memset(message, 'a', sizeof(message));
    CHECK_INT(digest_hex(digest, (struct str){ message, n }, NULL, text, &err), 0);
    CHECK_STR(text, expected);
    CHECK(digest_find_digits(strlen(expected)) == digest);
    CHECK_STR(digest_name(digest), name);
}

TEST(known_digests_of_messages_around_the_size_of_a_block)
{
    check("md5", 0, "d41d8cd98f00b204e9800998ecf8427e");
    check("md5", 55, "ef1772b6dff9a122358552954ad0df65");
    check("md5", 64, "014842d480b571495a4a0363793f7367");
    check("md5", 1000, "cabe45dcc9ae5b66ba86600cca6b8ba8");
    check("sha1", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    check("sha1", 56, "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    check("sha1", 65, "11655326c708d70319be2610e8a57d9a5b959d3b");
    check("sha1", 1000, "291e9a6c66994949b57ba5e650361e98fc36b1ba");
    check("sha224", 0, "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f");
    check("sha256", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("sha384", 0,
          "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da"
          "274edebfe76f65fbd51ad2f14898b95b");
    check("sha512", 0,
          "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
          "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e");
}

TEST(no_bytes_at_all_have_a_digest)
{
    char text[DIGEST_HEX_MAX];

    CHECK_INT(digest_hex(digest_find(STR("md5")), (struct str){ 0 }, NULL, text, &err), 0);
    CHECK_STR(text, "d41d8cd98f00b204e9800998ecf8427e");
    CHECK_INT(digest_hex(digest_find(STR("sha512")), (struct str){ 0 }, NULL, text, &err), 0);
    CHECK_INT(strncmp(text, "cf83e135", 8), 0);
}

TEST(digests_are_found_by_name_in_any_case)
{
    CHECK(digest_find(STR("SHA256")) == digest_find(STR("sha256")));
    CHECK(digest_find(STR("sha25")) == NULL);
    CHECK(digest_find(STR("sha3")) == NULL);
    CHECK(digest_find(STR("")) == NULL);
    CHECK(digest_find_digits(0) == NULL);
    CHECK(digest_find_digits(41) == NULL);
}

TEST(a_stronger_digest_compares_as_more)
{
    const struct digest *md5 = digest_find(STR("md5")), *sha1 = digest_find(STR("sha1"));

    CHECK(digest_compare(md5, sha1) < 0);
    CHECK(digest_compare(digest_find(STR("sha512")), sha1) > 0);
    CHECK_INT(digest_compare(md5, md5), 0);
}

static int checks;

static int stop_at_third(struct err *error)
{
    return ++checks < 3 ? 0 : err_set(error, ERR_CANCELED, "enough");
}

TEST(a_large_input_is_hashed_in_pieces_that_can_be_the_last)
{
    static const char *const names[] = { "md5", "sha1", "sha256", "sha384", "sha512" };
    const size_t n = 2 * DIGEST_PIECE + 1;
    char *bytes = mem_zalloc(n), text[DIGEST_HEX_MAX];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        checks = 0;
        CHECK_INT(digest_hex(digest_find(str_from(names[i])), (struct str){ bytes, n },
                             stop_at_third, text, &err),
                  -1);
        CHECK_INT(err.code, ERR_CANCELED);
        CHECK_INT(digest_hex(digest_find(str_from(names[i])),
                             (struct str){ bytes, 2 * DIGEST_PIECE }, NULL, text, &err),
                  0);
    }
    mem_free_auto(&bytes);
}
