#include "fleet/ssh/script.h"

#include <string.h>

#include "core/base/arena.h"
#include "fleet/ssh/roster.h"
#include "test.h"

#define SECOND INT64_C(1000000000)

static const struct ssh_script script = { .nonce = "abc", .sha256 = "00ff", .size = 42 };

static size_t count_words(const char *const *argv)
{
    size_t n = 0;

    while (argv[n])
        n++;
    return n;
}

/* Where an option stands; -1: it does not. */
static int find_word(const char *const *argv, const char *word)
{
    for (int i = 0; argv[i]; i++)
        if (strcmp(argv[i], word) == 0)
            return i;
    return -1;
}

TEST(our_options_come_before_those_of_the_roster_and_the_host_after_the_end_of_options)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *const options[] = { "StrictHostKeyChecking=accept-new" };
    const struct ssh_machine machine = { .host = "db.example.com",
                                         .user = "deploy",
                                         .port = 2222,
                                         .identity = "/k",
                                         .timeout = SECOND * 3 / 2,
                                         .options = { 1, options } };
    const char *const *argv = ssh_script_argv(&arena, &machine, "/usr/bin/ssh", &script);
    const size_t n = count_words(argv);

    assert_string_equal(argv[0], "/usr/bin/ssh");
    assert_true(find_word(argv, "BatchMode=yes") < find_word(argv, options[0]));
    assert_true(find_word(argv, options[0]) < find_word(argv, "StrictHostKeyChecking=yes"));
    assert_true(find_word(argv, "ConnectTimeout=2") > 0);
    assert_string_equal(argv[find_word(argv, "-l") + 1], "deploy");
    assert_string_equal(argv[find_word(argv, "-p") + 1], "2222");
    assert_string_equal(argv[find_word(argv, "-i") + 1], "/k");
    assert_string_equal(argv[n - 3], "--");
    assert_string_equal(argv[n - 2], "db.example.com");
}

TEST(every_login_shell_can_pass_on_the_script)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct ssh_script clean = { .nonce = "abc" };
    const struct ssh_script *const scripts[] = { &script, &clean };
    const struct ssh_machine machines[] = { { .host = "h" },
                                            { .host = "h", .sudo = true },
                                            { .host = "h", .sudo = true, .sudo_user = "www" } };
    static const char *const begins[] = { "exec /bin/sh -c '", "exec sudo -n -H -- /bin/sh -c '",
                                          "exec sudo -n -H -u www -- /bin/sh -c '" };

    for (size_t i = 0; i < ARRAY_LEN(machines) * ARRAY_LEN(scripts); i++) {
        const size_t which = i / ARRAY_LEN(scripts);
        const char *const *argv =
            ssh_script_argv(&arena, &machines[which], "ssh", scripts[i % ARRAY_LEN(scripts)]);
        const char *text = argv[count_words(argv) - 1];
        const size_t begin = strlen(begins[which]);

        assert_memory_equal(text, begins[which], begin);
        assert_ptr_equal(strpbrk(text + begin, "'!\n"), text + strlen(text) - 1);
    }
}

static const struct {
    const char *line;
    enum ssh_script_word word;
    const char *rest;
} lines[] = {
    { "zester-ssh abc need Linux x86_64", SSH_SCRIPT_NEED, "Linux x86_64" },
    { "zester-ssh abc have Linux x86_64", SSH_SCRIPT_HAVE, "Linux x86_64" },
    { "zester-ssh abc clean", SSH_SCRIPT_CLEAN, "" },
    { "zester-ssh abc fail no room", SSH_SCRIPT_FAIL, "no room" },
    { "zester-ssh abd have Linux", SSH_SCRIPT_NOISE, "" },
    { "zester-ssh abc", SSH_SCRIPT_NOISE, "" },
    { "zester-ssh abc what", SSH_SCRIPT_NOISE, "" },
    { "zester-ssh", SSH_SCRIPT_NOISE, "" },
    { " zester-ssh abc clean", SSH_SCRIPT_NOISE, "" },
    { "", SSH_SCRIPT_NOISE, "" },
    { "welcome", SSH_SCRIPT_NOISE, "" },
};

TEST(lines_of_the_script_are_told_from_noise_by_their_nonce)
{
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct str rest;

        assert_int_equal(ssh_script_read(str_from(lines[i].line), "abc", &rest), lines[i].word);
        assert_true(str_eq_text(rest, lines[i].rest));
    }
}
