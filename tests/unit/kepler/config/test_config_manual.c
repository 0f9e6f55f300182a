#include "kepler/config/config_manual.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/params.h"
#include "kepler/config/config.h"
#include "kepler/config/environment.h"
#include "test.h"

#define PAGE_MAX ((size_t)1 << 20)

static void check_loads(const struct config_chapter *chapter)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(PAGE_MAX);
    struct diags diags = DIAGS_INIT(&arena);
    const struct config_source source = { .path = "/srv/app/kepler.yaml",
                                          .text = str_from(chapter->example),
                                          .cli_env = environment_copy(&arena, NULL),
                                          .owner = { 1000, 1000 } };
    const struct config *config;

    if (config_load(&arena, &source, &config, &diags) < 0) {
        diags_print(&diags, &text);
        fail_msg("the example of '%s' does not load:\n%s", chapter->name, buf_text(&text));
    }
    CHECK(config->service_count > 0);
}

TEST(every_example_loads)
{
    size_t examples = 0;

    for (const struct config_chapter *c = config_chapters; c->name; c++)
        if (c->example) {
            check_loads(c);
            examples++;
        }
    CHECK(examples > 0);
}

TEST(every_parameter_table_is_valid)
{
    struct err err = { 0 };

    for (const struct config_chapter *c = config_chapters; c->name; c++)
        if (c->params && params_check(c->params, &err) < 0)
            fail_msg("%s: %s", c->name, err.text);
}

TEST(chapter_names_are_unique)
{
    for (const struct config_chapter *c = config_chapters; c->name; c++)
        for (const struct config_chapter *other = c + 1; other->name; other++)
            CHECK(strcmp(c->name, other->name) != 0);
}

TEST(a_chapter_shows_its_place_keys_and_example)
{
    AUTO_BUF struct buf page = BUF_INIT(PAGE_MAX);

    CHECK(config_manual_print(STR("depends_on"), &page));
    CHECK(strstr(buf_text(&page), "in the file: services.NAME.depends_on\n"));
    CHECK(strstr(buf_text(&page), "\ncondition "));
    CHECK(strstr(buf_text(&page), "service_completed_successfully"));
    CHECK(strstr(buf_text(&page), "\nexample:\n  services:\n"));
}

TEST(a_mistyped_chapter_is_suggested)
{
    AUTO_BUF struct buf page = BUF_INIT(PAGE_MAX);

    CHECK(!config_manual_print(STR("helthcheck"), &page));
    CHECK(page.n == 0);
    CHECK(strcmp(config_manual_suggest(STR("helthcheck")), "healthcheck") == 0);
}

TEST(the_markdown_manual_has_every_chapter)
{
    AUTO_BUF struct buf page = BUF_INIT(PAGE_MAX);

    config_manual_print_markdown(&page);
    for (const struct config_chapter *c = config_chapters; c->name; c++) {
        AUTO_BUF struct buf heading = BUF_INIT(200);

        buf_printf(&heading, "\n## %s\n", c->name);
        CHECK(strstr(buf_text(&page), buf_text(&heading)));
    }
}
