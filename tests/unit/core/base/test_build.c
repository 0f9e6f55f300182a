#include "core/base/build.h"

#include "test.h"

TEST(the_first_line_of_a_version_is_the_name_and_the_version_alone)
{
    char text[BUILD_TEXT_MAX];

    build_print("zester-peel", text);
    CHECK_STR(text, "zester-peel 1.2.3\ncommit 0123abc\nbuilt unknown\n");
}
