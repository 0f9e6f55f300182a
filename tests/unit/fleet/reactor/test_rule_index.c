#include "fleet/reactor/rule_index.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/glob.h"
#include "test.h"

static const struct {
    const char *pattern, *key;
    bool may;
} rows[] = {
    { "a/b", "a/b", true },
    { "a/b", "a/bc", true }, /* left to the pattern */
    { "a/b", "b/a/b", false },
    { "a/*", "a/x", true },
    { "a/*", "b/x", false },
    { "*/disk", "web/disk", true },
    { "*/disk", "web/load", false },
    { "*", "anything", true },
    { "*", "", true },
    { "a[bc]", "ab", true },
    { "[!a]*/x", "b/x", true },
    { "a*long/end", "a/long/end", true },
    { "a*long/end", "a/long", false },
    { "web?/up", "web1/up", true },
    { "*/app/*", "web/app/up", true },
    { "*/app/*", "web/apps/up", false },
    { "*/a/*", "w/a/a/x", true },
    { "*[/b/]*", "x/", true },
    { "*/a*/b/*", "w/b/x", true },
};

TEST(a_pattern_is_found_by_the_letters_that_it_begins_or_ends_with)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct rule_index_numbers found;
        struct rule_index index;

        rule_index_init(&index, &arena);
        rule_index_add(&index, str_from(rows[i].pattern), 7);
        rule_index_find(&index, &arena, str_from(rows[i].key), &found);
        CHECK_STR(found.list.n == rows[i].may ? "" : rows[i].pattern, "");
    }
}

/* Texts of few letters, the same ones in each run. */
static struct str make_text(struct arena *arena, uint32_t *state, const char *letters)
{
    char text[9];
    size_t n;

    *state = *state * 1664525 + 1013904223;
    n = *state >> 29;
    for (size_t i = 0; i < n; i++) {
        *state = *state * 1664525 + 1013904223;
        text[i] = letters[(*state >> 16) % strlen(letters)];
    }
    text[n] = '\0';
    return str_from(arena_strdup(arena, text));
}

TEST(every_pattern_that_matches_is_found_in_order)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str patterns[2000];
    struct rule_index index;
    uint32_t state = 1;

    rule_index_init(&index, &arena);
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        patterns[i] = make_text(&arena, &state, "ab/*?[]!");
        rule_index_add(&index, patterns[i], i);
    }
    for (int round = 0; round < 300; round++) {
        const struct str key = make_text(&arena, &state, "ab/]");
        struct rule_index_numbers found;
        size_t at = 0;

        rule_index_find(&index, &arena, key, &found);
        for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
            const bool is_found = at < found.list.n && found.list.p[at] == i;

            at += is_found;
            CHECK(is_found || !glob_match(patterns[i], key));
        }
        CHECK_INT(at, found.list.n);
    }
}
