/* Beacons without a bus: when they look, and whose changes are marked or ignored. */
#include "fleet/peel/schedule_entry.h"
#include "fleet/peel/beacon_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/loop.h"
#include "core/sys/path.h"
#include "wait.h"
#include "fleet/wire/exec.h"

#define INTERVAL (10 * CLOCK_SECOND)

struct stage {
    struct arena arena;
    struct loop *loop;
    struct beacon_runner *beacon_runner;
    bool is_acting;
    int lost, looked;
};

#define LINES_MAX 1024
#define LINE_SIZE 512

static char logged[LINES_MAX][LINE_SIZE];
static int logged_count;

static void keep_line(void *self, enum log_level level, int64_t ns, struct str text)
{
    (void)self;
    (void)level;
    (void)ns;
    CHECK(logged_count < LINES_MAX);
    (void)snprintf(logged[logged_count++], LINE_SIZE, "%.*s", STR_ARG(text));
}

/* Lines of the log that begin so. */
static int count_logged(const char *begin)
{
    int count = 0;

    for (int i = 0; i < logged_count; i++)
        count += strncmp(logged[i], begin, strlen(begin)) == 0;
    return count;
}

static struct snapshot *hold_no_settings(void *self, const char **ret_why)
{
    (void)self;
    *ret_why = "";
    return NULL;
}

static bool has_no_bus(void *self)
{
    (void)self;
    return false;
}

static bool is_acting(void *self)
{
    return ((struct stage *)self)->is_acting;
}

static void count_lost(void *self, const char *beacon, bool is_lost)
{
    (void)beacon;
    ((struct stage *)self)->lost += is_lost;
}

static void count_looked(void *self)
{
    ((struct stage *)self)->looked++;
}

static struct value parse(struct stage *stage, const char *text)
{
    struct diags diags = DIAGS_INIT(&stage->arena);
    struct value map;

    CHECK_INT(yaml_parse(&stage->arena, "t", str_from(text), NULL, &map, &diags), 0);
    return map;
}

static void read_sections(struct stage *stage, const struct value *file,
                          const struct value *settings)
{
    const struct overlay_part none = { 0 };
    const struct schedule_entries schedule_entries = schedule_entries_merge(
        &stage->arena, SCHEDULE_ENTRY_BEACON,
        &(struct schedule_entry_sources){ .file = file, .settings = settings, .overlay = &none });

    beacon_runner_read(stage->beacon_runner, &schedule_entries);
}

/* Turns the loop until the beacon has its baseline. */
static void open_stage(struct stage *stage, const char *sections)
{
    static const struct log lines = { .sink = keep_line, .clock = clock_wall };
    const struct value map = parse(stage, sections);
    struct err err;

    clock_fake(1000 * CLOCK_SECOND, 2000000000 * CLOCK_SECOND);
    log_use(&lines);
    log_set_level(LOG_LEVEL_INFO);
    stage->loop = loop_new(&err);
    stage->beacon_runner =
        beacon_runner_new(&(struct beacon_runner_options){ .loop = stage->loop,
                                                           .peel_id = "web-01",
                                                           .is_connected = has_no_bus,
                                                           .is_acting = is_acting,
                                                           .looked = count_looked,
                                                           .told = count_lost,
                                                           .settings = hold_no_settings,
                                                           .self = stage },
                          &err);
    CHECK(stage->beacon_runner != NULL);
    read_sections(stage, &map, NULL);
    WAIT_FOR((loop_turn(stage->loop), count_logged("beacon has its baseline") == 1));
}

static void close_stage(struct stage *stage)
{
    beacon_runner_free(stage->beacon_runner);
    loop_free(stage->loop);
    arena_done(&stage->arena);
    clock_restore();
}

static const char *sections_of(struct stage *stage, const char *more)
{
    return arena_printf(&stage->arena, "{process: {processes: [%s], interval: 10s%s}}",
                        "test_lookout", more);
}

