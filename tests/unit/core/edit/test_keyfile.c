/* authorized_keys: options with quotes, keys by their blob. */
#include "test.h"

#include "core/edit/keyfile.h"

static const char *set(const char *text, const char *blob, const char *line)
{
    static struct buf out;

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    keyfile_set(str_from(text), str_from(blob), str_from(line), &out);
    return buf_text(&out);
}

TEST(options_may_hold_quoted_blanks)
{
    struct keyfile_key key;

    CHECK(keyfile_parse(STR("command=\"echo \\\" hi\",no-pty ssh-rsa AAA  two words "), &key));
    CHECK(str_is(key.options, "command=\"echo \\\" hi\",no-pty"));
    CHECK(str_is(key.type, "ssh-rsa"));
    CHECK(str_is(key.blob, "AAA"));
    CHECK(str_is(key.comment, "two words"));
    CHECK(keyfile_parse(STR("ecdsa-sha2-nistp256 BBB"), &key));
    CHECK(str_is(key.options, "") && str_is(key.comment, ""));
}

TEST(an_invalid_line_is_not_a_key)
{
    struct keyfile_key key;

    CHECK(!keyfile_parse(STR("# ssh-rsa AAA"), &key));
    CHECK(!keyfile_parse(STR("ssh-rsa"), &key));
    CHECK(!keyfile_parse(STR(""), &key));
    CHECK(!keyfile_parse(STR("no-pty"), &key));
    CHECK(!keyfile_parse(STR("just some words"), &key));
}

TEST(a_key_is_replaced_in_place_and_its_doubles_go)
{
    CHECK_STR(set("# keys\nssh-rsa AAA old\nssh-rsa BBB b\nno-pty ssh-rsa AAA twice\n", "AAA",
                  "ssh-rsa AAA new"),
              "# keys\nssh-rsa AAA new\nssh-rsa BBB b\n");
    CHECK_STR(set("ssh-rsa BBB b", "AAA", "ssh-rsa AAA new"), "ssh-rsa BBB b\nssh-rsa AAA new\n");
    CHECK_STR(set("ssh-rsa AAA\nssh-rsa BBB AAA\n", "AAA", ""), "ssh-rsa BBB AAA\n");
}
