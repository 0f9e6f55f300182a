#include "states/settings/settings.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "core/data/yaml_print.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "golden_tree.h"
#include "test.h"

static struct value parse_yaml(struct arena *arena, struct str text)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value v;

    if (yaml_parse(arena, "case", text, NULL, &v, &diags) < 0)
        fail_msg("the case has no YAML");
    return v;
}

/* A case has a section "file PATH" for each file, "facts" in YAML, "id", and "environment". */
static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const char *root = golden_tree(&arena, golden);
    struct str id = str_trim(golden_section(golden, "id"));
    struct str environment = arena_str(&arena, str_trim(golden_section(golden, "environment")));
    struct value facts = parse_yaml(&arena, golden_section(golden, "facts"));
    struct settings_options options = {
        .folder = root,
        .subject = { .id = id.n > 0 ? id : STR("web1"), .facts = &facts },
        .strict_templates = golden_section(golden, "strict").p != NULL,
        .environment = environment.n > 0 ? environment.p : NULL,
    };
    const struct value *settings;
    struct err err;

    if (facts.kind == VALUE_NULL)
        options.subject.facts = NULL;
    if (settings_load(&arena, &options, &settings, &diags) < 0) {
        CHECK(diags_count(&diags) > 0);
        golden_mistakes(&diags, root, "ROOT", out);
        return -1;
    }
    CHECK_INT(diags_count(&diags), 0);
    if (yaml_print(out, settings, &err) < 0)
        fail_msg("%s", err.text);
    return 0;
}

TEST(trees_of_settings_are_rendered_and_merged)
{
    test_golden("states/settings/trees.txt", run_case);
}

TEST(all_mistakes_in_settings_are_reported)
{
    test_golden("states/settings/errors.txt", run_case);
}

static const struct value *load(struct arena *arena, const char *root)
{
    struct diags diags = DIAGS_INIT(arena);
    struct settings_options options = { .folder = root, .subject = { .id = STR("web1") } };
    const struct value *settings = NULL;

    CHECK_INT(settings_load(arena, &options, &settings, &diags), 0);
    return settings;
}

TEST(a_missing_or_empty_folder_gives_no_settings)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value *settings = load(&arena, "/no/such/folder");

    CHECK(value_is(settings, VALUE_MAP));
    CHECK_INT(settings->map->count, 0);
    CHECK_INT(load(&arena, test_folder())->map->count, 0);
}

TEST(secrets_are_marked_with_everything_below_them)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder();
    const struct value *settings;

    golden_put(root, STR("top.zy"), STR("base: {'*': [a, b]}\n"));
    golden_put(root, STR("a.zy"),
               STR("db: {password: !secret s3cret, user: app}\n"
                   "keys: !secret\n  - one\n  - {two: x}\n"));
    golden_put(root, STR("b.zy"), STR("db: {host: db1}\n"));
    settings = load(&arena, root);
    CHECK(value_path(settings, STR("db.password"), '.')->flags & VALUE_SECRET);
    CHECK(!value_tag(value_path(settings, STR("db.password"), '.')));
    CHECK(!(value_path(settings, STR("db.user"), '.')->flags & VALUE_SECRET));
    CHECK(!(value_path(settings, STR("db.host"), '.')->flags & VALUE_SECRET));
    CHECK(value_path(settings, STR("keys"), '.')->flags & VALUE_SECRET);
    CHECK(value_path(settings, STR("keys.0"), '.')->flags & VALUE_SECRET);
    CHECK(value_path(settings, STR("keys.1.two"), '.')->flags & VALUE_SECRET);
}

TEST(a_file_that_is_too_large_is_an_error_that_names_the_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    const char *root = test_folder();
    struct settings_options options = { .folder = root, .subject = { .id = STR("web1") } };
    const struct value *settings;

    buf_fill(&text, '#', SETTINGS_FILE_MAX + 1);
    golden_put(root, STR("top.zy"), STR("base: {'*': [a]}\n"));
    golden_put(root, STR("a.zy"), buf_view(&text));
    CHECK_INT(settings_load(&arena, &options, &settings, &diags), -1);
    CHECK_HAS(diags.list.p[0].text, "4194304");
}
