/* Expressions of real services, evaluated by workers. */
#include "kepler/supervise/evaluate.h"

#include <string.h>

#include "kepler/engine/rig.h"
#include "core/sys/fs.h"

/* Loops until it is interrupted, or its limits end it. */
#define ENDLESS "${{ (function() while true do end end)() }}$"

static bool is_evaluating(struct rig *rig)
{
    return first(rig)->asking;
}

static bool is_second_up(struct rig *rig)
{
    return service_status(engine_get(rig->engine, 1)) == STATUS_RUNNING;
}

static void read_file(struct rig *rig, const char *name, const char *want)
{
    const char *path = arena_printf(&rig->arena, "%s/%s", test_folder(), name);
    struct str text;
    struct err err;

    CHECK(fs_read(&rig->arena, path, 1000, &text, &err) == 0);
    CHECK_STR(text.p ? text.p : "(nothing)", want);
}

TEST(services_of_one_start_share_a_lua_state_in_file_order)
{
    struct rig *rig =
        rig_new("lua: 'function count() global.n = (global.n or 0) + 1; return global.n end'\n"
                "services:\n"
                "  a: { run: 'echo ${{ count() }}$ > a' }\n"
                "  b: { run: 'echo ${{ count() }}$ > b' }\n"
                "  c: { run: 'echo ${{ count() }}$ > c' }\n",
                false);

    start(rig);
    run_until(rig, is_quiet);
    read_file(rig, "a", "1\n");
    read_file(rig, "b", "2\n");
    read_file(rig, "c", "3\n");
    rig_free(rig);
}

TEST(constants_start_while_another_service_computes)
{
    struct rig *rig = rig_new("services:\n"
                              "  a: { run: '" ENDLESS "' }\n"
                              "  b: { command: [sleep, '1000'] }\n",
                              false);

    engine_start(rig->engine, ENGINE_ALL, 0);
    run_until(rig, is_second_up);
    CHECK_INT(service_status(first(rig)), STATUS_STARTING);
    stop(rig);
    CHECK_INT(service_status(first(rig)), STATUS_STOPPED);
    rig_free(rig);
}

TEST(a_slow_expression_fails_its_service)
{
    struct rig *rig = rig_new("services: { a: { run: '" ENDLESS "' } }", false);

    engine_start(rig->engine, ENGINE_ALL, 0);
    run_until(rig, is_quiet);
    CHECK_INT(service_status(first(rig)), STATUS_FAILED);
    CHECK(strstr(buf_text(&((struct service *)(uintptr_t)first(rig))->reason), "limit") != NULL);
    rig_free(rig);
}

TEST(interleaved_starts_and_stops_leave_one_process_and_one_answer)
{
    struct rig *rig = rig_new("services:\n"
                              "  a: { run: 'exec sleep ${{ (function() local n = 0; for i = 1, "
                              "20000 do n = n + 1 end return n end)() }}$' }\n",
                              false);

    for (int i = 0; i < 20; i++) {
        engine_start(rig->engine, ENGINE_ALL, 0);
        run_until(rig, is_evaluating);
        stop(rig);
    }
    start(rig);
    CHECK_INT(service_status(first(rig)), STATUS_RUNNING);
    stop(rig);
    rig_free(rig);
}

TEST(steps_and_outputs_are_evaluated_too)
{
    struct rig *rig =
        rig_new("services:\n"
                "  a:\n"
                "    run: 'echo ::output::k=v'\n"
                "    output: true\n"
                "    outputs: { double: '${{ service.name .. service.name }}$' }\n"
                "    hooks: { pre_start: { run: 'echo ${{ service.name }}$ > step', if: '${{ true "
                "}}$' } }\n"
                "  b:\n"
                "    run: 'echo ${{ deps.a.outputs.k .. deps.a.outputs.double }}$ > b'\n"
                "    depends_on: { a: { condition: service_completed_successfully } }\n",
                false);

    start(rig);
    run_until(rig, is_quiet);
    read_file(rig, "step", "a\n");
    read_file(rig, "b", "vaa\n");
    rig_free(rig);
}

TEST(a_world_can_end_while_a_worker_computes)
{
    struct rig *rig = rig_new("services:\n"
                              "  a: { run: '" ENDLESS "' }\n"
                              "  b: { run: '" ENDLESS "' }\n",
                              false);

    engine_start(rig->engine, ENGINE_ALL, 0);
    run_until(rig, is_evaluating);
    rig_free(rig);
}
