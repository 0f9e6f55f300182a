/* The engine with real processes. Every test runs in a control group, where one can be made, and
 * with sessions alone. */
#include "supervise/real_world.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/err.h"
#include "supervise/engine.h"
#include "supervise/filewatch.h"
#include "supervise/readiness.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/fs.h"
#include "test.h"

#define PATIENCE (20 * CLOCK_SECOND)
#define TICK     (5 * CLOCK_MS)
#define LOG_MAX  ((size_t)1 << 20)

struct rig;
typedef bool until_fn(struct rig *rig);

struct rig {
    struct arena arena;
    struct loop *loop;
    struct cgroup cgroup;
    struct proctree_home home;
    struct filewatch_hub files;
    const struct config *config;
    struct real_world *real;
    struct engine *engine;
    struct buf log;
    until_fn *until;
    struct timer tick;
    int64_t deadline;
    bool late;
    pid_t pid; /* for conditions */
};

static void on_add(void *self, const void *tag, enum job_stream stream, struct str bytes)
{
    struct rig *rig = self;
    const struct real_tag *real = tag;

    if (bytes.n > 0)
        buf_printf(&rig->log, "%s%s%s %d: %.*s", real->name, real->phase < HOOK_PHASES ? "." : "",
                   real->phase < HOOK_PHASES ? hook_phase_name(real->phase) : "", stream,
                   STR_ARG(bytes));
}

static void on_note(void *self, const struct real_tag *tag, const char *text)
{
    struct rig *rig = self;

    buf_printf(&rig->log, "%s note: %s\n", tag->name, text);
}

static void on_step(void *self)
{
    struct rig *rig = self;

    engine_step(rig->engine);
    if (rig->until && rig->until(rig))
        loop_stop(rig->loop);
}

/* Looks again now and then, for what comes without an event. */
static void on_tick(struct timer *timer)
{
    struct rig *rig = container_of(timer, struct rig, tick);

    rig->late = clock_now() > rig->deadline;
    if (rig->late)
        loop_stop(rig->loop);
    else
        timer_set(loop_timers(rig->loop), &rig->tick, clock_now() + TICK, on_tick);
}

static void print_all(struct rig *rig)
{
    AUTO_BUF struct buf text = BUF_INIT(LOG_MAX);

    for (uint32_t i = 0; i < engine_count(rig->engine); i++)
        engine_why(rig->engine, i, &text);
    (void)fprintf(stderr, "%s%s\n", buf_text(&text), buf_text(&rig->log));
}

static void run_until(struct rig *rig, until_fn *until)
{
    rig->until = until;
    rig->late = false;
    rig->deadline = clock_now() + PATIENCE;
    timer_set(loop_timers(rig->loop), &rig->tick, clock_now() + TICK, on_tick);
    if (!until(rig))
        loop_run(rig->loop);
    timer_clear(loop_timers(rig->loop), &rig->tick);
    if (rig->late)
        print_all(rig);
    CHECK(!rig->late);
}

static const char *open_group(struct rig *rig)
{
    const char *home = NULL;
    char name[64];
    struct err err;

    CHECK(cgroup_home(&rig->arena, &home, &err) == 0);
    (void)snprintf(name, sizeof(name), "supervise-test-%d", getpid());
    if (!home || cgroup_create(&rig->cgroup, home, name, &err) < 0)
        return NULL;
    return rig->cgroup.path;
}

static void load(struct rig *rig, const char *yaml)
{
    struct config_source source = { .path =
                                        arena_printf(&rig->arena, "%s/kepler.yaml", test_folder()),
                                    .text = str_from(yaml),
                                    .owner = { getuid(), getgid() } };
    struct diags diags = { .arena = &rig->arena };
    AUTO_BUF struct buf text = BUF_INIT(LOG_MAX);

    if (config_load(&rig->arena, &source, &rig->config, &diags) == 0)
        return;
    diags_print(&diags, &text);
    (void)fprintf(stderr, "%s\n", buf_text(&text));
    CHECK(false);
}

static struct rig *rig_new(const char *yaml, bool grouped)
{
    struct rig *rig = mem_zalloc(sizeof(*rig));
    struct real_world_options options = { .group = "test", .note = on_note };
    struct err err;

    rig->log.max = LOG_MAX;
    rig->cgroup = (struct cgroup)CGROUP_NONE;
    rig->loop = loop_new(&err);
    CHECK(rig->loop != NULL);
    load(rig, yaml);
    CHECK(proctree_home_init(&rig->home, rig->loop, grouped ? open_group(rig) : NULL, &err) == 0);
    filewatch_hub_init(&rig->files, rig->loop);
    options.loop = rig->loop;
    options.home = &rig->home;
    options.files = &rig->files;
    options.config = rig->config;
    options.outputs = arena_printf(&rig->arena, "%s/outputs", test_folder());
    options.sink = (struct job_sink){ .self = rig, .add = on_add };
    rig->real = real_world_new(&options);
    rig->engine = engine_new(rig->config, real_world_base(rig->real), (struct event_sink){ 0 });
    loop_on_step(rig->loop, on_step, rig);
    return rig;
}

static void rig_free(struct rig *rig)
{
    struct err ignored;

    engine_free(rig->engine);
    real_world_free(rig->real);
    filewatch_hub_done(&rig->files);
    loop_free(rig->loop);
    if (rig->cgroup.path)
        CHECK(cgroup_remove(&rig->cgroup, &ignored) == 0);
    cgroup_done(&rig->cgroup);
    buf_done(&rig->log);
    arena_done(&rig->arena);
    free(rig);
}

static const struct service *first(struct rig *rig)
{
    return engine_get(rig->engine, 0);
}

static bool is_settled(struct rig *rig)
{
    return engine_is_settled(rig->engine, ENGINE_ALL);
}

static bool is_down(struct rig *rig)
{
    return engine_is_down(rig->engine, ENGINE_ALL);
}

static bool is_quiet(struct rig *rig)
{
    return readiness_is_quiescent(rig->engine);
}

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

static void start(struct rig *rig)
{
    engine_start(rig->engine, ENGINE_ALL, 0);
    run_until(rig, is_settled);
}

static void stop(struct rig *rig)
{
    engine_stop(rig->engine, ENGINE_ALL, NULL);
    run_until(rig, is_down);
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
BOTH_WAYS(what_a_process_leaves_behind_goes_with_it, leftovers)

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
BOTH_WAYS(who_ignores_sigterm_is_killed_after_the_grace, stubborn)

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

TEST(a_program_that_is_not_there_fails_with_its_name)
{
    struct rig *rig = rig_new("services: { a: { command: [/no/such/program] } }", true);

    start(rig);
    CHECK_INT(service_status(first(rig)), STATUS_FAILED);
    CHECK_HAS(buf_text(&first(rig)->reason), "/no/such/program");
    rig_free(rig);
}

TEST(outputs_go_from_process_to_dependents)
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
                              "      interval: 1h\n"
                              "      retries: 1\n",
                              true);

    start(rig);
    run_until(rig, is_unhealthy);
    CHECK(is_gone(read_pid(rig, "pid")));
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
