#include "test.h"

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/data/value.h"
#include "states/state/secrets.h"

static const char *mask(struct secrets *secrets, struct buf *text, const char *words)
{
    buf_clear(text);
    buf_add_text(text, words);
    secrets_mask(secrets, text);
    return buf_text(text);
}

TEST(every_occurrence_is_masked_the_longest_first)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct secrets *secrets = secrets_new();

    CHECK_STR(mask(secrets, &text, "nothing is secret"), "nothing is secret");
    secrets_add(secrets, STR("pass"));
    secrets_add(secrets, STR("password"));
    secrets_add(secrets, STR("password"));
    CHECK_STR(mask(secrets, &text, "a password, a pass, pass"), "a ********, a ********, ********");
    secrets_free(secrets);
}

TEST(short_texts_are_not_masked)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct secrets *secrets = secrets_new();

    secrets_add(secrets, STR("abc"));
    secrets_add(secrets, STR(""));
    CHECK_STR(mask(secrets, &text, "abcd"), "abcd");
    secrets_free(secrets);
}

TEST(lines_of_a_secret_are_masked_one_by_one)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct secrets *secrets = secrets_new();

    secrets_add(secrets, STR("BEGIN KEY\nabcdef\nEND KEY\n"));
    CHECK_STR(mask(secrets, &text, "+BEGIN KEY\n+abcdef\n+END KEY\n"),
              "+********\n+********\n+********\n");
    secrets_free(secrets);
}

TEST(the_base64_of_a_secret_is_masked)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct secrets *secrets = secrets_new();

    secrets_add(secrets, STR("hunter22"));
    CHECK_STR(mask(secrets, &text, "Basic aHVudGVyMjI= and aHVudA=="),
              "Basic ******** and aHVudA==");
    secrets_free(secrets);
}

TEST(a_secret_in_another_case_or_in_a_url_is_masked)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct secrets *secrets = secrets_new();

    secrets_add(secrets, STR("Hunter/2@x\n"));
    CHECK_STR(mask(secrets, &text, "HUNTER/2@X hunter/2@x db://me:Hunter/2%40x@host Hunter"),
              "******** ******** db://me:********@host Hunter");
    secrets_free(secrets);
}

TEST(texts_inside_values_are_secret_too)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct value_list *list = value_list_new(&arena, 1);
    struct value_map *map = value_map_new(&arena, 1);
    struct secrets *secrets = secrets_new();
    const struct value v = value_map(map);
    struct str same = STR("plain"), hidden;

    value_list_push(&arena, list, value_text("inner"));
    value_map_set(&arena, map, value_text("visible"), value_list(list));
    secrets_add_value(secrets, &v);
    CHECK_STR(mask(secrets, &text, "visible inner"), "visible ********");
    CHECK(secrets_masked(secrets, &arena, same).p == same.p);
    hidden = secrets_masked(secrets, &arena, STR("the inner one"));
    CHECK_STR(hidden.p, "the ******** one");
    secrets_mask_value(secrets, &arena, &(struct value){ 0 });
    secrets_mask_value(secrets, &arena, &list->items[0]);
    CHECK_STR(list->items[0].s.p, SECRETS_MASK);
    secrets_free(secrets);
}

TEST(keys_of_an_answer_are_masked_and_keys_of_records_are_not)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map = value_map_new(&arena, 1), *outer = value_map_new(&arena, 1);
    struct secrets *secrets = secrets_new();
    struct value v = value_map(outer);

    secrets_add(secrets, STR("hunter22"));
    value_map_set(&arena, map, value_text("a hunter22"), value_text("hunter22"));
    value_map_set(&arena, outer, value_text("visible"), value_map(map));
    secrets_mask_value(secrets, &arena, &v);
    CHECK_STR(map->pairs[0].key.s.p, "a hunter22");
    secrets_mask_answer(secrets, &arena, &v);
    CHECK_STR(value_get_text(value_get(&v, "visible"), "a ********"), "********");
    secrets_free(secrets);
}

TEST(without_a_registry_nothing_is_masked)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    secrets_add(NULL, STR("text"));
    CHECK_STR(mask(NULL, &text, "text"), "text");
    secrets_free(NULL);
}

