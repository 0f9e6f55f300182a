/* Names and addresses in /etc/hosts. */
#include "test.h"

#include "core/edit/hosts.h"

static const char before[] = "127.0.0.1\tlocalhost # loop\n"
                             "\n"
                             "# the rest\n"
                             "10.0.0.1  a  b   c # three\n"
                             "10.0.0.2 web\n"
                             "fd00::1 web\n";

static const char *run(const char *text, const char *name, const char *a, const char *b,
                       enum hosts_others others, bool remove)
{
    static struct buf out;
    const struct str addresses[] = { str_from(a ? a : ""), str_from(b ? b : "") };
    const struct hosts_want want = { str_from(name), addresses, a ? (b ? 2 : 1) : 0, others };

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    (remove ? hosts_remove : hosts_set)(str_from(text), &want, &out);
    return buf_text(&out);
}

TEST(a_name_moves_within_its_family_and_the_other_family_stays)
{
    CHECK_STR(run(before, "web", "10.0.0.9", NULL, HOSTS_FAMILY, false),
              "127.0.0.1\tlocalhost # loop\n\n# the rest\n10.0.0.1  a  b   c # three\n"
              "fd00::1 web\n10.0.0.9\tweb\n");
    CHECK_STR(run(before, "web", "10.0.0.2", NULL, HOSTS_FAMILY, false), before);
    CHECK_STR(run(before, "web", "fd00:0::1", NULL, HOSTS_FAMILY, false), before);
}

TEST(both_families_in_one_wish)
{
    CHECK_STR(run("", "x", "10.0.0.1", "::1", HOSTS_FAMILY, false), "10.0.0.1\tx\n::1\tx\n");
    CHECK_STR(run("10.0.0.1 x\n::1 x\n", "x", "10.0.0.1", "::1", HOSTS_DROP, false),
              "10.0.0.1 x\n::1 x\n");
}

TEST(a_name_joins_the_line_of_its_address_before_the_comment)
{
    CHECK_STR(run(before, "new", "10.0.0.1", NULL, HOSTS_FAMILY, false),
              "127.0.0.1\tlocalhost # loop\n\n# the rest\n10.0.0.1  a  b   c new # three\n"
              "10.0.0.2 web\nfd00::1 web\n");
    CHECK_STR(run("10.0.0.1 a", "b", "10.0.0.1", NULL, HOSTS_FAMILY, false), "10.0.0.1 a b");
    CHECK_STR(run("10.0.0.1 a", "b", "10.0.0.2", NULL, HOSTS_FAMILY, false),
              "10.0.0.1 a\n10.0.0.2\tb\n");
}

TEST(names_are_compared_without_case)
{
    CHECK_STR(run("10.0.0.2 Web\n", "web", "10.0.0.2", NULL, HOSTS_FAMILY, false),
              "10.0.0.2 Web\n");
    CHECK_STR(run("10.0.0.2 Web\n", "web", "10.0.0.3", NULL, HOSTS_FAMILY, false),
              "10.0.0.3\tweb\n");
    CHECK_STR(run("10.0.0.2 Web x\n", "web", NULL, NULL, HOSTS_FAMILY, true), "10.0.0.2 x\n");
}

TEST(other_addresses_can_be_kept_or_dropped)
{
    CHECK_STR(run("10.0.0.2 web\nfd00::1 web\n", "web", "10.0.0.3", NULL, HOSTS_KEEP, false),
              "10.0.0.2 web\nfd00::1 web\n10.0.0.3\tweb\n");
    CHECK_STR(run("10.0.0.2 web\nfd00::1 web\n", "web", "10.0.0.3", NULL, HOSTS_DROP, false),
              "10.0.0.3\tweb\n");
}

