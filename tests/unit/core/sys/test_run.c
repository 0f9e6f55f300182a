#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/cgroup.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "wait.h"

static struct arena arena = ARENA_INIT;
static struct err err;

static struct process_result run(const char *command, struct process_bounds bounds)
{
    const struct process_spec spec = { .command = command };
    struct process_result result = { 0 };

    err.text[0] = '\0';
    (void)process_run(&spec, &bounds, NULL, &arena, &result, &err);
    CHECK_STR(err.text, "");
    return result;
}

static size_t count_fds(void)
{
    struct fs_names names;

    CHECK_INT(fs_list(&arena, "/proc/self/fd", &names, &err), 0);
    return names.list.n;
}

static bool has_cgroups(void)
{
    const char *home;

    CHECK_INT(cgroup_home(&arena, &home, &err), 0);
    if (!home)
        print_message("skipped: no writable cgroup v2\n");
    return home;
}

/* A number that a process wrote into a file, once it is there. */
static pid_t read_pid(const char *path)
{
    struct str text = { NULL, 0 };

    WAIT_FOR(fs_read(&arena, path, 100, &text, &err) == 0 && text.n > 0 &&
             text.p[text.n - 1] == '\n');
    return (pid_t)strtol(text.p, NULL, 10);
}

/* Neither running nor about to: gone, or a zombie that its new parent will reap. */
static bool is_dead(pid_t pid)
{
    struct str text;

    if (kill(pid, 0) < 0)
        return errno == ESRCH;
    if (fs_read(&arena, arena_printf(&arena, "/proc/%d/stat", pid), 10000, &text, &err) < 0)
        return err.errnum == ESRCH; /* gone between opening and reading */
    return !text.p || strstr(text.p, ") Z ") || strstr(text.p, ") X ");
}

TEST(input_is_fed_while_output_is_read)
{
    size_t n = 1000000;
    char *input = mem_alloc(n);
    struct process_result result;

    memset(input, 'x', n);
    result = run("cat; echo >&2 done", (struct process_bounds){ .input = { input, n } });
    CHECK_INT(result.out.n, n);
    CHECK_STR(result.err.p, "done\n");
    free(input);
}

TEST(unread_input_is_not_an_error)
{
    size_t n = 1000000;
    char *input = mem_zalloc(n);
    struct process_result result =
        run("exec 0<&-; echo fine", (struct process_bounds){ .input = { input, n } });

    CHECK_STR(result.out.p, "fine\n");
    CHECK(process_status_ok(result.status));
    CHECK_STR(run("cat", (struct process_bounds){ .input = STR("") }).out.p, "");
    free(input);
}

TEST(output_beyond_the_limit_is_counted_and_never_blocks_the_child)
{
    struct process_result result = run("head -c 1000000 /dev/zero; echo end >&2; exit 4",
                                       (struct process_bounds){ .output_max = 1000 });

    CHECK_INT(result.out.n, 1000);
    CHECK_INT(result.out_dropped, 999000);
    CHECK_STR(result.err.p, "end\n");
    CHECK_INT(result.err_dropped, 0);
    CHECK_INT(result.status.code, 4);
}

TEST(standard_error_can_be_joined_in_order)
{
    const struct process_spec spec = { .command = "echo a; echo b >&2; echo c",
                                       .err = { .kind = PROCESS_STDOUT } };
    struct process_result result;

    CHECK_INT(process_run(&spec, NULL, NULL, &arena, &result, &err), 0);
    CHECK_STR(result.out.p, "a\nb\nc\n");
    CHECK_STR(result.err.p, "");
}

TEST(a_daemon_in_the_background_does_not_hold_the_run)
{
    const char *path = path_join(&arena, test_folder(), "pid");
    struct process_result result =
        run(arena_printf(&arena, "sleep 1000 & echo $! > %s; echo started", path),
            (struct process_bounds){ .timeout = 60 * CLOCK_SECOND });
    pid_t pid = read_pid(path);

    CHECK_STR(result.out.p, "started\n");
    CHECK(!result.timed_out);
    CHECK(!is_dead(pid)); /* left alone */
    CHECK_INT(kill(pid, SIGKILL), 0);
}

static enum fs_kind info_kind(const char *path)
{
    struct fs_info info;

    CHECK_INT(fs_lstat(path, &info, &err), 0);
    return info.kind;
}

/* The grandchild has left the session, lost its parents and tells its number; false: it had no time
 * to do so. */
static bool check_timeout_kills(enum fence_kind fence, int64_t timeout)
{
    const char *path = path_join(&arena, test_folder(), "pid");
    const char *mark = path_join(&arena, test_folder(), "inner");
    const char *command = arena_printf(
        &arena,
        "trap '' TERM; (setsid sh -c 'sh -c \"echo \\$\\$ > %s; exec sleep 1000\" & exit' &); "
        "while ! test -s %s; do sleep 0.01; done; echo seen > %s; sleep 1000",
        path, path, mark);
    size_t before = count_fds();
    struct process_result result =
        run(command, (struct process_bounds){ .timeout = timeout, .fence = fence });

    CHECK(result.timed_out);
    CHECK(!result.canceled);
    CHECK_INT(result.status.signo, SIGKILL);
    CHECK(result.duration >= timeout);
    CHECK(count_fds() <=
          before + (fence == FENCE_CGROUP ? 4 : 0)); /* groups are kept for use again */
    if (info_kind(mark) != FS_FILE)
        return false;
    CHECK(is_dead(read_pid(path)));
    return true;
}

