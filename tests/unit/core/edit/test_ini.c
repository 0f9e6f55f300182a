/* Options in sections. */
#include "test.h"

#include "core/base/err.h"
#include "core/edit/ini.h"

static const char before[] = "; top\n"
                             "outside=1\n"
                             "\n"
                             "[mysqld]\n"
                             "# where\n"
                             "port   =  3306\n"
                             "skip-networking\n"
                             "sql_mode = A,\n"
                             "    B\n"
                             "#bind = x\n"
                             "\n"
                             "# of the client\n"
                             "[client]\n"
                             "\tuser=me\n"
                             "\tport=1\n";

static const struct ini_format plain = { .separator = { "=", 1 } };
static const struct ini_format words = { .separator = { " ", 1 } };

static struct str view(const char *text)
{
    return text ? str_from(text) : (struct str){ NULL, 0 };
}

static struct buf *fresh(void)
{
    static struct buf out;

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    return &out;
}

static const char *set_with(const struct ini_format *format, const char *text, const char *section,
                            const char *key, const char *value)
{
    const struct ini_item want = { .section = view(section),
                                   .key = view(key),
                                   .value = view(value) };
    struct buf *out = fresh();

    ini_set(str_from(text), format, &want, out);
    return buf_text(out);
}

static const char *set(const char *text, const char *section, const char *key, const char *value)
{
    return set_with(&plain, text, section, key, value);
}

static const char *unset(const char *text, const char *section, const char *key)
{
    struct buf *out = fresh();

    ini_remove(str_from(text), &plain, view(section), view(key), out);
    return buf_text(out);
}

static const char *drop(const char *text, const char *section)
{
    struct buf *out = fresh();

    ini_remove_section(str_from(text), &plain, view(section), out);
    return buf_text(out);
}

TEST(a_correct_text_stays_byte_for_byte)
{
    CHECK_STR(set(before, "mysqld", "port", "3306"), before);
    CHECK_STR(set(before, "mysqld", "skip-networking", NULL), before);
    CHECK_STR(set(before, "mysqld", "sql_mode", "A,\nB"), before);
    CHECK_STR(set(before, NULL, "outside", "1"), before);
}

TEST(a_new_value_keeps_the_spacing_of_its_line)
{
    CHECK_STR(set("[a]\nx   =  1  \n; c\n", "a", "x", "2"), "[a]\nx   =  2  \n; c\n");
    CHECK_STR(set("[a]\n\tx=1\r\n", "a", "x", "2"), "[a]\n\tx=2\r\n");
    CHECK_STR(set("[a]\nx =\n", "a", "x", "2"), "[a]\nx = 2\n");
    CHECK_STR(set("[a]\nx\n", "a", "x", "2"), "[a]\nx = 2\n");
    CHECK_STR(set("[a]\nx = 1\n    2\ny=3", "a", "x", "5"), "[a]\nx = 5\ny=3");
    CHECK_STR(set("[a]\nx = 1\n", "a", "x", NULL), "[a]\nx\n");
}

TEST(a_new_option_follows_the_last_one_of_its_section)
{
    CHECK_STR(set("[a]\nx = 1\n\n# of b\n[b]\n", "a", "y", "2"),
              "[a]\nx = 1\ny = 2\n\n# of b\n[b]\n");
    CHECK_STR(set("[a]\n# nothing\n[b]\n", "a", "y", "2"), "[a]\ny = 2\n# nothing\n[b]\n");
    CHECK_STR(set("[a]\n\tx = 1", "a", "y", "2"), "[a]\n\tx = 1\n\ty = 2\n");
}

TEST(a_new_section_comes_at_the_end_after_an_empty_line)
{
    CHECK_STR(set("", "a", "x", "1"), "[a]\nx = 1\n");
    CHECK_STR(set("[b]\r\ny=1", "a", "x", "1"), "[b]\r\ny=1\r\n\r\n[a]\r\nx = 1\r\n");
    CHECK_STR(set("[b]\ny=1\n\n", "a", "x", "1"), "[b]\ny=1\n\n[a]\nx = 1\n");
}

TEST(an_option_outside_of_sections_comes_before_the_first_one)
{
    CHECK_STR(set("[b]\ny=1\n", NULL, "x", "1"), "x = 1\n[b]\ny=1\n");
    CHECK_STR(set("# c\nz=1\n\n[b]\n", NULL, "x", "1"), "# c\nz=1\nx = 1\n\n[b]\n");
    CHECK_STR(set("# only this", NULL, "x", "1"), "# only this\nx = 1\n");
}