TEST(removing_the_last_name_removes_its_line)
{
    CHECK_STR(run(before, "b", NULL, NULL, HOSTS_FAMILY, true),
              "127.0.0.1\tlocalhost # loop\n\n# the rest\n10.0.0.1  a   c # three\n"
              "10.0.0.2 web\nfd00::1 web\n");
    CHECK_STR(run("10.0.0.2 web\nfd00::1 web\n", "web", NULL, NULL, HOSTS_FAMILY, true), "");
    CHECK_STR(run("10.0.0.2 web\nfd00::1 web\n", "web", "fd00::1", NULL, HOSTS_FAMILY, true),
              "10.0.0.2 web\n");
    CHECK_STR(run("# web\n10.0.0.2 web2\n", "web", NULL, NULL, HOSTS_FAMILY, true),
              "# web\n10.0.0.2 web2\n");
}

TEST(addresses_are_known_by_their_form)
{
    CHECK(hosts_is_address(STR("127.0.0.1")));
    CHECK(hosts_is_address(STR("fe80::1%eth0")));
    CHECK(!hosts_is_address(STR("localhost")));
    CHECK(!hosts_is_address(STR("10.0.0")));
    CHECK(!hosts_is_address(STR("")));
}

static const char *only(const char *text, const char *address, const char *a, const char *b)
{
    static struct buf out;
    const struct str names[] = { str_from(a ? a : ""), str_from(b ? b : "") };

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    hosts_only(str_from(text), str_from(address), names, a ? (b ? 2 : 1) : 0, &out);
    return buf_text(&out);
}

TEST(an_address_has_only_these_names_in_this_order)
{
    CHECK_STR(only(before, "10.0.0.1", "x", "a"),
              "127.0.0.1\tlocalhost # loop\n\n# the rest\n10.0.0.1  x a # three\n"
              "10.0.0.2 web\nfd00::1 web\n");
    CHECK_STR(only("10.0.0.1 a  b # c\n", "10.0.0.1", "a", "b"), "10.0.0.1 a  b # c\n");
    CHECK_STR(only("10.0.0.1 b a\n", "10.0.0.1", "a", "b"), "10.0.0.1 a b\n");
    CHECK_STR(only("fd00:0::1 a\nx\nfd00::1 b\n", "fd00::1", "a", "b"), "fd00:0::1 a b\nx\n");
    CHECK_STR(only("10.0.0.1", "10.0.0.1", "a", NULL), "10.0.0.1\ta");
}

TEST(an_address_without_names_is_removed_and_a_new_one_is_appended)
{
    CHECK_STR(only("10.0.0.1 a\n::1 b # c\n10.0.0.1 d\n", "10.0.0.1", NULL, NULL), "::1 b # c\n");
    CHECK_STR(only("::1 b", "10.0.0.1", "a", "b"), "::1 b\n10.0.0.1\ta b\n");
    CHECK_STR(only("::1 b\r\n", "10.0.0.1", "a", NULL), "::1 b\r\n10.0.0.1\ta\r\n");
    CHECK_STR(only("", "10.0.0.1", NULL, NULL), "");
}

static const char *comment(const char *text, const char *address, const char *words)
{
    static struct buf out;

    buf_done(&out);
    out = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    hosts_set_comment(str_from(text), str_from(address), str_from(words), &out);
    return buf_text(&out);
}

TEST(the_first_line_of_an_address_gets_a_comment_and_the_rest_stays)
{
    CHECK_STR(comment("::1 x\n10.0.0.1  a b\n10.0.0.1 c\n", "10.0.0.1", "hi"),
              "::1 x\n10.0.0.1  a b # hi\n10.0.0.1 c\n");
    CHECK_STR(comment("10.0.0.1 a\t#  old\r\n", "10.0.0.1", "hi"), "10.0.0.1 a # hi\r\n");
    CHECK_STR(comment("10.0.0.1 a\t#  hi \n", "10.0.0.1", "hi"), "10.0.0.1 a\t#  hi \n");
    CHECK_STR(comment("10.0.0.1 a", "10.0.0.1", "hi"), "10.0.0.1 a # hi");
    CHECK_STR(comment("10.0.0.1 a # b\n", "10.0.0.2", "hi"), "10.0.0.1 a # b\n");
}