/* A busy machine is given more time. */
static void check_timeouts_kill(enum fence_kind fence)
{
    int64_t timeout = CLOCK_SECOND;

    while (!check_timeout_kills(fence, timeout))
        timeout *= 2;
}

TEST(a_timeout_kills_a_grandchild_that_left_without_a_control_group)
{
    check_timeouts_kill(FENCE_REAPER);
}

TEST(a_timeout_kills_a_grandchild_that_left_with_a_control_group)
{
    if (has_cgroups())
        check_timeouts_kill(FENCE_CGROUP);
}

TEST(groups_are_used_again_and_removed_at_the_end)
{
    const struct process_bounds bounds = { .fence = FENCE_CGROUP };
    const char *first;

    if (!has_cgroups())
        return;
    first = run("cat /proc/self/cgroup", bounds).out.p;
    CHECK_HAS(first, arena_printf(&arena, "zester-%d/run-0", getpid()));
    CHECK_STR(run("cat /proc/self/cgroup", bounds).out.p, first);
}

struct later {
    struct cancel cancel;
    const char *path; /* once this is there */
};

static void *cancel_later(void *arg)
{
    struct later *later = arg;

    WAIT_FOR(access(later->path, F_OK) == 0);
    cancel_raise(&later->cancel);
    return NULL;
}

TEST(canceling_from_another_thread_kills_the_tree)
{
    const char *path = path_join(&arena, test_folder(), "pid");
    const struct process_spec spec = {
        .command = arena_printf(&arena, "sleep 100 & echo $! > %s.tmp; mv %s.tmp %s; wait", path,
                                path, path)
    };
    struct process_result result;
    struct later later = { .path = path };
    pthread_t thread;

    CHECK_INT(cancel_init(&later.cancel, &err), 0);
    CHECK_INT(pthread_create(&thread, NULL, cancel_later, &later), 0);
    CHECK_INT(process_run(&spec, NULL, &later.cancel, &arena, &result, &err), 0);
    CHECK(result.canceled);
    CHECK(!result.timed_out);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK(is_dead(read_pid(path)));
    /* raised before the start is as good */
    CHECK_INT(process_run(&(struct process_spec){ .command = "sleep 100" }, NULL, &later.cancel,
                          &arena, &result, &err),
              0);
    CHECK(result.canceled);
    cancel_done(&later.cancel);
}

TEST(a_program_with_a_signal_to_stop_may_end_by_itself)
{
    const struct process_bounds bounds = { .timeout = 50 * CLOCK_MS,
                                           .stop_signal = SIGINT,
                                           .stop_time = 60 * CLOCK_SECOND };
    struct process_result result = run("sleep 0.1; echo done", bounds);

    CHECK(result.timed_out && process_status_ok(result.status));
    CHECK_STR(result.out.p, "done\n");
    result = run("trap 'echo cleaned; exit 3' INT; while :; do sleep 0.05; done", bounds);
    CHECK(result.timed_out);
    CHECK_INT(result.status.code, 3);
    CHECK_STR(result.out.p, "cleaned\n");
}

TEST(a_program_that_ignores_the_signal_to_stop_is_killed)
{
    const struct process_bounds bounds = { .timeout = 10 * CLOCK_MS,
                                           .stop_signal = SIGINT,
                                           .stop_time = 50 * CLOCK_MS };
    const struct process_result result = run("trap '' INT; while :; do sleep 0.05; done", bounds);

    CHECK(result.timed_out);
    CHECK_INT(result.status.signo, SIGKILL);
}

TEST(nothing_is_started_once_the_token_is_raised)
{
    const char *path = path_join(&arena, test_folder(), "made");
    const struct process_spec spec = { .command = arena_printf(&arena, "touch %s", path) };
    struct process_result result;
    struct fs_info info;
    struct cancel cancel;

    CHECK_INT(cancel_init(&cancel, &err), 0);
    cancel_raise(&cancel);
    CHECK_INT(process_run(&spec, NULL, &cancel, &arena, &result, &err), 0);
    CHECK(result.canceled && !process_status_ok(result.status));
    CHECK_INT(fs_stat(path, &info, &err), 0);
    CHECK(info.kind == FS_NONE);
    cancel_done(&cancel);
}

TEST(a_fork_storm_is_ended)
{
    const char *storm = "f() { while :; do (sleep 0.001; :) & done; }; f & f & sleep 100";

    CHECK(run(storm, (struct process_bounds){ .timeout = 300 * CLOCK_MS }).timed_out);
    if (has_cgroups())
        CHECK(
            run(storm, (struct process_bounds){ .timeout = 300 * CLOCK_MS, .fence = FENCE_CGROUP })
                .timed_out);
}

TEST(runs_leak_no_open_file)
{
    size_t before = count_fds();

    for (int i = 0; i < 50; i++)
        (void)run("echo x", (struct process_bounds){ .input = STR("y") });
    CHECK_INT(count_fds(), before);
}
