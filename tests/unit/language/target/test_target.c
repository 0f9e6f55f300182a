#include "language/target/target.h"

#include <time.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "test.h"

static struct value parse_yaml(struct arena *arena, struct str text)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value v;

    if (yaml_parse(arena, "case", text, NULL, &v, &diags) < 0)
        fail_msg("the case has no YAML");
    return v;
}

/* Sections: facts, settings and groups are YAML; each line of input is an expression, maybe with a
 * type before it: "grain| os:Debian". */
struct world {
    struct arena *arena;
    struct value facts, settings, groups;
    struct target_subject subject;
};

static void world_init(struct world *world, const struct golden *golden)
{
    world->facts = parse_yaml(world->arena, golden_section(golden, "facts"));
    world->settings = parse_yaml(world->arena, golden_section(golden, "settings"));
    world->groups = parse_yaml(world->arena, golden_section(golden, "groups"));
    world->subject = (struct target_subject){ str_trim(golden_section(golden, "id")), &world->facts,
                                              &world->settings };
}

static int run_line(struct world *world, struct str line, struct buf *out)
{
    struct diags diags = DIAGS_INIT(world->arena);
    struct target_options options = { .groups = &world->groups };
    enum target_type type = TARGET_COMPOUND;
    size_t bar = str_find(line, STR("| "), 0);
    const struct target *target;
    struct err err;
    bool matches;

    if (bar != STR_NONE && target_type_find(str_slice(line, 0, bar), &type, NULL))
        line = str_from_offset(line, bar + 2);
    if (target_parse(world->arena, line, type, &options, &target, &diags) < 0) {
        CHECK(diags_count(&diags) > 0);
        diags_print(&diags, out);
        return -1;
    }
    if (target_match(target, &world->subject, &matches, &err) < 0)
        fail_msg("%s", err.text);
    buf_printf(out, "%s %.*s\n", matches ? "yes" : "no ", STR_ARG(line));
    return 0;
}

static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct world world = { .arena = &arena };
    struct str rest = golden_section(golden, "input");
    int status = 0;

    world_init(&world, golden);
    while (rest.p && rest.n > 0)
        if (run_line(&world, str_cut(&rest, '\n'), out) < 0)
            status = -1;
    return status;
}

TEST(expressions_match_as_people_expect)
{
    test_golden("language/target/match.txt", run_case);
}

TEST(mistakes_in_expressions_are_shown_with_their_column)
{
    test_golden("language/target/errors.txt", run_case);
}

static bool matches_id(const char *text, const char *id)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct target_subject subject = { .id = str_from(id) };
    const struct target *target;
    struct err err;
    bool matches;

    CHECK_INT(target_parse(&arena, str_from(text), TARGET_COMPOUND, NULL, &target, &diags), 0);
    CHECK_INT(target_match(target, &subject, &matches, &err), 0);
    return matches;
}

TEST(a_machine_without_facts_and_settings_can_be_matched)
{
    CHECK(matches_id("web*", "web1"));
    CHECK(!matches_id("G@os:Debian", "web1"));
    CHECK(matches_id("not I@role:web", "web1"));
    CHECK(!matches_id("S@10.0.0.0/8", "web1"));
    CHECK(!matches_id("web*", ""));
}

TEST(settings_are_refused_where_they_are_not_known)
{
    static const struct target_options options = { .no_settings = true };
    static const char *const texts[] = { "I@role:web", "not J@role:w.b",
                                         "web* and not I@env:prod" };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct diags diags = DIAGS_INIT(&arena);
        const struct target *target;

        CHECK_INT(
            target_parse(&arena, str_from(texts[i]), TARGET_COMPOUND, &options, &target, &diags),
            -1);
        diags_print(&diags, &text);
        CHECK(strstr(buf_text(&text), "which are not known here"));
    }
}

