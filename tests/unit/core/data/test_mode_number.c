#include "core/data/mode_number.h"

#include "core/base/mem.h"
#include "core/data/value.h"
#include "test.h"

/* The mode that a number means; -1: none, or two. */
static int read_number(int64_t number, const char *written)
{
    const struct value v = value_int(number);
    mode_t mode;

    return mode_number_read(&v, str_from(written), &mode) ? (int)mode : -1;
}

TEST(a_number_is_what_its_document_shows)
{
    CHECK_INT(read_number(0644, "0644"), 0644);
    CHECK_INT(read_number(0644, "0o644"), 0644);
    CHECK_INT(read_number(644, "0644"), 0644); /* a reader that does not know octal */
    CHECK_INT(read_number(644, "644"), 0644);
    CHECK_INT(read_number(420, "420"), 0644); /* a template printed the number */
    CHECK_INT(read_number(604, "604"), 0604);
}

TEST(without_a_document_a_usual_mode_is_meant)
{
    CHECK_INT(read_number(0644, ""), 0644);
    CHECK_INT(read_number(0, ""), 0);
    CHECK_INT(read_number(1777, ""), 01777);
}

TEST(invalid_modes_are_refused)
{
    static const int64_t wrong[] = { -1, 999, 7778, 10000, INT64_MAX };

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        CHECK_INT(read_number(wrong[i], "1"), -1);
    CHECK(!mode_number_has_digits(999));
    CHECK(!mode_number_has_digits(-1));
    CHECK(mode_number_has_digits(511));
}
