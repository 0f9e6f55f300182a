#include "fleet/reactor/rule_set.h"

#include "core/base/number.h"
#include "fleet/reactor/rules.h"

static void print_matches(const struct rule_set *set, struct str key, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct rule_matches matches;

    rule_set_match(set, &arena, key, &matches);
    buf_printf(out, "%.*s:%s", STR_ARG(key), matches.list.n == 0 ? " none" : "");
    VEC_EACH (&matches.list, rule) {
        buf_printf(out, " %s", (*rule)->ref);
        if ((*rule)->throttle == RULE_THROTTLE_DEFAULT)
            continue;
        buf_add_char(out, '(');
        number_print_duration((*rule)->throttle, out);
        buf_add_char(out, ')');
    }
    buf_add_char(out, '\n');
}

/* Besides the files: `keys`, one to match in each line. */
static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct rule_file files[RULES_FILES_MAX];
    struct diags diags = DIAGS_INIT(&arena), lints = DIAGS_INIT(&arena);
    struct rule_set *set = rule_set_new(files, rules_files(golden, files), &diags, &lints);
    struct str keys = golden_section(golden, "keys");

    if (!set) {
        CHECK(diags_count(&diags) > 0);
        diags_print(&diags, out);
        return -1;
    }
    while (keys.p && keys.n > 0)
        print_matches(set, str_cut(&keys, '\n'), out);
    diags_print(&lints, out);
    rule_set_drop(set);
    return 0;
}

TEST(rules_match_as_their_file_says)
{
    test_golden("fleet/reactor/rules.txt", run_case);
}

TEST(a_set_lives_as_long_as_somebody_holds_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    char text[] = "reactor: [{'a/b': [reactor.x]}]\n";
    const struct rule_file files[] = { { "top.zy", NULL, str_from(text) },
                                       { "x.zy", NULL, STR("a: {log: hello}") } };
    struct rule_set *set = rule_set_new(files, ARRAY_LEN(files), &diags, &diags);
    struct rule_matches matches;

    CHECK(set != NULL);
    memset(text, 'x', sizeof(text) - 1); /* texts are copies */
    CHECK(rule_set_hold(set) == set);
    rule_set_drop(set);
    rule_set_match(set, &arena, STR("a/b"), &matches);
    CHECK_INT(matches.list.n, 1);
    CHECK_STR(matches.list.p[0]->file->text.p, "a: {log: hello}");
    rule_set_drop(set);
    rule_set_drop(NULL);
}

TEST(no_files_are_no_rules)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct rule_set *set = rule_set_new(NULL, 0, &diags, &diags);

    CHECK(set != NULL);
    CHECK_INT(set->rules.n, 0);
    rule_set_drop(set);
}

TEST(files_and_rules_have_limits)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf top = BUF_INIT(BUF_NO_LIMIT), out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct rule_file files[2] = { { .path = "top.zy" }, { .path = "x.zy", .text = STR("") } };

    buf_add_text(&top, "reactor:\n- 'a/b':\n");
    for (int i = 0; i <= RULE_SET_RULES_MAX; i++)
        buf_add_text(&top, "  - reactor.x\n");
    files[0].text = buf_view(&top);
    CHECK(rule_set_new(files, 2, &diags, &diags) == NULL);
    files[0].text = (struct str){ buf_text(&top), RULE_SET_BYTES_MAX + 1 }; /* not read */
    CHECK(rule_set_new(files, 2, &diags, &diags) == NULL);
    diags_print(&diags, &out);
    CHECK_HAS(buf_text(&out), "more than 4096 rules");
    CHECK_HAS(buf_text(&out), "more than 16777216 bytes");
}
