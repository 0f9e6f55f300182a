#include "commands/cli/shared/columns.h"

#include "core/base/buf.h"
#include "test.h"

TEST(columns_are_as_wide_as_their_widest_cell_and_nothing_steers_the_terminal)
{
    static const char *const cells[] = { "ID",        "NAME", "X",  "1",
                                         "long name", "a",    "22", "\x1b[31mred\n\xff",
                                         NULL };
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);

    columns_print(&out, cells, 3, 3);
    CHECK_STR(buf_text(&out), "ID  NAME        X\n"
                              "1   long name   a\n"
                              "22  ?[31mred??\n");
}

TEST(text_of_several_lines_keeps_its_layout_and_our_colours_and_nothing_else_steers_the_terminal)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);

    columns_print_lines(&out, STR("\x1b[32m+a\tb\x1b[0m\n\x1b]0;title\a\x1b[2J\xff\r\x1b[8mx\n"));
    CHECK_STR(buf_text(&out), "\x1b[32m+a\tb\x1b[0m\n?]0;title??[2J???[8mx\n");
}
