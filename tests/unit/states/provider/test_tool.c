/* Programs of the system: what they print, how they fail, what they are given. */
#include "test.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/provider/service/manager.h"
#include "states/provider/tool.h"
#include "states/provider/tool_cause.h"
#include "core/sys/clock.h"
#include "core/sys/process.h"

TEST(the_output_of_a_tool_is_returned)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tool tool = { .arena = &arena };
    const struct tool_options options = { .input = STR("over the pipe"),
                                          .cwd = "/",
                                          .env = TOOL("WORD=here") };
    struct err err;
    struct str out;

    CHECK_INT(
        tool_run(&tool, TOOL("sh", "-c", "echo $WORD $LC_ALL $PWD; cat"), &options, &out, &err), 0);
    CHECK_STR(arena_str(&arena, out).p, "here C.UTF-8 /\nover the pipe");
}

TEST(a_failure_has_the_exit_status_and_the_output)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tool tool = { .arena = &arena };
    struct process_result result;
    struct err err;

    CHECK_INT(tool_run(&tool, TOOL("sh", "-c", "echo no; echo why >&2; exit 3"), NULL, NULL, &err),
              -1);
    CHECK_STR(err.text, "sh: exit status 3: why");
    CHECK_INT(tool_try(&tool, TOOL("sh", "-c", "exit 3"), NULL, &result, &err), 0);
    CHECK_INT(result.status.code, 3);
    CHECK_INT(tool_run(&tool, TOOL("no-such-program-here"), NULL, NULL, &err), -1);
    CHECK_STR(err.text, "program 'no-such-program-here' is not installed");
}

TEST(an_error_names_the_subcommand_of_the_tool)
{
    const struct {
        const char *const *argv;
        const char *text;
    } cases[] = {
        { TOOL("apt-get", "-q", "-o", "A=b", "install", "x"), "apt-get install: exit status 1" },
        { TOOL("git", "-C", "/srv", "fetch"), "git fetch: exit status 1" },
        { TOOL("usermod", "-u", "5", "ada"), "usermod: exit status 1" },
        { TOOL("update-alternatives", "--altdir", "/etc", "--auto", "x"),
          "update-alternatives x: exit status 1" },
    };
    const struct process_result failed = { .status = { .code = 1 } };
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(tool_fail(cases[i].argv, &failed, &err), -1);
        CHECK_STR(err.text, cases[i].text);
    }
}

TEST(a_known_cause_comes_first_with_what_to_do_about_it)
{
    static const struct {
        const char *output, *cause;
    } cases[] = {
        { "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 42",
          "another program is using the package manager" },
        { "E: Unable to locate package nosuch", "no repository has such a package" },
        { "fatal: Could not resolve host: nosuch.invalid", "cannot be resolved" },
        { "cp: write error: No space left on device", "the disk is full" },
        { "touch: cannot touch 'x': Read-only file system", "the file system is read-only" },
        { "git@h: Permission denied (publickey).", "give 'identity'" },
        { "useradd: Permission denied.", "a right is missing" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct process_result failed = { .status = { .code = 1 },
                                               .err = str_from(cases[i].output) };
        const char *line;
        struct err err;

        CHECK_INT(tool_fail(TOOL("tool", "act"), &failed, &err), -1);
        line = strchr(err.text, '\n');
        CHECK(strncmp(err.text, "tool act: ", 10) == 0);
        CHECK(line && strstr(err.text, cases[i].cause) && strstr(err.text, cases[i].cause) < line);
        CHECK(line && strstr(line, "exit status 1: ") == line + 1);
        CHECK(line && strstr(line, cases[i].output));
    }
    CHECK(!tool_cause(STR("something else happened")));
    CHECK(!tool_cause(STR("")));
}

TEST(a_missing_tool_is_reported_with_its_package)
{
    struct err err;

    CHECK_INT(tool_missing("crontab", &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_STR(err.text, "program 'crontab' is not installed; install the package "
                        "'cron'");
}

TEST(a_tool_that_times_out_is_an_error)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tool tool = { .arena = &arena };
    const struct tool_options options = { .timeout = 50 * CLOCK_MS };
    struct err err;

    CHECK_INT(tool_run(&tool, TOOL("sleep", "60"), &options, NULL, &err), -1);
    CHECK_INT(err.code, ERR_TIMEOUT);
}

TEST(an_unknown_user_cannot_run_anything)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tool tool = { .arena = &arena };
    const struct tool_options options = { .runas = "nobody-of-this-name" };
    struct err err;

    CHECK_INT(tool_run(&tool, TOOL("true"), &options, NULL, &err), -1);
    CHECK_STR(err.text, "user 'nobody-of-this-name' does not exist");
}

TEST(words_grow_and_are_terminated_by_null)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tool tool = { .arena = &arena };
    struct tool_words words = { 0 };
    const char *const *argv;

    for (int i = 0; i < 20; i++)
        tool_add(&tool, &words, "x");
    argv = tool_argv(&tool, &words);
    CHECK_INT(words.list.n, 20);
    CHECK(argv[19] && !argv[20]);
    CHECK(tool_find(&arena, "sh") && !tool_find(&arena, "no-such-program-here"));
}

TEST(choices_number_the_managers_in_order)
{
    CHECK_STR(service_manager_choices, "auto|systemd|openrc|kepler|systemctl|sysv");
    CHECK(!service_manager_chosen(0));
    CHECK_STR(service_manager_chosen(2)->name, "openrc");
    CHECK_STR(service_manager_with_configs()->name, "kepler");
}
