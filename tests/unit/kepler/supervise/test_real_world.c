/* The engine with real processes. Every test runs in a control group, where one can be made, and
 * with sessions alone. */
#include "kepler/supervise/real_world.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kepler/engine/rig.h"
#include "core/sys/fs.h"

static bool is_new_process(struct rig *rig)
{
    return first(rig)->record.pid != 0 && first(rig)->record.pid != rig->pid && is_settled(rig);
}

static bool is_healthy(struct rig *rig)
{
    return service_status(first(rig)) == STATUS_HEALTHY;
}

static bool is_unhealthy(struct rig *rig)
{
    return service_status(first(rig)) == STATUS_UNHEALTHY;
}

static const char *in(const char *name)
{
    static char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
    return path;
}

static pid_t read_pid(struct rig *rig, const char *name)
{
    struct str text;
    struct err err;

    CHECK(fs_read(&rig->arena, in(name), 100, &text, &err) == 0);
    return text.p ? (pid_t)strtol(text.p, NULL, 10) : 0;
}

static bool has_pid_file(struct rig *rig)
{
    return read_pid(rig, "pid") > 0;
}

/* Or a zombie that its new parent has not looked at yet. */
static bool is_gone(pid_t pid)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str text = { NULL, 0 };
    struct err ignored;

    CHECK(pid > 0);
    (void)fs_read(&arena, arena_printf(&arena, "/proc/%d/stat", pid), 4096, &text, &ignored);
    return !text.p || str_find(text, STR(") Z"), 0) != STR_NONE;
}

static bool is_rig_pid_gone(struct rig *rig)
{
    return is_gone(rig->pid);
}

