#include "commands/cli/fleet/top/view.h"

#include "test.h"

#include "commands/cli/shared/keys.h"

/* All keys of what a terminal sent. */
static void press(struct top_view *view, const char *bytes)
{
    struct str rest = str_from(bytes);
    int key;

    while ((key = key_next(&rest)) != KEY_NONE)
        top_view_press(view, key);
}

static const struct {
    const char *bytes;
    int key;
} keys[] = {
    { "q", 'q' },
    { "\x1b[A", KEY_UP },
    { "\x1bOB", KEY_DOWN },
    { "\x1b[5~", KEY_PAGE_UP },
    { "\x1b[6~", KEY_PAGE_DOWN },
    { "\x1b", KEY_ESCAPE },
    { "\x1b[", KEY_OTHER },
    { "\x1b[1;5C", KEY_OTHER },
    { "\x1b[<0;10;20M", KEY_OTHER },
    { "\xff", 0xff },
};

TEST(every_sequence_is_one_key)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str rest = str_from(keys[i].bytes);

        CHECK_INT(key_next(&rest), keys[i].key);
        CHECK_INT(rest.n, 0);
        CHECK_INT(key_next(&rest), KEY_NONE);
    }
}

TEST(the_cursor_stays_within_the_rows_and_the_page_follows_it)
{
    struct top_view view = { .base.rows = 20, .base.columns = 80 };

    list_view_clamp(&view.base, 10, 4);
    press(&view, "jj\x1b[B");
    list_view_clamp(&view.base, 10, 4);
    CHECK_INT(view.base.selected, 3);
    CHECK_INT(view.base.first, 0);
    press(&view, "j");
    list_view_clamp(&view.base, 10, 4);
    CHECK_INT(view.base.first, 1);
    press(&view, "G");
    list_view_clamp(&view.base, 10, 4);
    CHECK_INT(view.base.selected, 9);
    CHECK_INT(view.base.first, 6);
    press(&view, "\x1b[5~kk");
    list_view_clamp(&view.base, 10, 4);
    CHECK_INT(view.base.selected, 4);
    press(&view, "gk");
    list_view_clamp(&view.base, 10, 4);
    CHECK_INT(view.base.selected, 0);
    CHECK_INT(view.base.first, 0);
    press(&view, "G");
    list_view_clamp(&view.base, 0, 4);
    CHECK_INT(view.base.selected, 0);
}

TEST(lists_orders_and_the_end_have_keys)
{
    struct top_view view = { .base.rows = 20 };

    press(&view, "3");
    CHECK_INT(view.list, TOP_EVENTS);
    press(&view, "\t\t");
    CHECK_INT(view.list, TOP_MACHINES);
    press(&view, "9");
    CHECK_INT(view.list, TOP_MACHINES);
    press(&view, "sr");
    CHECK_INT(view.sort, TOP_SORT_DRIFT);
    CHECK(view.reverse);
    press(&view, "sss");
    CHECK_INT(view.sort, TOP_SORT_NAME);
    CHECK(!view.is_over);
    press(&view, "q");
    CHECK(view.is_over);
}

TEST(a_filter_is_typed_kept_and_cleared)
{
    struct top_view view = { .base.rows = 20, .base.selected = 3 };

    press(&view, "/webq\xc3\xbc\x7f\x7f");
    CHECK(view.base.is_typing && !view.is_over);
    CHECK_STR(view.base.filter, "web");
    CHECK_INT(view.base.selected, 0);
    press(&view, "\r");
    CHECK(!view.base.is_typing);
    press(&view, "\x1b");
    CHECK_STR(view.base.filter, "");
    press(&view, "/");
    for (int i = 0; i < 200; i++)
        press(&view, "x");
    CHECK_INT(str_from(view.base.filter).n, LIST_VIEW_FILTER_SIZE - 1);
    press(&view, "\x03");
    CHECK(view.is_over);
}

TEST(a_page_opens_and_closes_over_the_list)
{
    struct top_view view = { .base.rows = 20, .base.columns = 80 };

    press(&view, "\r");
    CHECK(view.is_open);
    view.open[0] = 'x';
    press(&view, "2j");
    CHECK(view.is_open && view.list == TOP_MACHINES);
    press(&view, "\x1b");
    CHECK(!view.is_open && view.open[0] == '\0');
    press(&view, "?");
    CHECK(view.has_help);
    press(&view, "q");
    CHECK(!view.has_help && !view.is_over);
    press(&view, "?\x03");
    CHECK(view.is_over);
}