static void begin_job(struct stage *stage, const char *jid)
{
    const struct exec_request request = { .jid = jid, .module = "cmd.run", .rdepth = 1 };

    stage->is_acting = true;
    beacon_runner_acts(stage->beacon_runner, &request);
}

static void end_job(struct stage *stage)
{
    stage->is_acting = false;
    beacon_runner_acted(stage->beacon_runner);
}

TEST(looks_come_at_their_interval_and_not_while_a_job_may_change_the_machine)
{
    struct stage stage = { 0 };

    open_stage(&stage, sections_of(&stage, ", onchangeonly: false"));
    CHECK_INT((int)beacon_runner_waiting(stage.beacon_runner), 1);
    clock_turn(INTERVAL);
    WAIT_FOR((loop_turn(stage.loop), beacon_runner_waiting(stage.beacon_runner) == 2));
    begin_job(&stage, "j1");
    for (int i = 0; i < 5; i++) {
        clock_turn(INTERVAL);
        loop_turn(stage.loop);
    }
    CHECK_INT((int)beacon_runner_waiting(stage.beacon_runner), 2);
    end_job(&stage);
    WAIT_FOR((loop_turn(stage.loop), beacon_runner_waiting(stage.beacon_runner) == 3));
    CHECK(strstr(logged[logged_count - 1], " job=j1") != NULL);
    clock_turn(INTERVAL);
    WAIT_FOR((loop_turn(stage.loop), beacon_runner_waiting(stage.beacon_runner) == 4));
    CHECK(strstr(logged[logged_count - 1], " job=j1") == NULL);
    close_stage(&stage);
    CHECK_INT(stage.lost, 4);
}

TEST(changes_of_our_own_are_ignored_where_the_section_says_so)
{
    struct stage stage = { 0 };

    open_stage(&stage, sections_of(&stage, ", onchangeonly: false, own_changes: ignore"));
    begin_job(&stage, "j1");
    end_job(&stage);
    WAIT_FOR((loop_turn(stage.loop), count_logged("change of our own ignored") == 1));
    CHECK_INT((int)beacon_runner_waiting(stage.beacon_runner), 1);
    close_stage(&stage);
}

static void write_watched(const char *path, const char *text)
{
    struct err err;

    CHECK_INT(fs_replace(path, str_from(text), NULL, &err), 0);
}

TEST(what_changed_right_before_a_job_is_reported_and_not_taken_for_its_work)
{
    struct stage stage = { 0 };
    const char *path = arena_printf(&stage.arena, "%s/watched", test_folder());

    write_watched(path, "a");
    open_stage(&stage,
               arena_printf(&stage.arena, "{file: {files: ['%s'], own_changes: ignore}}", path));
    write_watched(path, "ab");
    CHECK(!beacon_runner_look_first(stage.beacon_runner));
    WAIT_FOR((loop_turn(stage.loop), stage.looked == 1));
    CHECK_INT((int)beacon_runner_waiting(stage.beacon_runner), 1);
    CHECK_INT(count_logged("change of our own ignored"), 0);
    begin_job(&stage, "j1");
    write_watched(path, "abc");
    end_job(&stage);
    CHECK(!beacon_runner_look_first(
        stage.beacon_runner)); /* of the next job, before the look after the first */
    WAIT_FOR((loop_turn(stage.loop), stage.looked == 2));
    CHECK_INT(count_logged("change of our own ignored beacon=file"), 1);
    CHECK_INT((int)beacon_runner_waiting(stage.beacon_runner), 1);
    close_stage(&stage);
}

TEST(a_look_before_a_job_reports_changes_only)
{
    struct stage stage = { 0 };

    open_stage(&stage, sections_of(&stage, ", onchangeonly: false"));
    CHECK_INT((int)beacon_runner_waiting(stage.beacon_runner), 1);
    CHECK(!beacon_runner_look_first(stage.beacon_runner));
    WAIT_FOR((loop_turn(stage.loop), stage.looked == 1));
    CHECK_INT((int)beacon_runner_waiting(stage.beacon_runner), 1);
    clock_turn(INTERVAL);
    WAIT_FOR((loop_turn(stage.loop), beacon_runner_waiting(stage.beacon_runner) == 2));
    close_stage(&stage);
}