#define BOTH_WAYS(sentence, body)                                                                  \
    TEST(sentence)                                                                                 \
    {                                                                                              \
        body(true);                                                                                \
    }                                                                                              \
    TEST(sentence##_without_control_groups)                                                        \
    {                                                                                              \
        body(false);                                                                               \
    }

/* --- the tests -------------------------------------------------------------------------------- */

static void start_and_stop(bool grouped)
{
    struct rig *rig = rig_new("services: { a: { command: [sleep, '1000'] } }", grouped);
    pid_t pid;

    start(rig);
    CHECK_INT(service_status(first(rig)), STATUS_RUNNING);
    pid = first(rig)->record.pid;
    CHECK(kill(pid, 0) == 0);
    stop(rig);
    CHECK_INT(service_status(first(rig)), STATUS_STOPPED);
    CHECK_INT(first(rig)->record.signal, SIGTERM);
    CHECK(is_gone(pid));
    rig_free(rig);
}
BOTH_WAYS(a_process_starts_and_stops, start_and_stop)

static void double_fork(bool grouped)
{
    struct rig *rig = rig_new("services:\n"
                              "  a:\n"
                              "    run: '(setsid sleep 1000 & echo $! > pid); exec sleep 1000'\n",
                              grouped);
    pid_t pid;

    start(rig);
    run_until(rig, has_pid_file);
    pid = read_pid(rig, "pid");
    CHECK(kill(pid, 0) == 0);
    stop(rig);
    CHECK(is_gone(pid));
    rig_free(rig);
}
BOTH_WAYS(a_child_that_forked_twice_dies_with_its_service, double_fork)

static void leftovers(bool grouped)
{
    struct rig *rig = rig_new("services:\n"
                              "  a: { run: '(setsid sleep 1000 & echo $! > pid); exit 3' }\n",
                              grouped);

    start(rig);
    run_until(rig, is_quiet);
    CHECK_INT(service_status(first(rig)), STATUS_EXITED);
    CHECK_INT(first(rig)->record.exit_code, 3);
    CHECK(is_gone(read_pid(rig, "pid")));
    rig_free(rig);
}
BOTH_WAYS(leftover_processes_end_with_the_service, leftovers)

static void stubborn(bool grouped)
{
    struct rig *rig =
        rig_new("services:\n"
                "  a:\n"
                "    run: 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done'\n"
                "    stop_grace_period: 100ms\n",
                grouped);
    pid_t pid;

    start(rig);
    run_until(rig, has_pid_file);
    pid = first(rig)->record.pid;
    stop(rig);
    CHECK_INT(service_status(first(rig)), STATUS_STOPPED);
    CHECK_INT(first(rig)->record.signal, SIGKILL);
    CHECK(is_gone(pid));
    rig_free(rig);
}
BOTH_WAYS(a_process_that_ignores_sigterm_is_killed_after_the_grace_period, stubborn)

static void killed(bool grouped)
{
    struct rig *rig =
        rig_new("services: { a: { command: [sleep, '1000'], restart: always } }", grouped);

    start(rig);
    for (int i = 0; i < 3; i++) {
        rig->pid = first(rig)->record.pid;
        CHECK(kill(rig->pid, SIGKILL) == 0);
        run_until(rig, is_new_process);
    }
    CHECK_INT(first(rig)->record.restarts, 3);
    stop(rig);
    rig_free(rig);
}
BOTH_WAYS(a_killed_process_is_restarted, killed)

TEST(a_missing_program_fails_with_its_name)
{
    struct rig *rig = rig_new("services: { a: { command: [/no/such/program] } }", true);

    start(rig);
    CHECK_INT(service_status(first(rig)), STATUS_FAILED);
    CHECK_HAS(buf_text(&first(rig)->reason), "/no/such/program");
    rig_free(rig);
}

TEST(outputs_pass_from_a_process_to_dependents)
{
    struct rig *rig = rig_new("services:\n"
                              "  setup:\n"
                              "    run: |\n"
                              "      echo '::output::token=secret-abc'\n"
                              "      echo shown\n"
                              "      echo '::output::port=9090'\n"
                              "    restart: 'no'\n"
                              "    output: true\n"
                              "    outputs:\n"
                              "      url: http://localhost:1\n"
                              "  app:\n"
                              "    run: 'echo $AUTH_TOKEN $BACKEND_PORT $URL'\n"
                              "    depends_on:\n"
                              "      setup: { condition: service_completed_successfully }\n"
                              "    environment:\n"
                              "      - AUTH_TOKEN=${{ deps.setup.outputs.token }}$\n"
                              "      - BACKEND_PORT=${{ deps.setup.outputs.port }}$\n"
                              "      - URL=${{ deps.setup.outputs.url }}$\n",
                              true);
    struct str text;
    struct err err;

    engine_start(rig->engine, ENGINE_ALL, 0);
    run_until(rig, is_quiet);
    CHECK_STR(buf_text(&rig->log), "setup 0: shown\napp 0: secret-abc 9090 http://localhost:1\n");
    CHECK(fs_read(&rig->arena, in("outputs/setup/outputs.json"), 1000, &text, &err) == 0);
    CHECK_HAS(text.p, "\"port\"");
    CHECK_HAS(text.p, "\"url\"");
    rig_free(rig);
}

TEST(hooks_run_with_their_outputs_and_log_under_their_phase)
{
    struct rig *rig = rig_new("services:\n"
                              "  a:\n"
                              "    run: 'echo main >&2; exec sleep 1000'\n"
                              "    hooks:\n"
                              "      pre_start:\n"
                              "        - { run: 'echo ::output::key=value', output: one }\n"
                              "        - run: 'echo got ${{ hooks.pre_start.outputs.one.key }}$'\n"
                              "      post_stop: { run: 'echo bye' }\n",
                              true);
    struct value hooks;

    start(rig);
    hooks = real_world_hooks(rig->real, 0);
    CHECK(value_path(&hooks, STR("pre_start.outputs.one.key"), '.') != NULL);
    stop(rig);
    CHECK_HAS(buf_text(&rig->log), "a.pre_start 0: got value\n");
    CHECK_HAS(buf_text(&rig->log), "a.post_stop 0: bye\n");
    rig_free(rig);
}

TEST(a_failing_pre_start_keeps_the_service_down)
{
    struct rig *rig = rig_new("services:\n"
                              "  a:\n"
                              "    command: [sleep, '1000']\n"
                              "    hooks: { pre_start: [{ run: 'exit 7' }] }\n",
                              true);

    engine_start(rig->engine, ENGINE_ALL, 0);
    run_until(rig, is_quiet);
    CHECK_INT(service_status(first(rig)), STATUS_FAILED);
    CHECK_STR(buf_text(&first(rig)->reason), "hook pre_start: step 1: exit status 7");
    rig_free(rig);
}

TEST(health_follows_the_check)
{
    struct rig *rig =
        rig_new("services:\n"
                "  a:\n"
                "    command: [sleep, '1000']\n"
                "    healthcheck: { run: 'test -e ok', interval: 10ms, retries: 2 }\n",
                true);
    struct err err;

    start(rig);
    run_until(rig, is_unhealthy);
    CHECK(fs_write(in("ok"), STR(""), 0600, &err) == 0);
    run_until(rig, is_healthy);
    stop(rig);
    rig_free(rig);
}

TEST(a_check_that_hangs_dies_with_its_tree)
{
    struct rig *rig = rig_new("services:\n"
                              "  a:\n"
                              "    command: [sleep, '1000']\n"
                              "    healthcheck:\n"
                              "      run: '(setsid sleep 1000 & echo $! > pid); sleep 1000'\n"
                              "      timeout: 100ms\n"
                              "      interval: 10ms\n"
                              "      retries: 1\n",
                              true);

    start(rig);
    run_until(rig, is_unhealthy);
    run_until(rig,
              has_pid_file); /* a busy machine may end a check before it writes: the next does */
    rig->pid = read_pid(rig, "pid");
    run_until(rig, is_rig_pid_gone);
    stop(rig);
    rig_free(rig);
}

TEST(a_changed_file_restarts_the_service)
{
    struct rig *rig = rig_new("services:\n"
                              "  a:\n"
                              "    command: [sleep, '1000']\n"
                              "    restart: { policy: always, watch: ['*.conf'] }\n",
                              true);
    struct err err;

    start(rig);
    rig->pid = first(rig)->record.pid;
    CHECK(fs_write(in("app.conf"), STR("x"), 0600, &err) == 0);
    run_until(rig, is_new_process);
    CHECK_INT(first(rig)->record.restarts, 1);
    stop(rig);
    rig_free(rig);
}

static size_t count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    while (readdir(folder))
        count++;
    (void)closedir(folder);
    return count;
}

static void cycles(bool grouped)
{
    struct rig *rig = rig_new("services:\n"
                              "  a: { run: 'echo hello; exec sleep 1000', restart: always }\n"
                              "  b: { command: [sleep, '1000'], depends_on: [a] }\n",
                              grouped);
    size_t before;

    start(rig);
    stop(rig);
    before = count_fds();
    for (int i = 0; i < 50; i++) {
        start(rig);
        stop(rig);
        buf_clear(&rig->log);
    }
    CHECK_INT(count_fds(), before);
    rig_free(rig);
}
BOTH_WAYS(cycles_do_not_leak_descriptors, cycles)