TEST(of_several_options_of_one_name_the_last_one_counts)
{
    CHECK_STR(set("[a]\nx=1\nx=2\n[b]\n[a]\nx=3\n", "a", "x", "4"),
              "[a]\nx=1\nx=2\n[b]\n[a]\nx=4\n");
    CHECK_STR(set("[a]\nx=1\nx=2\n", "a", "x", "2"), "[a]\nx=1\nx=2\n");
    CHECK_STR(unset("[a]\nx=1\nx=2\n[b]\nx=1\n[a]\nx=3\n", "a", "x"), "[a]\n[b]\nx=1\n[a]\n");
}

TEST(options_at_one_indent_are_not_one_value)
{
    CHECK_STR(
        set(before, "client", "port", "2"),
        "; top\noutside=1\n\n[mysqld]\n# where\nport   =  3306\nskip-networking\n"
        "sql_mode = A,\n    B\n#bind = x\n\n# of the client\n[client]\n\tuser=me\n\tport=2\n");
}

TEST(a_header_without_a_name_begins_no_section)
{
    CHECK_STR(set("[a]\n[] ; none\nb = 1\n", "a", "b", "2"), "[a]\n[] ; none\nb = 2\n");
}

TEST(a_value_of_several_lines_is_indented)
{
    CHECK_STR(set("[a]\n", "a", "x", "1\n2\n  3"), "[a]\nx = 1\n    2\n    3\n");
}

TEST(other_separators_and_no_blanks)
{
    const struct ini_format tight = { .separator = STR("="), .tight = true };
    const struct ini_format colon = { .separator = STR(":") };

    CHECK_STR(set_with(&tight, "", "a", "x", "1"), "[a]\nx=1\n");
    CHECK_STR(set_with(&tight, "[a]\n x = 2 \n", "a", "x", "1"), "[a]\n x=1 \n");
    CHECK_STR(set_with(&colon, "[a]\nx: =1\n", "a", "x", "b"), "[a]\nx: b\n");
    CHECK_STR(set_with(&words, "Port\t22\n", NULL, "Port", "23"), "Port\t23\n");
    CHECK_STR(set_with(&words, "Port 22\n", NULL, "X", "a b"), "Port 22\nX a b\n");
    CHECK_STR(set_with(&words, "X\n", NULL, "X", ""), "X\n");
}

TEST(removing_a_section_keeps_the_comment_of_the_next_one)
{
    CHECK_STR(drop(before, "mysqld"),
              "; top\noutside=1\n\n# of the client\n[client]\n\tuser=me\n\tport=1\n");
    CHECK_STR(drop(before, "none"), before);
    CHECK_STR(drop("[a]\nx=1\n# of a\n[b]\n[a]\n\n# end\n", "a"), "[b]\n");
}

TEST(headers_may_have_a_comment_and_brackets)
{
    CHECK(ini_has_section(STR("[a] ; b\n"), &plain, STR("a")));
    CHECK(ini_has_section(STR("[remote \"a]b\"]\n"), &plain, STR("remote \"a]b\"")));
    CHECK(!ini_has_section(STR("[a]b\n"), &plain, STR("a")));
}

TEST(values_that_would_not_read_back_are_refused)
{
    struct err err;

    CHECK_INT(ini_check_key(&plain, STR("a=b"), &err), -1);
    CHECK_STR(err.text, "option name 'a=b' contains the separator '='");
    CHECK_INT(ini_check_key(&plain, STR("#a"), &err), -1);
    CHECK_INT(ini_check_key(&plain, STR("[a"), &err), -1);
    CHECK_INT(ini_check_key(&plain, STR("a\nb"), &err), -1);
    CHECK_INT(ini_check_key(&words, STR("a b"), &err), -1);
    CHECK_INT(ini_check_key(&plain, STR("a b"), &err), 0);
    CHECK_INT(ini_check_section(STR(" a"), &err), -1);
    CHECK_INT(ini_check_section(STR("a\n"), &err), -1);
    CHECK_INT(ini_check_value(STR("a\n\nb"), &err), -1);
    CHECK_INT(ini_check_value(STR("a\n# b"), &err), -1);
    CHECK_INT(ini_check_value(STR("a\n[b]"), &err), -1);
    CHECK_INT(ini_check_value(STR("#a\nb\n"), &err), 0);
}
