#include "fleet/master/export/export_record.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/master/export/export_conf.h"
#include "fleet/wire/event.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "test.h"

static const char *const all[] = { "*" };
static const char *const some[] = { "web-01/deploy/*" };

static struct str encode(struct arena *arena, const struct record_type *type, const void *record)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    struct err err;

    CHECK_INT(record_encode(&out, type, record, &err), 0);
    return buf_copy(&out, arena);
}

static bool make_event(struct arena *arena, const char *subject, const char *id,
                       const struct export_conf *conf, struct export_record *ret)
{
    const struct event event = { .id = id, .tag = "deploy/end", .origin = "", .ts = { 1000, 0 } };
    const struct export_message message = { .subject = str_from(subject),
                                            .payload = encode(arena, &event_type, &event),
                                            .seq = 7 };

    return export_record_make(arena, EXPORT_EVENTS, conf, &message, ret);
}

TEST(an_exported_event_matches_the_watched_one_and_has_a_stable_id)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct export_conf conf = { .match = { 1, some } };
    struct export_record record;

    CHECK(make_event(&arena, "zester.event.web-01.send.deploy.end", "E1", &conf, &record));
    CHECK_STR(record.id, "web-01/E1");
    CHECK_STR(
        record.json.p,
        "{\"ts\":\"1970-01-01T00:16:40Z\",\"key\":\"web-01/deploy/end\",\"origin\":\"web-01\","
        "\"tag\":\"deploy/end\",\"id\":\"E1\",\"export_id\":\"web-01/E1\"}");
    CHECK(!make_event(&arena, "zester.event.web-02.send.deploy.end", "E1", &conf, &record));
    CHECK(!make_event(&arena, "zester.job.J.return.web-01", "E1", &conf, &record));
}

TEST(an_id_of_a_peel_cannot_add_a_header)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct export_conf conf = { .match = { 1, all } };
    struct export_record record;

    CHECK(make_event(&arena, "zester.event.web-01.send.deploy.end", "E1\r\nX: y", &conf, &record));
    CHECK_STR(record.id, "web-01/seq-7");
    CHECK(make_event(&arena, "zester.event.web-01.send.deploy.end", "", &conf, &record));
    CHECK_STR(record.id, "web-01/seq-7");
}

TEST(malformed_events_are_left_out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct export_conf conf = { .match = { 1, all } };
    const struct export_message message = { .subject = STR("zester.event.web-01.send.a"),
                                            .payload = STR("\xff\xff"),
                                            .seq = 1 };
    struct export_record record;

    CHECK(!export_record_make(&arena, EXPORT_EVENTS, &conf, &message, &record));
}

TEST(only_ended_jobs_are_sent_without_their_secrets)
{
    static const char *const targets[] = { "db_example" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct export_conf conf = { .jobs = true };
    struct job job = { .jid = "J1",
                       .function = "cmd.run",
                       .targets = { 1, targets },
                       .status = JOB_RUNNING,
                       .sealed = value_map(value_map_new(&arena, 1)) };
    struct export_message message = { .subject = STR("$KV.jobs.J1"), .seq = 12 };
    struct export_record record;

    value_map_set(&arena, job.sealed.map, value_text("env.A"), value_text("ENC[xkey,X,Y]"));
    message.payload = encode(&arena, &job_type, &job);
    CHECK(!export_record_make(&arena, EXPORT_JOBS, &conf, &message, &record));
    job.status = JOB_FAILED;
    message.payload = encode(&arena, &job_type, &job);
    CHECK(export_record_make(&arena, EXPORT_JOBS, &conf, &message, &record));
    CHECK_STR(record.id, "J1/12");
    CHECK(strstr(record.json.p, "\"targets\":[\"db.example\"]"));
    CHECK(strstr(record.json.p, "\"sealed_args\":{\"env.A\":\"***\"}"));
    message.payload = STR("");
    CHECK(!export_record_make(&arena, EXPORT_JOBS, &conf, &message, &record));
}

TEST(a_corrected_return_has_a_new_id)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct export_conf conf = { .jobs = true };
    const struct exec_return ret = { .jid = "J1", .peel_id = "web-01", .error = "" };
    struct export_message message = { .payload = encode(&arena, &exec_return_type, &ret),
                                      .seq = 12 };
    struct export_record first, second;

    CHECK(export_record_make(&arena, EXPORT_RETURNS, &conf, &message, &first));
    message.seq = 13;
    CHECK(export_record_make(&arena, EXPORT_RETURNS, &conf, &message, &second));
    CHECK_STR(first.id, "J1/web-01/12");
    CHECK_STR(second.id, "J1/web-01/13");
}

TEST(data_without_a_json_form_is_left_out_of_the_record)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct export_conf conf = { .match = { 1, all } };
    struct value data = value_map(value_map_new(&arena, 1));
    struct event event = { .id = "E1", .tag = "a", .origin = "" };
    struct export_message message = { .subject = STR("zester.event.web-01.send.a"), .seq = 1 };
    struct export_record record;

    value_map_set(&arena, data.map, value_text("x"), value_double(__builtin_nan("")));
    event.data = data;
    message.payload = encode(&arena, &event_type, &event);
    CHECK(export_record_make(&arena, EXPORT_EVENTS, &conf, &message, &record));
    CHECK(strstr(record.json.p, "left_out") && !strstr(record.json.p, "\"data\""));
}
