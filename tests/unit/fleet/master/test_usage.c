#include "fleet/master/peels/usage.h"

#include "core/base/buf.h"
#include "test.h"

#define MIB    ((int64_t)1 << 20)
#define ROOM   (800 * MIB)
#define SECOND INT64_C(1000000000)

/* "web-1 over first, web-2 flood, " */
static void print_peel(void *self, const struct usage_peel *peel, enum usage_verdict verdict,
                       bool first)
{
    static const char *const names[] = { "fine", "over", "flood" };

    buf_printf(self, "%s %s%s, ", peel->id, names[verdict], first ? " first" : "");
}

static void check_told(struct usage *usage, enum usage_place place, const char *expected)
{
    AUTO_BUF struct buf text = BUF_INIT(1024);

    usage_each(usage, place, print_peel, &text);
    CHECK_STR(buf_text(&text), expected);
}

TEST(a_peel_over_its_share_is_reported_and_again_when_it_floods)
{
    struct usage usage = { 0 };

    usage_set_room(&usage, USAGE_EVENTS, ROOM);
    usage_add(&usage, USAGE_EVENTS, STR("web-1"), 99 * MIB, SECOND);
    usage_add(&usage, USAGE_EVENTS, STR("web-2"), 100 * MIB, SECOND);
    usage_add(&usage, USAGE_JOB_EVENTS, STR("web-3"), ROOM, SECOND); /* its room is not known */
    check_told(&usage, USAGE_EVENTS, "web-2 over first, ");
    check_told(&usage, USAGE_EVENTS, "");
    check_told(&usage, USAGE_JOB_EVENTS, "");
    usage_add(&usage, USAGE_EVENTS, STR("web-2"), 100 * MIB, 2 * SECOND);
    check_told(&usage, USAGE_EVENTS, "web-2 over, ");
    usage_add(&usage, USAGE_EVENTS, STR("web-2"), 200 * MIB, 3 * SECOND);
    usage_add(&usage, USAGE_EVENTS, STR("web-1"), 1 * MIB, 3 * SECOND);
    check_told(&usage, USAGE_EVENTS, "web-1 over first, web-2 flood first, ");
    usage_done(&usage);
}

TEST(counts_start_over_each_minute)
{
    struct usage usage = { 0 };

    usage_set_room(&usage, USAGE_EVENTS, ROOM);
    usage_add(&usage, USAGE_EVENTS, STR("web-1"), 99 * MIB, 100 * SECOND);
    usage_add(&usage, USAGE_EVENTS, STR("web-1"), 99 * MIB, 161 * SECOND);
    check_told(&usage, USAGE_EVENTS, "");
    usage_add(&usage, USAGE_EVENTS, STR("web-1"), 99 * MIB, 162 * SECOND);
    check_told(&usage, USAGE_EVENTS, "web-1 over first, ");
    usage_done(&usage);
}

TEST(a_small_place_has_a_minimum_share)
{
    struct usage usage = { 0 };

    usage_set_room(&usage, USAGE_BASKET, MIB);
    usage_add(&usage, USAGE_BASKET, STR("web-1"), USAGE_SHARE_MIN - 1, SECOND);
    check_told(&usage, USAGE_BASKET, "");
    usage_exceed(&usage, USAGE_BASKET, STR("web-1"), SECOND);
    check_told(&usage, USAGE_BASKET, "web-1 over first, ");
    usage_add(&usage, USAGE_BASKET, STR("web-1"), USAGE_FLOOD_MIN, SECOND);
    check_told(&usage, USAGE_BASKET, "web-1 flood first, ");
    usage_done(&usage);
}