/* The password, and what other programs make of it. */
#define PASSWORD "p\"ä\\s's&x %1"
static const char *const written[] = {
    "p\\\"ä\\\\s's&x %1",                   /* JSON */
    "p\\\"\\u00e4\\\\s's&x %1",             /* the same in ASCII */
    "p\\\"\\u00E4\\\\s\\u0027s\\u0026x %1", /* as templates write it */
    "p\\\"\\xE4\\\\s's&x %1",               /* YAML, quoted */
    "p\"ä\\s''s&x %1",                      /* YAML and SQL, in apostrophes */
    "p\"\"ä\\s's&x %1",                     /* CSV */
    "p\"ä\\s'\\''s&x %1",                   /* a shell */
    "p\"ä\\s'\"'\"'s&x %1",
    "p\\\"ä\\\\s\\'s\\&x\\ %1",    /* printf %q */
    "p\\\"\\303\\244\\\\s's&x %1", /* C */
    "p\\\"\\xc3\\xa4\\\\s's&x %1",
    "p%22%C3%A4%5Cs%27s%26x%20%251", /* a URL */
    "p%22%c3%a4%5cs%27s%26x+%251",   /* a form */
    "p&quot;ä\\s&#39;s&amp;x %1",    /* HTML */
    "p&#x22;&#228;\\s&apos;s&amp;x %1",
    "p\\\\\\\"ä\\\\\\\\s's&x %1",            /* JSON in JSON */
    "p\\\"\\\n    ä\\\\s's&x %1",            /* YAML, in two lines */
    "p\"ä\\s''s&x\n  %1",                    /* YAML in apostrophes, in two lines */
    "p\"ä\\s''s&x\n+  %1",                   /* the same in a diff */
    "p%5C%22%5Cu00e4%5C%5Cs%27s%26x%20%251", /* JSON in a URL */
    "p\\&quot;\\u00e4\\\\s&#39;s&amp;x %1",  /* JSON in HTML */
    "p\\\"ä\\\\s'\\''s&x %1",                /* JSON in a shell command */
};

TEST(an_escaped_secret_is_masked)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct secrets *secrets = secrets_new();

    secrets_add(secrets, STR(PASSWORD));
    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        const char *words = arena_printf(&arena, "a: \"%s\" \\n b %%41 &amp; ''", written[i]);

        CHECK_STR(mask(secrets, &text, words), "a: \"********\" \\n b %41 &amp; ''");
        CHECK_STR(secrets_masked(secrets, &arena, str_from(words)).p, buf_text(&text));
    }
    CHECK_STR(mask(secrets, &text, "p\\\"a\\\\s's"), "p\\\"a\\\\s's");
    secrets_free(secrets);
}

/* What base64(1) and PEM print, whole, in a diff, in JSON and in YAML. */
TEST(the_base64_of_a_secret_is_masked_when_it_is_broken_into_lines)
{
    static const char *const breaks[] = { "\n", "\r\n", "\n+", "\n-", "\\n", "\n        " };
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT), encoded = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf broken = BUF_INIT(BUF_NO_LIMIT);
    struct secrets *secrets = secrets_new();

    secrets_add(secrets, STR(PASSWORD " and so on, until there are several lines"));
    base64_encode(STR(PASSWORD " and so on, until there are several lines"), BASE64_STANDARD,
                  &encoded);
    for (size_t i = 0; i < ARRAY_LEN(breaks); i++) {
        buf_clear(&broken);
        for (struct str rest = buf_view(&encoded); rest.n > 0;
             rest = str_from_offset(rest, rest.n < 20 ? rest.n : 20)) {
            buf_add_str(&broken, str_slice(rest, 0, rest.n < 20 ? rest.n : 20));
            buf_add_text(&broken, rest.n > 20 ? breaks[i] : "");
        }
        buf_add_text(&broken, "\nmore\n");
        CHECK_STR(mask(secrets, &text, buf_text(&broken)), "********\nmore\n");
    }
    secrets_free(secrets);
}

TEST(a_secret_of_several_lines_is_masked_where_it_is_one_line)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct secrets *secrets = secrets_new();

    secrets_add(secrets, STR("BEGIN KEY\nabcdef\nEND KEY\n"));
    CHECK_STR(mask(secrets, &text, "{\"key\": \"BEGIN KEY\\nabcdef\\nEND KEY\\n\"}"),
              "{\"key\": \"********\"}");
    secrets_free(secrets);
}

TEST(a_secret_inside_longer_base64_is_masked)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct secrets *secrets = secrets_new();

    secrets_add(secrets, STR("hunter22-long"));
    /* a:, ab: and abc: before it, and something after */
    CHECK(strstr(mask(secrets, &text, "YTpodW50ZXIyMi1sb25nIQ=="), "********") != NULL);
    CHECK(strstr(mask(secrets, &text, "YWI6aHVudGVyMjItbG9uZyE="), "********") != NULL);
    CHECK(strstr(mask(secrets, &text, "YWJjOmh1bnRlcjIyLWxvbmch"), "********") != NULL);
    secrets_free(secrets);
}

TEST(a_marked_value_of_any_length_and_kind_is_masked)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct secrets *secrets = secrets_new();
    struct value v = value_text("abc"), number = value_int(7);

    v.flags |= VALUE_SECRET;
    number.flags |= VALUE_SECRET;
    secrets_mask_value(secrets, &arena, &v);
    secrets_mask_value(secrets, &arena, &number);
    CHECK_STR(v.s.p, SECRETS_MASK);
    CHECK_STR(number.s.p, SECRETS_MASK);
    secrets_free(secrets);
}
