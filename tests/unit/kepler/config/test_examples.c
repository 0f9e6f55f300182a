/* Every file of examples/kepler, with real processes, until everything is ready. */
#include "kepler/config/config.h"

#include <string.h>

#include "kepler/engine/rig.h"
#include "core/sys/fs.h"

#define FOLDER "examples/kepler"

/* What comes of it, and what must have been written. Files that are not in the table fail. */
static const struct {
    const char *file, *states, *log;
} examples[] = {
    { "simple.yaml", "database=running cache=running backend=running", NULL },
    { "extended.yaml", "database=healthy cache=running backend=running", NULL },
    { "mixed.yaml", "migration=exited cache=running app=running", "migration 0: migrated\n" },
    { "timeout.yaml",
      "database=unhealthy cache=running backend=failed(Dependency timeout: backend timed out "
      "waiting for database to satisfy condition ServiceHealthy)",
      NULL },
    { "unreachable.yaml",
      "redis=running redis-failover=skipped(`redis` has restart policy `always` — it will always "
      "restart, so `service_failed` can never be met)",
      NULL },
    { "transient.yaml", "worker=exited cleanup=exited", "cleanup 0: cleaned up\n" },
    { "propagation.yaml", "database=healthy backend=running", NULL },
    { "exit-codes.yaml",
      "worker=exited five-to-ten=exited twenty=skipped(dependency `worker` exited with exit code "
      "Some(7), "
      "won't restart (policy: No))",
      "five-to-ten 0: exit code 1, or 5 to 10\n" },
    { "outputs.yaml", "migration=exited app=exited", "app 0: database version 42\n" },
    { "output-passing.yaml", "setup=exited app=exited", "app 0: token secret-abc port 9090\n" },
    { "web-app.yaml", "database=healthy backend=running", NULL },
    { "migration.yaml", "migration=exited app=exited", "app 0: app runs\n" },
    { "failure-monitor.yaml", "app=exited monitor=exited", "monitor 0: alert: the app failed\n" },
    { "error-handler.yaml", "database=healthy app=exited error-handler=exited",
      "error-handler 0: the app failed\n" },
    { "skipped.yaml",
      "web=skipped(`if` condition evaluated to false: `kepler.env.WITH_WEB == \"yes\"`) "
      "proxy=skipped(dependency `web` was skipped) metrics=exited",
      "metrics 0: measuring\n" },
    { "completed-failure.yaml",
      "migration=exited app=skipped(dependency `migration` exited with exit code Some(3), won't "
      "restart "
      "(policy: No))",
      NULL },
};

static void show(const struct rig *rig, struct buf *out)
{
    for (uint32_t i = 0; i < engine_count(rig->engine); i++) {
        const struct service *service = engine_get(rig->engine, i);

        buf_printf(out, "%s%s=%s", i ? " " : "", service->config->name,
                   status_name(service_status(service)));
        if (service->reason.n > 0)
            buf_printf(out, "(%s)", buf_text(&service->reason));
    }
}

/* All that the table says has come true: services that end may still be running when everything is
 * ready. */
static const char *wanted;

static bool is_as_wanted(struct rig *rig)
{
    AUTO_BUF struct buf states = BUF_INIT(LOG_MAX);

    show(rig, &states);
    return strcmp(buf_text(&states), wanted) == 0 && readiness_is_ready(rig->engine, ENGINE_ALL);
}

static void run_example(size_t i)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str text;
    struct rig *rig;
    struct err err;

    CHECK(fs_read(&arena, arena_printf(&arena, FOLDER "/%s", examples[i].file), CONFIG_FILE_MAX,
                  &text, &err) == 0);
    CHECK(text.p != NULL);
    rig = rig_new(text.p, true);
    engine_start(rig->engine, ENGINE_ALL, 0);
    wanted = examples[i].states;
    run_until(rig, is_as_wanted);
    if (examples[i].log)
        CHECK_HAS(buf_text(&rig->log), examples[i].log);
    CHECK(strstr(buf_text(&rig->log), "never") == NULL);
    stop(rig);
    rig_free(rig);
}

TEST(every_example_behaves_as_described)
{
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        run_example(i);
}

TEST(every_example_is_tested)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_names names;
    struct err err;
    size_t found = 0;

    CHECK(fs_list(&arena, FOLDER, &names, &err) == 0);
    VEC_EACH (&names.list, name)
        for (size_t i = 0; i < ARRAY_LEN(examples); i++)
            found += strcmp(examples[i].file, *name) == 0;
    CHECK_INT(found, ARRAY_LEN(examples));
    CHECK_INT(names.list.n, found + 1); /* README.md */
}

#define CONNECTED "backend 0: backend connected\n"

static bool is_connected(struct rig *rig)
{
    return strcmp(buf_text(&rig->log), CONNECTED) == 0 && is_as_wanted(rig);
}

static bool is_connected_again(struct rig *rig)
{
    return strcmp(buf_text(&rig->log), CONNECTED CONNECTED) == 0 && is_as_wanted(rig);
}

TEST(a_restart_of_the_database_restarts_the_backend)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const uint32_t database = 0;
    struct str text;
    struct rig *rig;
    struct err err;

    CHECK(fs_read(&arena, FOLDER "/propagation.yaml", CONFIG_FILE_MAX, &text, &err) == 0);
    rig = rig_new(text.p, true);
    engine_start(rig->engine, ENGINE_ALL, 0);
    wanted = "database=healthy backend=running";
    run_until(rig, is_connected);
    CHECK_INT(engine_restart(rig->engine, (struct engine_set){ &database, 1, 0 }, 0), 1);
    run_until(rig, is_connected_again);
    CHECK_INT(engine_find(rig->engine, "backend")->record.restarts, 1);
    stop(rig);
    rig_free(rig);
}
