#include "states/settings/sanitize.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/settings/placeholder.h"
#include "test.h"

#define HOLE(name) "'__ZESTER_SECRET:" name "__'"

struct row {
    const char *text, *expected; /* expected: NULL when it is refused */
    const char *secret;          /* the first */
    const char *error;
};

static const struct row rows[] = {
    { "a: 1\n", "a: 1\n", NULL, NULL },
    { "a: !encrypted x y\nb: 2\n", "a: " HOLE("f.zy:a") "\nb: 2\n", "x y", NULL },
    { "a: !encrypted 'it''s' # why\n", "a: " HOLE("f.zy:a") " # why\n", "it's", NULL },
    { "a: !encrypted \"x\\ty\"\n", "a: " HOLE("f.zy:a") "\n", "x\ty", NULL },
    { "a: !encrypted |\n  one\n  two\n\nb: 2\n", "a: " HOLE("f.zy:a") "\n\n\n\nb: 2\n",
      "one\ntwo\n", NULL },
    { "a: !encrypted &k x\nb: *k\n", "a: &k " HOLE("f.zy:a") "\nb: *k\n", "x", NULL },
    { "a: [1, !encrypted x, {b: !encrypted y}]\n",
      "a: [1, " HOLE("f.zy:a.1") ", {b: " HOLE("f.zy:a.2.b") "}]\n", "x", NULL },
    { "a:\n  - !encrypted x\n", "a:\n  - " HOLE("f.zy:a.0") "\n", "x", NULL },
    { "a: !encrypted\nb: 1\n", "a: " HOLE("f.zy:a") "\nb: 1\n", "", NULL },
    { "__x__: !encrypted \xc3\xa4\n", "__x__: " HOLE("f.zy:%5F%5Fx%5F%5F") "\n", "\xc3\xa4", NULL },
    { "\xc3\xa4: 1\na_b: !encrypted x\n", "\xc3\xa4: 1\na_b: " HOLE("f.zy:a_b") "\n", "x", NULL },
    /* templates */
    { "{% if x %}\na: !encrypted x\n{% else %}\na: !encrypted y\n{% endif %}\n",
      "{% if x %}\na: " HOLE("f.zy:a") "\n{% else %}\na: " HOLE("f.zy:a~2") "\n{% endif %}\n", "x",
      NULL },
    { "{{ k }}: !encrypted x\nb: {{ y }}\n{{ z() }}\n",
      "{{ k }}: " HOLE("f.zy:xxxxxxx") "\nb: {{ y }}\n{{ z() }}\n", "x", NULL },
    { "{# a\n comment #}\na: !encrypted x\n", "{# a\n comment #}\na: " HOLE("f.zy:a") "\n", "x",
      NULL },
    { "a: !encrypted x{{ y }}\n", NULL, NULL,
      "line 1: a template tag in a value that is encrypted" },
    { "a: !encrypted |\n  x\n{% if y %}\n  z\n{% endif %}\n", NULL, NULL,
      "line 1: a template tag in a value that is encrypted" },
    { "a: {% set b = '!encrypted' %}\n", NULL, NULL,
      "line 1: !encrypted in a comment or a template tag" },
    { "b: 1\n# a: !encrypted x\n", NULL, NULL,
      "line 2: !encrypted in a comment or a template tag" },
    { "a: !encrypted {b: 1}\n", NULL, NULL, "line 1: !encrypted is for single values" },
    { "!encrypted a: 1\n", NULL, NULL, "line 1: !encrypted is for single values" },
    { "a: !encrypted x\n b: [\n", NULL, NULL, "without its template tags: line 2: not valid YAML" },
    { "a: !encrypted x {{\n", NULL, NULL, "unterminated template tag" },
    { "a: [!encrypted 'x\n  y', z]\n", "a: [" HOLE("f.zy:a.0") "\n, z]\n", "x y", NULL },
    /* references */
    { "a: !secret_from v:db/main#pass # why\n", "a: " HOLE("f.zy:a") " # why\n", "v:db/main#pass",
      NULL },
    { "a: [1, !secret_from 'v:hosts/{id}']\nb: !encrypted x\n",
      "a: [1, " HOLE("f.zy:a.1") "]\nb: " HOLE("f.zy:b") "\n", "v:hosts/{id}", NULL },
    { "a: 1 # was !secret_from v:x\n", "a: 1 # was !secret_from v:x\n", NULL, NULL },
    { "a: !secret_from v:{{ grains.id }}\n", NULL, NULL,
      "line 1: a template tag in a value that is got from a secret back-end" },
    { "a: !secret_from [v:x]\n", NULL, NULL, "line 1: !secret_from is for single values" },
    { "a: 1\nb: !secret_from password\n", NULL, NULL,
      "line 2: !secret_from: expected NAME:PATH or NAME:PATH#FIELD" },
    { "#!yaml\na: '{{'\nb: !encrypted x\n", "#!yaml\na: '{{'\nb: " HOLE("f.zy:b") "\n", "x", NULL },
};