TEST(a_job_waits_a_short_time_for_looks_and_no_other_waits_for_the_same)
{
    struct stage stage = { 0 };

    open_stage(&stage, sections_of(&stage, ""));
    CHECK(!beacon_runner_look_first(stage.beacon_runner));
    stage.is_acting = true; /* as if it took long: no look begins */
    loop_turn(stage.loop);
    CHECK_INT(stage.looked, 0);
    clock_turn(BEACON_RUNNER_FIRST_MAX);
    WAIT_FOR((loop_turn(stage.loop), stage.looked == 1));
    CHECK(beacon_runner_look_first(stage.beacon_runner));
    end_job(&stage);
    clock_turn(INTERVAL);
    WAIT_FOR((loop_turn(stage.loop), beacon_runner_look_first(stage.beacon_runner) == false));
    WAIT_FOR((loop_turn(stage.loop), stage.looked == 2));
    close_stage(&stage);
}

TEST(a_job_does_not_wait_for_beacons_without_a_baseline_nor_where_there_are_none)
{
    struct stage stage = { 0 };
    struct value none = parse(&stage, "{}"),
                 other = parse(&stage, "{process: {processes: [other]}}");

    open_stage(&stage, sections_of(&stage, ""));
    read_sections(&stage, &other, NULL);
    CHECK(beacon_runner_look_first(stage.beacon_runner));
    read_sections(&stage, &none, NULL);
    CHECK(beacon_runner_look_first(stage.beacon_runner));
    CHECK_INT(stage.looked, 0);
    close_stage(&stage);
}

TEST(two_hundred_and_fifty_six_events_wait_and_then_the_oldest_goes)
{
    struct stage stage = { 0 };

    open_stage(&stage, sections_of(&stage, ", onchangeonly: false"));
    for (size_t i = 1; i < 256; i++) {
        clock_turn(INTERVAL);
        WAIT_FOR((loop_turn(stage.loop), beacon_runner_waiting(stage.beacon_runner) == i + 1));
    }
    CHECK_INT(stage.lost, 0);
    clock_turn(INTERVAL);
    WAIT_FOR((loop_turn(stage.loop), stage.lost == 1));
    CHECK_INT((int)beacon_runner_waiting(stage.beacon_runner), 256);
    close_stage(&stage);
}

TEST(settings_win_and_a_section_that_did_not_change_keeps_what_it_knows)
{
    struct stage stage = { 0 };
    struct value local, settings;

    open_stage(&stage, sections_of(&stage, ""));
    local = parse(&stage, sections_of(&stage, ""));
    read_sections(&stage, &local, NULL);
    CHECK_INT(count_logged("beacon read"), 1);
    settings = parse(&stage, "{process: {processes: 3}, nosuch: {}}");
    read_sections(&stage, &local, &settings);
    CHECK_INT(count_logged("beacon refused, its section has errors beacon=process"), 1);
    CHECK_INT(count_logged("unknown beacon ignored beacon=nosuch"), 1);
    settings = parse(&stage, "{process: {processes: [other]}}");
    read_sections(&stage, &local, &settings);
    CHECK_INT(count_logged("beacon read"), 2);
    WAIT_FOR((loop_turn(stage.loop), count_logged("beacon has its baseline") == 2));
    close_stage(&stage);
}

TEST(settings_whose_beacons_are_a_list_are_an_error_and_the_sections_before_stay)
{
    struct stage stage = { 0 };
    struct value local, settings;

    open_stage(&stage, sections_of(&stage, ""));
    local = parse(&stage, "{}");
    settings = parse(&stage, "[{process: {processes: [other]}}]");
    read_sections(&stage, &local, &settings);
    CHECK_INT(count_logged("beacons of the settings refused, expected a map of sections, got"), 1);
    settings = parse(&stage, sections_of(&stage, ""));
    read_sections(&stage, &local, &settings);
    CHECK_INT(count_logged("beacon read"), 1); /* it was still there */
    close_stage(&stage);
}
