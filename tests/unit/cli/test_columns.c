#include "cli/columns.h"

#include "base/buf.h"
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
