#include "kepler/access/right.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/suggest.h"
#include "test.h"

TEST(every_right_is_found_by_its_name)
{
    enum right found = RIGHTS;

    for (int i = 0; i < RIGHTS; i++) {
        CHECK(right_find(str_from(right_name((enum right)i)), &found));
        CHECK_INT(found, i);
    }
    CHECK(!right_find(STR("all"), &found));
    CHECK(!right_find(STR("start:"), &found));
    CHECK(!right_find(STR(""), &found));
}

TEST(a_mistyped_right_is_suggested)
{
    static const struct {
        const char *word, *best;
    } cases[] = {
        { "strat", "start" },
        { "start:no_deps", "start:no-deps" },
        { "logs:serach", "logs:search" },
        { "monitor:search:sq", "monitor:search:sql" },
        { "alll", "all" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct suggest near;

        suggest_init(&near, str_from(cases[i].word));
        right_offer(&near);
        CHECK(str_is(suggest_best(&near), cases[i].best));
    }
}

TEST(a_set_of_rights_converts_to_names_and_back)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf words = BUF_INIT(BUF_NO_LIMIT);
    uint64_t set = RIGHT_BIT(RIGHT_START) | RIGHT_BIT(RIGHT_LOGS_SEARCH_SQL) |
                   RIGHT_BIT(RIGHT_MONITOR_SEARCH_SQL);
    struct value names = right_values(&arena, set);

    CHECK_INT(names.list->count, 3);
    CHECK(right_read(&names) == set);
    right_print(set, &words);
    CHECK_STR(buf_text(&words), "'start', 'logs:search:sql' and 'monitor:search:sql'");
    names = right_values(&arena, RIGHT_ALL);
    CHECK(right_read(&names) == RIGHT_ALL);
    value_list_push(&arena, names.list, value_text("of tomorrow"));
    value_list_push(&arena, names.list, value_int(7));
    CHECK(right_read(&names) == RIGHT_ALL);
}
