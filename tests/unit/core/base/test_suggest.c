#include "core/base/suggest.h"

#include "test.h"

static const char *const names[] = {
    "name", "names", "contents",        "source",        "mode",
    "user", "group", "require",         "environment",   "max_output",
    "on",   "id",    "service.running", "pkg.installed", "install",
};

static const struct {
    const char *what, *word, *best;
} cases[] = {
    { "two letters swapped", "nmae", "name" },
    { "a letter dropped", "sorce", "source" },
    { "a letter added", "modee", "mode" },
    { "another letter", "uzer", "user" },
    { "singular for plural", "content", "contents" },
    { "the other case", "SOURCE", "source" },
    { "a dash for an underscore", "max-output", "max_output" },
    { "two mistakes in a long word", "enviromnet", "environment" },
    { "cut short", "env", "environment" },
    { "cut short, several", "ser", "user" },
    { "an ending too many", "installing", "install" },
    { "the near one before the cut one", "modd", "mode" },
    { "far away", "colour", NULL },
    { "two mistakes in a short word", "nxxe", NULL },
    { "one letter is no word", "x", NULL },
    { "nothing", "", NULL },
    { "a dotted name", "service.runing", "service.running" },
};

TEST(the_nearest_name_is_suggested)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *best = suggest(str_from(cases[i].word), names, ARRAY_LEN(names));

        CHECK_STR(best ? best : "(none)", cases[i].best ? cases[i].best : "(none)");
    }
}

TEST(one_letter_words_differ_in_case_only)
{
    static const char *const letters[] = { "a", "b" };

    CHECK_STR(suggest(STR("B"), letters, 2), "b");
    CHECK(suggest(STR("c"), letters, 2) == NULL);
}

TEST(the_shorter_of_two_completions_and_the_first_of_two_equals_win)
{
    static const char *const words[] = { "restart_policy_window", "restart_policy", "cat", "car" };

    CHECK_STR(suggest(STR("restart"), words, ARRAY_LEN(words)), "restart_policy");
    CHECK_STR(suggest(STR("caz"), words, ARRAY_LEN(words)), "cat");
}

TEST(candidates_may_be_offered_one_by_one)
{
    struct suggest state;

    suggest_init(&state, STR("watch_im"));
    CHECK(suggest_best(&state).p == NULL);
    suggest_offer(&state, STR("match"));
    suggest_offer(&state, STR("watch_in"));
    suggest_offer(&state, STR("watch_any"));
    CHECK(str_is(suggest_best(&state), "watch_in"));
}

TEST(words_beyond_the_limit_get_no_suggestion)
{
    char word[SUGGEST_WORD_MAX + 2];
    const char *const itself[] = { word };

    memset(word, 'a', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    CHECK(suggest(str_from(word), itself, 1) == NULL);
    word[SUGGEST_WORD_MAX] = '\0';
    CHECK(suggest(str_from(word), itself, 1) == word);
    CHECK(suggest((struct str){ word, SUGGEST_WORD_MAX - 1 }, itself, 1) == word);
}
