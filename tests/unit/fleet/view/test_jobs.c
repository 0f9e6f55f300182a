#include "fleet/view/jobs.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "test.h"

/* A job of second `at`, as its bucket has it. */
static void take_job(struct fleet_jobs *jobs, const char *jid, int64_t at, const char *function,
                     enum job_status status)
{
    static const char *const targets[] = { "web-01", "db_example_com" };
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct job job = { .jid = jid,
                             .function = function,
                             .targets = { ARRAY_LEN(targets), targets },
                             .status = status,
                             .created = { at, 0 },
                             .user = "root",
                             .owner = "",
                             .state_id = "",
                             .target_expr = "*" };
    struct err err;

    CHECK(record_encode(&bytes, &job_type, &job, &err) == 0);
    fleet_jobs_take(jobs, str_from(jid), buf_view(&bytes));
}

static const char *list_ids(struct arena *arena, const struct fleet_jobs *jobs)
{
    const char *text = "";

    for (size_t i = 0; i < jobs->list.n; i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", jobs->list.p[i].job.jid);
    return text;
}

TEST(a_page_has_the_newest_first_and_all_matches_are_counted)
{
    static const struct {
        struct job_filter filter;
        const char *ids;
        size_t matched;
    } cases[] = {
        { { .limit = 2 }, "d c", 4 },
        { { .limit = 2, .offset = 2 }, "b a", 4 },
        { { .limit = 5, .offset = 4 }, "", 4 },
        { { .limit = 5, .function = "test.ping" }, "d a", 2 },
        { { .limit = 5, .status = "failed" }, "c", 1 },
        { { .limit = 5, .user = "nobody" }, "", 0 },
        { { .limit = 1, .peel = "db_example_com" }, "d", 4 },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fleet_jobs jobs;

        fleet_jobs_init(&jobs, &cases[i].filter, 0);
        take_job(&jobs, "b", 2, "cmd.run", JOB_COMPLETE);
        take_job(&jobs, "d", 4, "test.ping", JOB_RUNNING);
        take_job(&jobs, "a", 1, "test.ping", JOB_COMPLETE);
        take_job(&jobs, "c", 3, "cmd.run", JOB_FAILED);
        fleet_jobs_take(&jobs, STR("active.d"), STR("\x80"));
        fleet_jobs_take(&jobs, STR("e"), STR("not a record"));
        fleet_jobs_end(&jobs);
        CHECK_STR(list_ids(&arena, &jobs), cases[i].ids);
        CHECK_INT(jobs.matched, cases[i].matched);
        fleet_jobs_done(&jobs);
    }
}

TEST(of_many_jobs_only_what_a_page_needs_is_kept)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct job_filter filter = { .limit = 3 };
    struct fleet_jobs jobs;

    fleet_jobs_init(&jobs, &filter, 0);
    for (int i = 0; i < 5000; i++) {
        const int number = i * 7919 % 5000; /* in no order */

        take_job(&jobs, arena_printf(&arena, "j%04d", number), number, "test.ping", JOB_COMPLETE);
        CHECK(jobs.list.n < 128);
    }
    fleet_jobs_end(&jobs);
    CHECK_STR(list_ids(&arena, &jobs), "j4999 j4998 j4997");
    CHECK_INT(jobs.matched, 5000);
    fleet_jobs_done(&jobs);
}

TEST(records_that_are_too_large_together_are_not_kept)
{
    const struct job_filter filter = { .limit = 100 };
    struct fleet_jobs jobs;

    fleet_jobs_init(&jobs, &filter, 300);
    take_job(&jobs, "a", 1, "test.ping", JOB_COMPLETE);
    CHECK(!jobs.is_full);
    for (int i = 0; i < 10; i++)
        take_job(&jobs, "b", 2, "test.ping", JOB_COMPLETE);
    CHECK(jobs.is_full);
    fleet_jobs_done(&jobs);
}

TEST(a_job_is_shown_with_names_as_people_write_them)
{
    static const char *const targets[] = { "db_example_com" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value queued = value_list(value_list_new(&arena, 0));
    const struct job job = { .jid = "a",
                             .function = "test.ping",
                             .targets = { ARRAY_LEN(targets), targets },
                             .user = "",
                             .owner = "",
                             .state_id = "",
                             .target_expr = "" };
    const struct value v = fleet_job_value(&arena, &job, &queued);
    const struct value *names = value_get(&v, "targets");

    CHECK(value_is(names, VALUE_LIST) && names->list->count == 1);
    CHECK_STR(names->list->items[0].s.p, "db.example.com");
    CHECK(!value_get(&v, "queued"));
}

TEST(every_status_has_a_name_to_filter_by)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    CHECK(fleet_jobs_has_status("complete"));
    CHECK(!fleet_jobs_has_status("done"));
    CHECK_STR(fleet_jobs_statuses(&arena),
              "pending, claimed, running, complete, partial, timeout, failed, canceled");
}
