#include "fleet/view/event.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "test.h"

#define NOW (INT64_C(1794765600) * 1000000000 + 5)

TEST(an_event_of_an_operator_is_stored_under_their_name)
{
    static const struct {
        const char *tag, *read, *subject;
    } cases[] = {
        { "deploy/finished", "deploy/finished", "zester.event._admin.send.deploy.finished" },
        { "deploy.finished", "deploy/finished", "zester.event._admin.send.deploy.finished" },
        { "a", "a", "zester.event._admin.send.a" },
        { "a b", NULL, NULL },
        { "", NULL, NULL },
        { "a//b", NULL, NULL },
        { "a/*", NULL, NULL },
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fleet_event event;
        struct value receipt;
        struct err err;

        CHECK((fleet_event_make(&arena, str_from(cases[i].tag), value_null(), NOW, &event, &err) ==
               0) == (cases[i].read != NULL));
        if (!cases[i].read)
            continue;
        receipt = fleet_event_receipt(&arena, &event);
        CHECK_STR(event.event.tag, cases[i].read);
        CHECK_STR(event.event.id, event.id);
        CHECK_INT(event.event.ts.nanoseconds, 5);
        CHECK_STR(value_get_text(&receipt, "subject"), cases[i].subject);
        CHECK_STR(value_get_text(&receipt, "match_key"),
                  arena_printf(&arena, "_admin/%s", cases[i].read));
    }
}

TEST(what_an_event_does_not_have_is_left_out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct event_source source = { EVENT_FROM_ADMIN, "_admin", "a/b", "_admin/a/b" };
    struct event event = { .id = "x", .tag = "a/b", .ts = { 1794765600, 0 }, .origin = "" };
    struct value v = event_describe(&arena, &source, &event);

    CHECK_STR(value_get_text(&v, "key"), "_admin/a/b");
    CHECK(!value_get(&v, "depth") && !value_get(&v, "data") && !value_get(&v, "provenance"));
    event.depth = 2;
    event.origin = "reaction:reactor.a";
    v = event_describe(&arena, &source, &event);
    CHECK_INT(value_get_int(&v, "depth", 0), 2);
    CHECK_STR(value_get_text(&v, "provenance"), "reaction:reactor.a");
}
