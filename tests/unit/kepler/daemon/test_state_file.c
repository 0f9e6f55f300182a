#include "kepler/daemon/state_file.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/clock.h"
#include "test.h"

#define ROOM ((size_t)1 << 20)

static struct state_file read_back(struct arena *arena, const struct state_file *record)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    struct state_file got = { 0 };
    struct err err;

    CHECK(state_file_print(&out, record, &err) == 0);
    CHECK(state_file_parse(arena, buf_view(&out), &got, &err) == 0);
    return got;
}

TEST(records_survive_a_round_trip)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct state_file record = { .config_initialized = true, .owner_uid = 1000 };
    struct state_file got;
    const struct state_file_service *web;

    VEC_PUSH_IN(&arena, &record.services,
                (struct state_file_service){ .name = "web",
                                             .record = { .status = STATUS_RUNNING,
                                                         .pid = 12,
                                                         .started_at = 7 * CLOCK_SECOND,
                                                         .restarts = 3,
                                                         .initialized = true },
                                             .goal = GOAL_UP });
    VEC_PUSH_IN(&arena, &record.services,
                (struct state_file_service){ .name = "job",
                                             .record = { .status = STATUS_SKIPPED },
                                             .reason = "dependency `web` was skipped" });
    got = read_back(&arena, &record);
    CHECK_INT(got.services.n, 2);
    CHECK(got.config_initialized);
    CHECK_INT(got.owner_uid, 1000);
    web = state_file_find(&got, "web");
    CHECK_INT(web->record.status, STATUS_RUNNING);
    CHECK_INT(web->record.pid, 12);
    CHECK_INT(web->record.started_at, 7 * CLOCK_SECOND);
    CHECK_INT(web->record.restarts, 3);
    CHECK(!web->record.has_exit_code);
    CHECK_INT(web->goal, GOAL_UP);
    CHECK_STR(state_file_find(&got, "job")->reason, "dependency `web` was skipped");
    CHECK(state_file_find(&got, "nix") == NULL);
}

TEST(active_services_count_as_stopped_once_unsupervised)
{
    static const struct {
        enum status from;
        enum service_goal goal;
        int signal;
        enum status to;
    } cases[] = {
        { STATUS_RUNNING, GOAL_UP, 0, STATUS_STOPPED },
        { STATUS_HEALTHY, GOAL_UP, 0, STATUS_STOPPED },
        { STATUS_WAITING, GOAL_UP, 0, STATUS_STOPPED },
        { STATUS_STOPPING, GOAL_UP, 0, STATUS_STOPPED },
        { STATUS_STOPPING, GOAL_DOWN, 15, STATUS_STOPPED },
        { STATUS_STOPPING, GOAL_ENDED, 0, STATUS_EXITED },
        { STATUS_STOPPING, GOAL_ENDED, 9, STATUS_KILLED },
        { STATUS_EXITED, GOAL_ENDED, 0, STATUS_EXITED },
        { STATUS_FAILED, GOAL_ENDED, 0, STATUS_FAILED },
        { STATUS_SKIPPED, GOAL_DOWN, 0, STATUS_SKIPPED },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct state_file_service service = {
            .record = { .status = cases[i].from, .pid = 7, .signal = cases[i].signal },
            .goal = cases[i].goal,
        };

        state_file_settle(&service);
        CHECK_INT(service.record.status, cases[i].to);
        CHECK_INT(service.reason != NULL, cases[i].to == STATUS_STOPPED);
        CHECK_INT(service.record.signal, cases[i].to == STATUS_STOPPED ? 0 : cases[i].signal);
        CHECK_INT(service.record.pid, 0);
    }
}

TEST(an_earlier_file_format_implies_goals_from_statuses)
{
    static const char text[] =
        "{\"services\": {\"a\": {\"status\": \"restarting\"},"
        " \"b\": {\"status\": \"stopping\"}, \"c\": {\"status\": \"exited\"},"
        " \"d\": {\"status\": \"stopping\", \"goal\": \"up\"}}}";
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct state_file record;
    struct err err;

    CHECK(state_file_parse(&arena, str_from(text), &record, &err) == 0);
    CHECK_INT(state_file_find(&record, "a")->goal, GOAL_UP);
    CHECK_INT(state_file_find(&record, "b")->goal, GOAL_DOWN);
    CHECK_INT(state_file_find(&record, "c")->goal, GOAL_DOWN);
    CHECK_INT(state_file_find(&record, "d")->goal, GOAL_UP);
}

TEST(an_invalid_file_is_refused)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"services\": []}",
        "{\"services\": {\"a\": {}}}",
        "{\"services\": {\"a\": {\"status\": \"dancing\"}}}",
        "{\"services\": {\"a\": ",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct state_file record;
        struct err err;

        CHECK(state_file_parse(&arena, str_from(texts[i]), &record, &err) == -1);
    }
}

TEST(a_missing_record_is_not_an_error)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    struct state_file record = { .config_initialized = true };
    const struct state_file *got;
    struct err err;

    CHECK(state_file_load(&arena, folder, &got, &err) == 0);
    CHECK(got == NULL);
    CHECK(state_file_save(folder, &record, &err) == 0);
    CHECK(state_file_load(&arena, folder, &got, &err) == 0);
    CHECK(got != NULL);
}