TEST(limits_of_expressions_are_named)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    const struct target *target;

    buf_fill(&text, '(', TARGET_DEPTH_MAX + 1);
    CHECK_INT(target_parse(&arena, buf_view(&text), TARGET_COMPOUND, NULL, &target, &diags), -1);
    CHECK_STR(diags.list.p[0].text, "groups and parentheses go at most 64 deep");

    buf_clear(&text);
    for (int i = 0; i <= TARGET_TERMS_MAX; i++)
        buf_add_text(&text, i > 0 ? " or a" : "a");
    CHECK_INT(target_parse(&arena, buf_view(&text), TARGET_COMPOUND, NULL, &target, &diags), -1);
    CHECK_STR(diags.list.p[1].text, "an expression has at most 1000 matchers");
    CHECK_INT(diags.list.n, 2);

    buf_clear(&text);
    buf_fill(&text, 'a', TARGET_TEXT_MAX + 1);
    CHECK_INT(target_parse(&arena, buf_view(&text), TARGET_COMPOUND, NULL, &target, &diags), -1);
    CHECK_STR(diags.list.p[2].text, "an expression has at most 65536 bytes");
}

TEST(a_slow_regular_expression_and_a_long_id_are_errors_not_answers)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    char id[TARGET_ID_MAX + 1];
    struct target_subject subject = { .id = { id, 60 } };
    const struct target *target;
    struct err err;
    bool matches;

    memset(id, 'a', sizeof(id));
    CHECK_INT(target_parse(&arena, STR("E@(a+)+$"), TARGET_COMPOUND, NULL, &target, &diags), 0);
    id[59] = 'b';
    CHECK_INT(target_match(target, &subject, &matches, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    subject.id.n = sizeof(id);
    CHECK_INT(target_match(target, &subject, &matches, &err), -1);
    CHECK_STR(err.text, "an id has at most 1024 bytes");
}

TEST(mistakes_of_an_expression_in_a_document_are_shown_there)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct value top = parse_yaml(&arena, STR("base:\n  'web* and (db*':\n    - x\n"));
    const struct value *key = &value_get(&top, "base")->map->pairs[0].key;
    struct target_options options = { .where = key };
    const struct target *target;

    CHECK_INT(target_parse(&arena, key->s, TARGET_COMPOUND, &options, &target, &diags), -1);
    diags_print(&diags, &out);
    CHECK_STR(buf_text(&out), "case:2:13: this parenthesis is never closed\n"
                              "    2 |   'web* and (db*':\n"
                              "      |             ^\n");
}

TEST(a_mistake_of_a_text_that_stands_alone_is_one_line)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct target *target;
    struct err err;

    CHECK_INT(target_read(&arena, STR("web* or G@"), TARGET_COMPOUND, NULL, &target, &err), -1);
    CHECK_STR(err.text, "column 11: key and value are missing (write key:value as in "
                        "G@os.family:debian)");
    CHECK_INT(target_read(&arena, STR("web* and"), TARGET_COMPOUND, NULL, &target, &err), -1);
    CHECK_STR(err.text, "column 6: 'and' has nothing on its right");
    CHECK_INT(target_read(&arena, STR("web*"), TARGET_COMPOUND, NULL, &target, &err), 0);
}

TEST(types_have_the_names_that_salt_gives_them)
{
    const char *nearest = NULL;
    enum target_type type;

    CHECK(target_type_find(STR("grain"), &type, NULL) && type == TARGET_FACT);
    CHECK(target_type_find(STR("pillar_pcre"), &type, NULL) && type == TARGET_SETTINGS_PCRE);
    CHECK(target_type_find(STR("ipcidr"), &type, NULL) && type == TARGET_SUBNET);
    CHECK(!target_type_find(STR("nodegruop"), &type, &nearest));
    CHECK_STR(nearest, "nodegroup");
    CHECK_STR(target_type_name(TARGET_PCRE), "pcre");
}

TEST(a_hundred_thousand_machines_are_matched_in_a_blink)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct value facts =
        parse_yaml(&arena, STR("os: {name: debian, family: debian}\nrole: web\ncpu: {count: 4}\n"));
    const struct target *target;
    struct timespec begin, end;
    size_t hits = 0;

    CHECK_INT(target_parse(&arena, STR("G@os.family:debian and web* and not role:db"),
                           TARGET_COMPOUND, NULL, &target, &diags),
              0);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int i = 0; i < 100000; i++) {
        struct target_subject subject = { .id = STR("web-00017"), .facts = &facts };
        struct err err;
        bool matches = false;

        CHECK_INT(target_match(target, &subject, &matches, &err), 0);
        hits += matches;
    }
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    CHECK_INT(hits, 100000);
    print_message("100,000 matches: %.1f ms\n", (double)(end.tv_sec - begin.tv_sec) * 1e3 +
                                                    (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
}
