#include "fleet/nats/subject.h"

#include "test.h"

static const struct {
    const char *text;
    bool plain, pattern, token;
} kinds[] = {
    { "a", true, true, true },
    { "a.b.c", true, true, false },
    { "", false, false, false },
    { ".", false, false, false },
    { "a.", false, false, false },
    { ".a", false, false, false },
    { "a..b", false, false, false },
    { "*", false, true, false },
    { ">", false, true, false },
    { "a.*.b", false, true, false },
    { "a.>", false, true, false },
    { "a.>.b", false, false, false },
    { "a*", true, true, true },
    { "a.b>", true, true, false },
    { ">a.*b", true, true, false },
    { "a b", false, false, false },
    { "a\tb", false, false, false },
    { "a\nb", false, false, false },
    { "a\x7f", false, false, false },
    { "gr\xc3\xbc\xc3\x9f", true, true, true },
    { "$JS.ACK.S.C", true, true, false },
};

TEST(subjects_patterns_and_tokens_are_told_apart)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct str text = str_from(kinds[i].text);
        bool ok = nats_subject_is_plain(text) == kinds[i].plain &&
                  nats_subject_is_pattern(text) == kinds[i].pattern &&
                  nats_subject_is_token(text) == kinds[i].token;

        test_check(ok, kinds[i].text, __FILE__, __LINE__);
    }
}

TEST(a_subject_longer_than_the_limit_is_refused)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_fill(&text, 'a', NATS_SUBJECT_MAX);
    CHECK(nats_subject_is_plain(buf_view(&text)));
    buf_add_char(&text, 'a');
    CHECK(!nats_subject_is_plain(buf_view(&text)));
    CHECK(!nats_subject_is_pattern(buf_view(&text)));
}

static const struct {
    const char *pattern, *subject;
    bool match;
} matches[] = {
    { "a.b", "a.b", true },     { "a.b", "a.c", false },    { "a.b", "a", false },
    { "a", "a.b", false },      { "*", "a", true },         { "*", "a.b", false },
    { "a.*", "a.b", true },     { "a.*.c", "a.b.c", true }, { "a.*.c", "a.b.d", false },
    { ">", "a", true },         { ">", "a.b.c", true },     { "a.>", "a", false },
    { "a.>", "a.b", true },     { "a.>", "a.b.c", true },   { "a.*.>", "a.b", false },
    { "a.*.>", "a.b.c", true },
};

TEST(patterns_match_whole_tokens)
{
    for (size_t i = 0; i < ARRAY_LEN(matches); i++)
        test_check(nats_subject_match(str_from(matches[i].pattern), str_from(matches[i].subject)) ==
                       matches[i].match,
                   matches[i].pattern, __FILE__, __LINE__);
}

TEST(tokens_are_counted_from_zero)
{
    CHECK(str_is(nats_subject_token(STR("a.b.c"), 0), "a"));
    CHECK(str_is(nats_subject_token(STR("a.b.c"), 2), "c"));
    CHECK(!nats_subject_token(STR("a.b.c"), 3).p);
}
