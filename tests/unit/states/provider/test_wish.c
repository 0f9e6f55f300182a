#include "test.h"

#include "core/base/err.h"
#include "states/provider/package/dpkg.h"
#include "states/provider/package/wish.h"

static bool holds(const char *text, const char *version)
{
    struct wish wish;
    struct err err = { .text = "" };

    CHECK_INT(wish_parse(str_from(text), &wish, &err), 0);
    CHECK_STR(err.text, "");
    return wish_holds(&wish, str_from(version), dpkg_compare);
}

TEST(conditions_compare_versions)
{
    CHECK(holds("1.2", "1.2") && !holds("1.2", "1.3"));
    CHECK(holds("=1.2", "1.2") && holds("==1.2", "1.2"));
    CHECK(holds(">=1.2", "1.10") && !holds(">=1.10", "1.2"));
    CHECK(holds("> 1.2", "1.2-1") && !holds(">1.2", "1.2"));
    CHECK(holds("<=1.2", "1.2") && holds("<1.2", "1.2~rc1"));
    CHECK(holds("!=1.2", "1.3") && !holds("<>1.2", "1.2"));
    CHECK(holds("", "anything") && holds("  ", "1"));
}

TEST(all_conditions_of_a_wish_must_hold)
{
    CHECK(holds(">=1.2, <2", "1.9") && !holds(">=1.2,<2", "2.0") && !holds(">=1.2,<2", "1.1"));
    CHECK(!holds(">=1.2,!=1.5", "1.5"));
}

TEST(a_star_makes_a_pattern)
{
    CHECK(holds("1.2.*", "1.2.3-1") && !holds("1.2.*", "1.3"));
    CHECK(holds("[12].0", "2.0") && holds("==1.?", "1.5"));
}

TEST(an_epoch_may_be_ignored)
{
    struct wish wish;
    struct err err;

    CHECK_INT(wish_parse(STR(">=1.2,<2"), &wish, &err), 0);
    CHECK(!wish_holds(&wish, STR("5:1.4"), dpkg_compare));
    wish.ignore_epoch = true;
    CHECK(wish_holds(&wish, STR("5:1.4"), dpkg_compare));
    CHECK(!wish_holds(&wish, STR("5:2.4"), dpkg_compare));
    CHECK_INT(wish_parse(STR("1.2"), &wish, &err), 0);
    wish.ignore_epoch = true;
    CHECK(!wish_exact(&wish).p);
}

TEST(only_one_plain_version_is_exact)
{
    struct wish wish;
    struct err err;

    CHECK_INT(wish_parse(STR("1.2-3"), &wish, &err), 0);
    CHECK(str_is(wish_exact(&wish), "1.2-3"));
    CHECK_INT(wish_parse(STR(">=1.2"), &wish, &err), 0);
    CHECK(!wish_exact(&wish).p);
    CHECK_INT(wish_parse(STR("1.*"), &wish, &err), 0);
    CHECK(!wish_exact(&wish).p);
    CHECK_INT(wish_parse(STR("1,2"), &wish, &err), 0);
    CHECK(!wish_exact(&wish).p);
}

TEST(an_invalid_version_is_refused_with_a_reason)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { ">=", "missing version" },
        { "1.2,", "missing version" },
        { "1 2", "a version must not contain blanks: '1 2'" },
        { "1\n2", "must not contain blanks" },
        { "--force", "a version must not begin with '-': '--force'" },
        { "1,2,3,4,5,6,7,8,9", "more than the limit of 8 conditions" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wish wish;
        struct err err = { .text = "" };

        CHECK_INT(wish_parse(str_from(cases[i].text), &wish, &err), -1);
        CHECK_HAS(err.text, cases[i].error);
    }
}
