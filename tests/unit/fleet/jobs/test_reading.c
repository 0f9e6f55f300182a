#include "fleet/jobs/reading.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "test.h"

#define TEXT_MAX 4096

TEST(only_verbs_that_read_and_consumers_of_readers_are_understood)
{
    static const struct {
        const char *tokens, *subject; /* NULL: refused */
    } cases[] = {
        { "STREAM.INFO.KV_jobs", "$JS.API.STREAM.INFO.KV_jobs" },
        { "STREAM.MSG.GET.KV_jobs", "$JS.API.STREAM.MSG.GET.KV_jobs" },
        { "CONSUMER.CREATE.KV_jobs.o1f", "$JS.API.CONSUMER.CREATE.KV_jobs.o1f" },
        { "CONSUMER.MSG.NEXT.events.oabc0", "$JS.API.CONSUMER.MSG.NEXT.events.oabc0" },
        { "CONSUMER.DELETE.events.oabc0", "$JS.API.CONSUMER.DELETE.events.oabc0" },
        { "CONSUMER.INFO.events.reactor", "$JS.API.CONSUMER.INFO.events.reactor" },
        { "CONSUMER.MSG.NEXT.events.reactor", NULL },
        { "CONSUMER.DELETE.events.reactor", NULL },
        { "CONSUMER.CREATE.events.o", NULL },
        { "CONSUMER.CREATE.events.oxyz", NULL },
        { "CONSUMER.CREATE.events.oABC", NULL },
        { "CONSUMER.CREATE.events", NULL },
        { "CONSUMER.CREATE.events.o1.zester.event.>", NULL },
        { "CONSUMER.DURABLE.CREATE.events.o1", NULL },
        { "STREAM.INFO.KV_jobs.x", NULL },
        { "STREAM.DELETE.KV_jobs", NULL },
        { "STREAM.PURGE.KV_jobs", NULL },
        { "STREAM.UPDATE.KV_jobs", NULL },
        { "STREAM.MSG.DELETE.KV_jobs", NULL },
        { "STREAM.INFO", NULL },
        { "DIRECT.GET.KV_secrets.$KV.secrets.a", NULL },
        { "INFO", NULL },
        { "", NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
        struct reading reading;

        CHECK_INT(reading_parse(str_from(cases[i].tokens), &reading), cases[i].subject != NULL);
        if (!cases[i].subject)
            continue;
        reading_print_subject(&reading, &out);
        CHECK_STR(buf_text(&out), cases[i].subject);
    }
}

TEST(what_was_narrowed_is_asked_for_with_no_byte_of_the_request)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct reading reading;
    struct err err;

    CHECK(reading_parse(STR("STREAM.MSG.GET.KV_secrets"), &reading));
    CHECK(!reading_narrow(&arena, STR("{\"seq\":7}"), &reading));
    CHECK(!reading_narrow(&arena, STR("{\"last_by_subj\":7}"), &reading));
    CHECK(!reading_narrow(&arena, STR("nonsense"), &reading));
    CHECK(reading_narrow(&arena,
                         STR("{\"last_by_subj\":\"a.b\",\"Last_By_Subj\":\"a.c\",\"seq\":7,"
                             "\"next_by_subj\":\"a.>\"}"),
                         &reading));
    CHECK(reading_print_body(&arena, &reading, STR("{\"seq\":7}"), &out, &err) == 0);
    CHECK_STR(buf_text(&out), "{\"last_by_subj\":\"a.b\"}");
}

static int print_consumer(const char *body, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct reading reading;

    CHECK(reading_parse(STR("CONSUMER.CREATE.KV_jobs.o1"), &reading));
    return reading_print_body(&arena, &reading, str_from(body), out, err);
}

TEST(a_consumer_has_only_what_a_reader_may_choose)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct err err;

    CHECK_INT(
        print_consumer(
            "{\"stream_name\":\"KV_secrets\",\"config\":{\"deliver_policy\":\"last_per_subject\","
            "\"filter_subject\":\"$KV.jobs.>\",\"deliver_subject\":\"$KV.operators.alice\","
            "\"Deliver_Subject\":\"zester.dispatch\",\"durable_name\":\"reactor\","
            "\"name\":\"reactor\",\"ack_policy\":\"explicit\",\"headers_only\":true},"
            "\"config \":1}",
            &out, &err),
        0);
    CHECK_STR(buf_text(&out),
              "{\"stream_name\":\"KV_jobs\",\"config\":{\"deliver_policy\":\"last_per_subject\","
              "\"filter_subject\":\"$KV.jobs.>\",\"headers_only\":true,\"name\":\"o1\","
              "\"ack_policy\":\"none\",\"inactive_threshold\":30000000000,\"num_replicas\":1,"
              "\"mem_storage\":true}}");
}

TEST(what_is_not_the_configuration_of_a_consumer_is_refused_or_empty)
{
    static const char *const bad[] = { "", "{", "[1", "{\"config\":{\"opt_start_seq\":\"1\"}}",
                                       "{\"config\":{\"filter_subject\":{}}}" };
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_INT(print_consumer(bad[i], &out, &err), -1);
    CHECK_INT(print_consumer("{}", &out, &err), 0);
    CHECK_HAS(buf_text(&out), "\"name\":\"o1\"");
}

TEST(bodies_of_other_verbs_go_on_as_they_are)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct reading reading;
    struct err err;

    CHECK(reading_parse(STR("STREAM.MSG.GET.KV_jobs"), &reading));
    CHECK_INT(reading_print_body(&arena, &reading, STR("{\"seq\":1}"), &out, &err), 0);
    CHECK_STR(buf_text(&out), "{\"seq\":1}");
}
