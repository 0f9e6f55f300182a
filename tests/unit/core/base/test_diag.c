#include "core/base/diag.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "test.h"

static struct place place(uint32_t line, uint32_t column)
{
    return (struct place){ "web.zy", line, column };
}

TEST(a_mistake_is_printed_with_place_line_caret_hint_and_notes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);

    CHECK_INT(diag_add(&diags, place(2, 7), "no parameter '%s'", "nmae"), -1);
    diag_hint(&diags, "did you mean '%s'?", "name");
    diag_source(&diags, STR("motd:\n    - nmae: /etc/motd\r\nend\n"));
    diag_note(&diags, place(1, 1), "first here");
    diag_note(&diags, (struct place){ 0 }, "no place");
    diags_print(&diags, &out);
    CHECK_STR(buf_text(&out), "web.zy:2:7: no parameter 'nmae'\n"
                              "    2 |     - nmae: /etc/motd\n"
                              "      |       ^\n"
                              "      = did you mean 'name'?\n"
                              "web.zy:1:1: note: first here\n"
                              "note: no place\n");
}

TEST(the_caret_counts_characters_and_a_tab_is_one_column)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);

    diag_add(&diags, place(1, 4), "wrong");
    diag_source(&diags, STR("\t\u00e9\u20acX"));
    diags_print(&diags, &out);
    CHECK_STR(buf_text(&out), "web.zy:1:4: wrong\n"
                              "    1 |  \u00e9\u20acX\n"
                              "      |    ^\n");
}

TEST(control_characters_of_the_input_do_not_reach_the_terminal)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);

    diag_add(&diags, place(1, 1), "wrong");
    diag_source(&diags, STR("a\x1b[2J\x7f"));
    diags_print(&diags, &out);
    CHECK_HAS(buf_text(&out), "    1 | a [2J \n      | ^\n");
}

TEST(other_controls_and_bytes_that_are_not_text_do_not_either)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);

    diag_add(&diags, place(1, 1), "wrong");
    /* U+009B begins a sequence, as escape does; U+202E turns what follows around */
    diag_source(&diags, STR("a\xc2\x9b"
                            "2J\xe2\x80\xae"
                            "b\xff\x9b"
                            "c"));
    diags_print(&diags, &out);
    CHECK_HAS(buf_text(&out), "    1 | a 2J b  c\n      | ^\n");
}

TEST(a_long_line_is_cut_around_the_caret)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT), out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct str lines, mark, caret;

    buf_fill(&text, '.', 299);
    buf_add_char(&text, 'X');
    buf_fill(&text, '.', 700);
    diag_add(&diags, place(1, 300), "wrong");
    diag_source(&diags, buf_view(&text));
    diags_print(&diags, &out);
    CHECK(out.n < 300);
    lines = buf_view(&out);
    (void)str_cut(&lines, '\n');
    mark = str_cut(&lines, '\n');
    caret = str_cut(&lines, '\n');
    CHECK_INT(str_find_char(mark, 'X', 0), str_find_char(caret, '^', 0));
}

TEST(places_are_printed_as_far_as_they_are_known)
{
    static const struct {
        struct place at;
        const char *text;
    } cases[] = {
        { { "a", 1, 2 }, "a:1:2" }, { { "a", 1, 0 }, "a:1" },       { { "a", 0, 0 }, "a" },
        { { "a", 0, 5 }, "a" },     { { NULL, 3, 4 }, "line 3:4" }, { { NULL, 0, 0 }, "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(100);

        place_print(cases[i].at, &out);
        CHECK_STR(buf_text(&out), cases[i].text);
    }
}

TEST(the_source_line_is_left_out_when_there_is_none)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);

    diag_hint(&diags, "of nothing");
    diag_source(&diags, STR("nothing"));
    diag_note(&diags, place(1, 1), "of nothing");
    diag_add(&diags, place(9, 1), "beyond the end");
    diag_source(&diags, STR("one line"));
    diag_add(&diags, place(0, 0), "no line");
    diag_source(&diags, STR("one line"));
    diags_print(&diags, &out);
    CHECK_STR(buf_text(&out), "web.zy:9:1: beyond the end\nweb.zy: no line\n");
}

TEST(more_than_the_most_are_counted_and_not_kept)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);

    for (uint32_t i = 1; i <= DIAGS_MAX + 7; i++) {
        CHECK_INT(diag_add(&diags, place(i, 1), "mistake %u", i), -1);
        diag_hint(&diags, "hint %u", i);
    }
    CHECK_INT(diags_count(&diags), DIAGS_MAX + 7);
    diags_print(&diags, &out);
    CHECK_HAS(buf_text(&out), "mistake 100\n      = hint 100\nand 7 more\n");
    CHECK(str_find(buf_view(&out), STR("107"), 0) == STR_NONE);
}

TEST(the_list_becomes_one_line)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct err cause, err;

    CHECK_INT(diags_to_err(&diags, &err), -1);
    CHECK_STR(err.text, "invalid input");
    err_set(&cause, ERR_SYSTEM, "open: gone");
    CHECK_INT(diag_err(&diags, place(3, 0), &cause), -1);
    diags_to_err(&diags, &err);
    CHECK_STR(err.text, "web.zy:3: open: gone");
    CHECK_INT(err.code, ERR_INVALID);
    diag_hint(&diags, "look elsewhere");
    diag_add(&diags, place(4, 0), "another");
    diags_to_err(&diags, &err);
    CHECK_STR(err.text, "web.zy:3: open: gone (look elsewhere); web.zy:4: another");
}

TEST(a_long_list_becomes_a_line_that_counts_the_rest)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct err err;

    for (unsigned i = 1; i <= 90; i++)
        diag_add(&diags, place(i, 0), "mistake %u", i);
    diags_to_err(&diags, &err);
    CHECK_HAS(err.text, "web.zy:1: mistake 1; web.zy:2: mistake 2; ");
    CHECK_HAS(err.text, " more)");
    CHECK(strlen(err.text) < 400);
}

TEST(mistakes_are_put_into_the_order_of_their_file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    (void)diag_add(&diags, (struct place){ "before", 9, 1 }, "is left alone");
    (void)diag_add(&diags, (struct place){ "a", 3, 1 }, "last");
    (void)diag_add(&diags, (struct place){ "a", 2, 8 }, "second");
    diag_note(&diags, (struct place){ "b", 1, 1 }, "its note goes along");
    (void)diag_add(&diags, (struct place){ "a", 2, 1 }, "first");
    (void)diag_add(&diags, (struct place){ 0 }, "without a place");
    (void)diag_add(&diags, (struct place){ "a", 1, 1 }, "behind what has no place");
    diags_sort(&diags, 1);
    diags_print(&diags, &out);
    CHECK_STR(buf_text(&out), "before:9:1: is left alone\n"
                              "a:2:1: first\n"
                              "a:2:8: second\n"
                              "b:1:1: note: its note goes along\n"
                              "a:3:1: last\n"
                              "without a place\n"
                              "a:1:1: behind what has no place\n");
}
