#include "test.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "commands/cli/kepler/page.h"
#include "commands/cli/shared/keys.h"
#include "core/data/json.h"
#include "kepler/logs/log_line.h"

static struct arena arena = ARENA_INIT;

static struct value parse(const char *text)
{
    struct value v;
    struct err err;

    CHECK_INT(json_decode(&arena, str_from(text), &v, &err), 0);
    return v;
}

static void press(struct kepler_page *page, const char *bytes)
{
    struct str rest = str_from(bytes);
    int key;

    while ((key = key_next(&rest)) != KEY_NONE)
        kepler_page_press(page, key);
}

static const char *draw(struct kepler_page *page)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    kepler_page_print(page, INT64_C(100) * 1000000000, &out);
    return buf_copy(&out, &arena).p;
}

static void fill_page(struct kepler_page *page)
{
    const struct value services =
        parse("{\"web\":{\"status\":\"running\",\"pid\":7,\"started_at\":90},"
              "\"db\":{\"status\":\"stopped\",\"pid\":null}}");
    const struct value metrics =
        parse("[{\"service\":\"web\",\"timestamp\":1,\"cpu_percent\":50.0,\"memory_rss\":1048576,"
              "\"memory_vss\":4194304,\"pids\":[7,8]}]");

    kepler_page_init(page, "/srv/kepler.yaml");
    kepler_page_resize(page, 24, 100);
    kepler_page_take_status(page, &services);
    kepler_page_take_metrics(page, &metrics, true);
}

static size_t count_rows(const char *frame)
{
    size_t count = 0;

    for (; *frame; frame++)
        count += *frame == '\n';
    return count;
}

TEST(a_long_reason_leaves_room_for_the_other_columns)
{
    const struct value services = parse(
        "{\"web\":{\"status\":\"running\",\"pid\":7,\"started_at\":90},"
        "\"db\":{\"status\":\"skipped\",\"skip_reason\":\"dependency `job` exited with exit code "
        "Some(3), won't restart (policy: No)\"}}");
    struct kepler_page page;
    const char *frame;

    fill_page(&page);
    kepler_page_resize(&page, 24, 80);
    kepler_page_take_status(&page, &services);
    frame = draw(&page);
    CHECK(strstr(frame, "PROCESSES\n"));
    CHECK(strstr(frame, "Skipped (dependency `job` exit…"));
    kepler_page_resize(&page, 24, 180);
    frame = draw(&page);
    CHECK(strstr(frame, "not restarted because its restart policy is no)"));
    kepler_page_done(&page);
}

TEST(the_dashboard_has_services_and_charts)
{
    struct kepler_page page;
    const char *frame;

    fill_page(&page);
    frame = draw(&page);
    CHECK(strstr(frame, "kepler top   /srv/kepler.yaml   1 of 2 services run   cpu 50.0%"));
    CHECK(strstr(frame, "[1 dashboard]  2 logs   3 detail"));
    CHECK(strstr(frame, "\ndb       Stopped"));
    CHECK(strstr(frame, "\nweb      Up 10s   7    50.0%"));
    CHECK(strstr(frame, "\ncpu of db: 0.0%, most 0.0%"));
    press(&page, "j");
    frame = draw(&page);
    CHECK(strstr(frame, "\ncpu of web: 50.0%, most 50.0%"));
    CHECK(strstr(frame, "█"));
    CHECK_INT(count_rows(frame), 24);
    kepler_page_done(&page);
}

TEST(an_action_needs_a_yes)
{
    struct kepler_page page;

    fill_page(&page);
    (void)draw(&page);
    press(&page, "j");
    (void)draw(&page);
    press(&page, "X");
    CHECK(strstr(draw(&page), "\nstop web? y: yes"));
    press(&page, "n");
    CHECK_INT(page.action, PAGE_NOTHING);
    press(&page, "Rj");
    CHECK_INT(page.action, PAGE_NOTHING);
    press(&page, "R");
    press(&page, "y");
    CHECK_INT(page.action, PAGE_RESTART);
    CHECK_STR(page.target, "web");
    page.action = PAGE_NOTHING;
    press(&page, "S\x03");
    CHECK(page.is_over && page.action == PAGE_NOTHING);
    kepler_page_done(&page);
}

TEST(lines_are_followed_until_somebody_moves)
{
    struct kepler_page page;
    struct log_line line = { .service = "web", .hook = "", .text = STR("one \x1b[2J") };

    fill_page(&page);
    press(&page, "2");
    kepler_page_take_line(&page, &line);
    CHECK(strstr(draw(&page), "web | one \\x1b[2J"));
    line.text = STR("two");
    for (int i = 0; i < PAGE_LINES + 10; i++)
        kepler_page_take_line(&page, &line);
    CHECK_INT(page.line_count, PAGE_LINES);
    CHECK(!strstr(draw(&page), "one"));
    CHECK_INT(page.lines_view.selected, PAGE_LINES - 1);
    press(&page, "k");
    (void)draw(&page);
    kepler_page_take_line(&page, &line);
    (void)draw(&page);
    CHECK_INT(page.lines_view.selected, PAGE_LINES - 2);
    CHECK(!page.follows_lines);
    press(&page, "/nothing\r");
    CHECK(!strstr(draw(&page), "web | two"));
    kepler_page_done(&page);
}

TEST(details_are_of_the_service_under_the_cursor)
{
    struct kepler_page page;
    const char *frame;

    fill_page(&page);
    (void)draw(&page);
    press(&page, "j3");
    frame = draw(&page);
    CHECK(strstr(frame, "\nweb: Up 10s\n"));
    CHECK(strstr(frame, "\npids                   7 8\n"));
    CHECK_INT(count_rows(frame), 24);
    kepler_page_done(&page);
}

TEST(services_that_are_gone_are_not_shown_and_old_looks_end)
{
    const struct value fewer = parse("{\"db\":{\"status\":\"stopped\"}}"), none = parse("[]");
    struct kepler_page page;

    fill_page(&page);
    kepler_page_take_metrics(&page, &none, true);
    CHECK(strstr(draw(&page), "\nweb      Up 10s   7    -"));
    kepler_page_take_status(&page, &fewer);
    CHECK(!strstr(draw(&page), "\nweb"));
    kepler_page_done(&page);
}

TEST(a_frame_fits_every_terminal)
{
    struct kepler_page page;

    fill_page(&page);
    for (size_t rows = 6; rows < 40; rows += 3)
        for (size_t columns = 1; columns < 200; columns += 37)
            for (const char *tab = "123"; *tab; tab++) {
                AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
                struct str rest;

                kepler_page_resize(&page, rows, columns);
                kepler_page_press(&page, *tab);
                kepler_page_print(&page, 0, &out);
                CHECK_INT(count_rows(buf_text(&out)), rows);
                rest = buf_view(&out);
                while (rest.n > 0)
                    CHECK(utf8_count(str_cut(&rest, '\n')) <= columns);
            }
    kepler_page_done(&page);
}
