/* A running engine, with real processes, that goes on with another version of its config. */
#include "kepler/engine/engine.h"

#include <signal.h>

#include "kepler/engine/rig.h"

static const char old_text[] = "services:\n"
                               "  a: {run: exec sleep 100}\n"
                               "  b: {run: exec sleep 100, depends_on: [a]}\n"
                               "  gone: {run: exec sleep 100}\n"
                               "  c: {run: exec sleep 100, depends_on: {b: {restart: true}}}\n";
static const char new_text[] = "services:\n"
                               "  new: {run: exec sleep 100}\n"
                               "  c: {run: exec sleep 100, depends_on: {b: {restart: true}}}\n"
                               "  b: {run: exec sleep 100, depends_on: [new], stop_signal: KILL}\n"
                               "  a: {run: exec sleep 100}\n";

static pid_t pid_of(struct rig *rig, const char *name)
{
    const struct service *service = engine_find(rig->engine, name);

    CHECK(service != NULL);
    CHECK(service == engine_get(rig->engine, service->index));
    CHECK_STR(service->config->name, name);
    return service->record.pid;
}

static struct engine_set one(struct rig *rig, const char *name)
{
    uint32_t *list = ARENA_ARRAY(&rig->arena, uint32_t, 1);

    *list = engine_find(rig->engine, name)->index;
    return (struct engine_set){ list, 1, 0 };
}

static bool is_only_gone_down(struct rig *rig)
{
    return engine_is_down(rig->engine, one(rig, "gone"));
}

/* With the old text running, to the new one, whose new service does not run yet. */
static struct rig *begin_changed(const uint32_t **ret_numbers)
{
    struct rig *rig = rig_new(old_text, true);

    start(rig);
    engine_stop(rig->engine, one(rig, "gone"), NULL);
    run_until(rig, is_only_gone_down);
    load(rig, new_text);
    *ret_numbers = engine_change(rig->engine, rig->config, &rig->arena);
    engine_step(rig->engine);
    return rig;
}

TEST(kept_services_go_on_with_their_process_under_a_new_number)
{
    const uint32_t *numbers;
    struct rig *rig = rig_new(old_text, true);
    pid_t a, b, c;

    start(rig);
    a = pid_of(rig, "a");
    b = pid_of(rig, "b");
    c = pid_of(rig, "c");
    engine_stop(rig->engine, one(rig, "gone"), NULL);
    run_until(rig, is_only_gone_down);
    load(rig, new_text);
    numbers = engine_change(rig->engine, rig->config, &rig->arena);
    CHECK_INT(numbers[0], 3);
    CHECK_INT(numbers[1], 2);
    CHECK(numbers[2] == ENGINE_GONE);
    CHECK_INT(numbers[3], 1);
    CHECK_INT(pid_of(rig, "a"), a);
    CHECK_INT(pid_of(rig, "b"), b);
    CHECK_INT(pid_of(rig, "c"), c);
    CHECK_INT(pid_of(rig, "new"), 0);
    CHECK(engine_find(rig->engine, "gone") == NULL);
    stop(rig);
    rig_free(rig);
}

TEST(after_a_change_the_end_of_a_process_is_of_its_service)
{
    const uint32_t *numbers;
    struct rig *rig = begin_changed(&numbers);
    const struct service *b = engine_find(rig->engine, "b");

    engine_stop(rig->engine, one(rig, "b"), NULL);
    run_until(rig, is_settled);
    CHECK_INT(service_status(b), STATUS_STOPPED);
    CHECK_INT(b->record.signal, SIGKILL); /* the stop signal is the new one */
    CHECK(pid_of(rig, "a") > 0 && pid_of(rig, "c") > 0);
    stop(rig);
    rig_free(rig);
}

TEST(after_a_change_edges_are_those_of_the_new_config)
{
    const uint32_t *numbers;
    struct rig *rig = begin_changed(&numbers);
    pid_t a = pid_of(rig, "a"), b = pid_of(rig, "b"), c = pid_of(rig, "c");

    engine_start(rig->engine, one(rig, "new"), 0);
    run_until(rig, is_settled);
    CHECK_INT(pid_of(rig, "b"), b);
    engine_restart(rig->engine, one(rig, "b"), 0);
    run_until(rig, is_settled);
    CHECK(pid_of(rig, "b") != b && pid_of(rig, "b") > 0);
    CHECK(pid_of(rig, "c") != c && pid_of(rig, "c") > 0);
    CHECK_INT(pid_of(rig, "a"), a);
    stop(rig);
    rig_free(rig);
}

TEST(the_history_of_a_kept_service_refers_to_the_same_services)
{
    AUTO_BUF struct buf text = BUF_INIT(LOG_MAX);
    const uint32_t *numbers;
    struct rig *rig = begin_changed(&numbers);
    struct value why = why_value(&rig->arena, rig->engine, engine_find(rig->engine, "c")->index);

    why_print(&why, &text);
    CHECK_HAS(buf_text(&text), "dependency b met service_started");
    stop(rig);
    rig_free(rig);
}
