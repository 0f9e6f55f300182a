#include "core/base/buf.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "test.h"

TEST(an_empty_buffer_is_an_empty_text)
{
    AUTO_BUF struct buf buf = BUF_INIT(10);
    AUTO_FREE char *taken = NULL;

    CHECK_STR(buf_text(&buf), "");
    CHECK(buf_view(&buf).p != NULL && buf_view(&buf).n == 0);
    buf_add(&buf, NULL, 0);
    buf_fill(&buf, 'x', 0);
    buf_printf(&buf, "%s", "");
    buf_consume(&buf, 0);
    buf_clear(&buf);
    CHECK(!buf.full);
    taken = buf_take(&buf);
    CHECK_STR(taken, "");
}

TEST(every_way_of_adding_keeps_the_nul)
{
    AUTO_BUF struct buf buf = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&buf, "one");
    buf_add_char(&buf, ' ');
    buf_add_str(&buf, STR("two"));
    buf_printf(&buf, " %d", 3);
    buf_fill(&buf, '!', 3);
    CHECK_STR(buf_text(&buf), "one two 3!!!");
    CHECK_INT(buf.n, strlen(buf_text(&buf)));
    buf_cut(&buf, 7);
    CHECK_STR(buf_text(&buf), "one two");
    buf_consume(&buf, 4);
    CHECK_STR(buf_text(&buf), "two");
}

TEST(text_that_does_not_fit_is_dropped_whole_and_remembered)
{
    AUTO_BUF struct buf buf = BUF_INIT(5);

    buf_add_text(&buf, "12345");
    CHECK(!buf.full);
    buf_add_char(&buf, '6');
    CHECK(buf.full);
    CHECK_STR(buf_text(&buf), "12345");
    buf_clear(&buf);
    CHECK(!buf.full);
    buf_add_text(&buf, "123456");
    CHECK(buf.full && buf.n == 0);
    buf_printf(&buf, "%s", "123456");
    buf_fill(&buf, 'x', 6);
    CHECK_INT(buf.n, 0);
    CHECK(buf_reserve(&buf, (size_t)-1) == NULL);
    buf_add_text(&buf, "12");
    CHECK_STR(buf_text(&buf), "12");
    CHECK(buf.full);
}

TEST(printed_texts_of_every_length_are_whole)
{
    char text[600] = "";

    for (size_t n = 0; n + 1 < sizeof(text); n++) {
        AUTO_BUF struct buf buf = BUF_INIT(2 + n), tight = BUF_INIT(1 + n);

        buf_add_text(&buf, "<");
        buf_printf(&buf, "%s>", text);
        CHECK_INT(buf.n, n + 2);
        CHECK(!buf.full && strncmp(buf.p + 1, text, n) == 0 && strcmp(buf.p + 1 + n, ">") == 0);
        buf_add_text(&tight, "<");
        buf_printf(&tight, "%s>", text);
        CHECK_STR(buf_text(&tight), "<");
        CHECK(tight.full);
        text[n] = (char)('a' + n % 26);
    }
}

TEST(reserved_room_is_written_by_the_caller)
{
    AUTO_BUF struct buf buf = BUF_INIT(1000);
    char *room;

    buf_add_text(&buf, "ab");
    room = buf_reserve(&buf, 500);
    memset(room, 'x', 500);
    room[500] = '\0';
    buf.n += 500;
    CHECK_INT(buf.n, 502);
    CHECK(buf.p[501] == 'x' && buf.p[502] == '\0');
}

TEST(a_buffer_grows_through_many_sizes)
{
    AUTO_BUF struct buf buf = BUF_INIT(BUF_NO_LIMIT);

    for (int i = 0; i < 100000; i++)
        buf_add_char(&buf, (char)('a' + i % 26));
    CHECK_INT(buf.n, 100000);
    for (int i = 0; i < 100000; i++)
        if (buf.p[i] != 'a' + i % 26)
            CHECK_INT(i, -1);
    CHECK_INT(buf.p[buf.n], 0);
}

TEST(taken_bytes_belong_to_the_caller_and_the_limit_stays)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf buf = BUF_INIT(4);
    AUTO_FREE char *taken = NULL;

    buf_add_text(&buf, "text");
    CHECK(str_is(buf_copy(&buf, &arena), "text"));
    taken = buf_take(&buf);
    CHECK_STR(taken, "text");
    CHECK_INT(buf.n, 0);
    buf_add_text(&buf, "12345");
    CHECK(buf.full);
}
