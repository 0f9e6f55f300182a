/* Lines with colons: keys, fields, members. */
#include "test.h"

#include "core/edit/colons.h"

static const char group[] = "root:x:0:\nadm:x:4:syslog,ada\n# odd line\nada:x:1000:\n+\n";

static const char *set(const char *text, const char *key, const char *lines)
{
    static struct buf out;

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    colons_set(str_from(text), str_from(key), str_from(lines), &out);
    return buf_text(&out);
}

static const char *member(const char *key, const char *name, bool is)
{
    static struct buf out;

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    colons_set_member(str_from(group), str_from(key), 3, str_from(name), is, &out);
    return buf_text(&out);
}

TEST(a_line_is_found_by_its_whole_key)
{
    CHECK(str_is(colons_find(str_from(group), STR("ada")), "ada:x:1000:"));
    CHECK(!colons_find(str_from(group), STR("ad")).p);
    CHECK(!colons_find(str_from(group), STR("odd")).p);
    CHECK(str_is(colons_field(STR("a:b::d"), 2), ""));
    CHECK(str_is(colons_field(STR("a:b::d"), 3), "d"));
    CHECK(!colons_field(STR("a:b::d"), 4).p);
}

TEST(a_line_is_replaced_in_its_place_or_added_or_removed)
{
    CHECK_STR(set("a:1\nb:2\nc:3\n", "b", "b:9\n"), "a:1\nb:9\nc:3\n");
    CHECK_STR(set("a:1\nb:2\nb:3\nc:3\n", "b", "b:9\n"), "a:1\nb:9\nc:3\n");
    CHECK_STR(set("a:1\nb:2", "c", "c:3\n"), "a:1\nb:2\nc:3\n");
    CHECK_STR(set("a:1\nb:2\n", "a", ""), "b:2\n");
    CHECK_STR(set("a:1\n", "x", ""), "a:1\n");
}

TEST(members_come_and_go_and_other_lines_stay)
{
    CHECK_STR(member("adm", "eve", true),
              "root:x:0:\nadm:x:4:syslog,ada,eve\n# odd line\nada:x:1000:\n+\n");
    CHECK_STR(member("adm", "syslog", false),
              "root:x:0:\nadm:x:4:ada\n# odd line\nada:x:1000:\n+\n");
    CHECK_STR(member("root", "ada", true),
              "root:x:0:ada\nadm:x:4:syslog,ada\n# odd line\nada:x:1000:\n+\n");
    CHECK_STR(member("adm", "ada", true), group);
    CHECK_STR(member("adm", "ad", false), group);
}
