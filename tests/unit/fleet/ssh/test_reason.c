#include "fleet/ssh/reason.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "fleet/ssh/roster.h"
#include "test.h"

static const struct {
    const char *words, *part;
} cases[] = {
    { "ssh: connect to host h port 22: Connection refused\r\n",
      "ssh: connect to host h port 22: Connection refused (h: is its ssh server running" },
    { "No ED25519 host key is known.\nHost key verification failed.\n", "compare the fingerprint" },
    { "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n",
      "ask why" },
    { "u@h: Permission denied (publickey).\n", "(h: no key is accepted" },
    { "sudo: a password is required\n", "NOPASSWD" },
    { "./z: error while loading shared libraries: libyaml-0.so.2: cannot open\n", "libsodium23" },
    { "./z: version `GLIBC_2.36' not found\n", "C library is older" },
    { "sh: 1: ./z: Exec format error\n", "another processor" },
    { "sh: 1: ./z: Permission denied\n", "noexec" },
    { "\x1b[31m\n\xff", "?[31m ?" },
    { "", "nothing was said" },
    { " \n\t", "nothing was said" },
};

TEST(the_words_of_ssh_and_shells_come_with_advice_and_without_control_characters)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct ssh_machine machine = { .host = "h" };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *why =
            ssh_reason_find(&arena, &machine, str_from(cases[i].words), "nothing was said");

        if (!strstr(why, cases[i].part))
            fail_msg("'%s' does not have '%s'", why, cases[i].part);
    }
}

TEST(only_the_last_words_are_shown)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct ssh_machine machine = { .host = "h" };
    AUTO_BUF struct buf words = BUF_INIT(BUF_NO_LIMIT);
    const char *shown;

    buf_fill(&words, 'x', 100000);
    buf_add_text(&words, " last");
    shown = ssh_reason_find(&arena, &machine, buf_view(&words), "");
    assert_int_equal(strlen(shown), SSH_REASON_MAX);
    assert_non_null(strstr(shown, "x last"));
}