TEST(secrets_become_placeholders_and_everything_else_stays)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct sanitized clean;
        struct err err = { 0 };
        int result = sanitize_settings(&arena, "f.zy", str_from(rows[i].text), &clean, &err);

        if (!rows[i].expected) {
            if (result == 0)
                fail_msg("row %zu is not refused: %s", i, arena_str(&arena, clean.text).p);
            CHECK_STR(err.text, rows[i].error);
            continue;
        }
        if (result < 0)
            fail_msg("row %zu: %s", i, err.text);
        CHECK_STR(arena_str(&arena, clean.text).p, rows[i].expected);
        if (rows[i].secret)
            CHECK_STR(clean.secrets.p[0].text.p, rows[i].secret);
    }
}

static int open_secret(void *self, struct str name, struct str *ret_text, struct err *err)
{
    (void)self;
    if (!str_is(name, "f:a"))
        return err_set(err, ERR_NOT_FOUND, "no secret '%.*s'", STR_ARG(name));
    *ret_text = STR("s3cret");
    return 0;
}

static const unsigned char random_bytes[PLACEHOLDER_RANDOM_SIZE] = { 1, 2, 3 };

/* Texts of a file, as a rendering leaves them. */
static struct value mark_texts(struct placeholder_marks *marks, const char *const *texts, size_t n)
{
    struct value_list *list = value_list_new(marks->arena, n);
    struct str marked;
    struct err err;

    for (size_t i = 0; i < n; i++) {
        CHECK_INT(placeholder_mark(marks, str_from(texts[i]), &marked, &err), 0);
        value_list_push(marks->arena, list, value_str(marked));
    }
    return value_list(list);
}

TEST(a_text_with_a_placeholder_becomes_secret)
{
    static const char *const texts[] = { "x__ZESTER_SECRET:f:a__y__ZESTER_SECRET:f:a__", "plain" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct placeholder_marks marks;
    struct value v;

    placeholder_marks_init(&marks, &arena, random_bytes);
    v = mark_texts(&marks, texts, ARRAY_LEN(texts));
    CHECK(str_find(v.list->items[0].s, STR("f:a"), 0) == STR_NONE);
    CHECK_INT(placeholder_fill(&marks, &v, open_secret, NULL, &diags), 0);
    CHECK_STR(v.list->items[0].s.p, "xs3cretys3cret");
    CHECK(v.list->items[0].flags & VALUE_SECRET);
    CHECK(!(v.list->items[1].flags & VALUE_SECRET));
}

/* Facts and what other machines share can say anything. */
TEST(a_placeholder_outside_a_file_is_plain_text)
{
    static const char *const in_file[] = { "__ZESTER_SECRET:f:a__" };
    static const char *const texts[] = {
        "__ZESTER_SECRET:f:a__",
        "__ZESTER_SECRET:f:a",
        "__ZESTER_SECRET:01020300000000000000000000000001:0__", /* of another rendering */
        "__ZESTER_SECRET:01020300000000000000000000000000:7__", /* not made */
        "__ZESTER_SECRET:01020300000000000000000000000000:0",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct value v = value_text(texts[i]);
        struct diags diags = DIAGS_INIT(&arena);
        struct placeholder_marks marks;

        placeholder_marks_init(&marks, &arena, random_bytes);
        (void)mark_texts(&marks, in_file, ARRAY_LEN(in_file));
        CHECK_INT(placeholder_fill(&marks, &v, open_secret, NULL, &diags), 0);
        CHECK_STR(v.s.p, texts[i]);
        CHECK(!(v.flags & VALUE_SECRET));
    }
}

TEST(an_unterminated_placeholder_is_an_error)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct placeholder_marks marks;
    struct str ignored;
    struct err err;

    placeholder_marks_init(&marks, &arena, random_bytes);
    CHECK_INT(placeholder_mark(&marks, STR("a: '__ZESTER_SECRET:f:a'"), &ignored, &err), -1);
    CHECK_STR(err.text, "unterminated placeholder");
}

TEST(a_secret_in_a_key_is_an_error_without_its_mark)
{
    static const char *const texts[] = { "__ZESTER_SECRET:f:a__" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value_map *map = value_map_new(&arena, 1);
    struct value v = value_map(map), list;
    struct placeholder_marks marks;

    placeholder_marks_init(&marks, &arena, random_bytes);
    list = mark_texts(&marks, texts, ARRAY_LEN(texts));
    value_map_set(&arena, map, list.list->items[0], value_int(1));
    CHECK_INT(placeholder_fill(&marks, &v, open_secret, NULL, &diags), -1);
    (void)diag_add(&diags, (struct place){ 0 }, "in '%s'", list.list->items[0].s.p);
    placeholder_show(&marks, &diags, 0);
    CHECK_STR(diags.list.p[0].text, "a secret cannot be the key of a map");
    CHECK_STR(diags.list.p[1].text, "in '__ZESTER_SECRET:f:a__'");
}

TEST(every_unresolved_placeholder_is_reported)
{
    static const char *const texts[] = { "__ZESTER_SECRET:g:b__", "__ZESTER_SECRET:f:a__",
                                         "__ZESTER_SECRET:g:c__" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct placeholder_marks marks;
    struct value v;

    placeholder_marks_init(&marks, &arena, random_bytes);
    v = mark_texts(&marks, texts, ARRAY_LEN(texts));
    CHECK_INT(placeholder_fill(&marks, &v, open_secret, NULL, &diags), -1);
    CHECK_INT(diags_count(&diags), 2);
    CHECK_STR(v.list->items[1].s.p, "s3cret");
}
