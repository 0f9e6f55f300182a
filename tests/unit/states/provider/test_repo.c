#include "test.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/provider/package/manager.h"
#include "states/provider/package/repo_line.h"
#include "states/provider/package/repo_section.h"
#include "states/provider/package/repo_stanza.h"

static struct repo_line line_of(const char *text)
{
    struct repo_line line = { 0 };
    struct err err = { .text = "" };

    CHECK_INT(repo_line_parse(str_from(text), &line, &err), 0);
    CHECK_STR(err.text, "");
    return line;
}

static void check_set(const char *text, const char *line, const char *want)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT), again = BUF_INIT(BUF_NO_LIMIT);
    const struct repo_line parsed = line_of(line);
    struct err err = { .text = "" };

    CHECK_INT(repo_line_set(str_from(text), &parsed, "made here", &out, &err), 0);
    CHECK_STR(buf_text(&out), want);
    CHECK_INT(repo_line_set(buf_view(&out), &parsed, "made here", &again, &err), 0);
    CHECK_STR(buf_text(&again), want);
}

TEST(a_source_is_parsed_and_printed)
{
    static const char text[] =
        "deb [arch=amd64 signed-by=/k.gpg] https://x.example/debian bookworm main contrib";
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct repo_line line = line_of(text);

    CHECK(str_is(line.options, "arch=amd64 signed-by=/k.gpg"));
    CHECK(str_is(line.uri, "https://x.example/debian") && str_is(line.suite, "bookworm"));
    CHECK(str_is(line.components, "main contrib") && !line.disabled);
    repo_line_print(&line, &out);
    CHECK_STR(buf_text(&out), text);
    CHECK(line_of("#  deb-src x ./").disabled);
}

TEST(a_new_file_begins_with_a_comment)
{
    check_set("", "deb http://x ./", "# made here\ndeb http://x ./\n");
}

TEST(a_line_replaces_the_line_of_the_same_source)
{
    check_set("deb http://x/ ./\n", "deb [trusted=yes] http://x ./",
              "deb [trusted=yes] http://x ./\n");
    check_set("# mine\n# deb http://x s old\ndeb http://y s main\ndeb http://x s twice",
              "deb http://x s main", "# mine\ndeb http://x s main\ndeb http://y s main\n");
    check_set("deb http://x other main\n", "deb http://x s main",
              "deb http://x other main\ndeb http://x s main\n");
    check_set("deb http://x s main\n", "# deb http://x s main", "# deb http://x s main\n");
}

TEST(a_line_is_removed_and_the_others_stay)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct repo_line line = line_of("deb http://x s");
    size_t count;

    repo_line_remove(STR("# c\ndeb http://x s a\n# deb http://x/ s b\ndeb-src http://x s\n"), &line,
                     &out, &count);
    CHECK_STR(buf_text(&out), "# c\ndeb-src http://x s\n");
    CHECK_INT(count, 2);
    CHECK(repo_line_is_empty(STR("# c\n\n")) && !repo_line_is_empty(buf_view(&out)));
}

TEST(a_missing_part_of_a_pattern_matches_any)
{
    static const char text[] = "# c\ndeb http://x s\ndeb-src http://x t\n# deb http://y s\n";
    static const struct {
        const char *uri, *suite;
        size_t count;
    } cases[] = { { "", "", 3 }, { "http://x/", "", 2 }, { "http://x", "t", 1 }, { "", "s", 2 } };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
        const struct repo_line pattern = { .uri = str_from(cases[i].uri),
                                           .suite = str_from(cases[i].suite) };
        size_t count;

        repo_line_remove(str_from(text), &pattern, &out, &count);
        CHECK_INT(count, cases[i].count);
    }
}

TEST(a_line_cannot_contain_a_second_one)
{
    static const struct repo_line bad[] = {
        { .type = { "deb", 3 },
          .uri = { "http://x", 8 },
          .suite = { "s", 1 },
          .components = { "m\ndeb e ./", 10 } },
        { .type = { "deb", 3 }, .uri = { "http://x\n", 9 }, .suite = { "s", 1 } },
        { .type = { "deb", 3 }, .uri = { "http://x", 8 }, .suite = { "s t", 3 } },
        { .type = { "deb", 3 },
          .uri = { "http://x", 8 },
          .suite = { "s", 1 },
          .options = { "a] e ./ [", 9 } },
        { .type = { "rpm", 3 }, .uri = { "http://x", 8 }, .suite = { "s", 1 } },
    };
    const struct repo_line good = line_of("deb http://x s");
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_INT(repo_line_set(STR(""), &bad[i], "c", &out, &err), -1);
    CHECK_INT(repo_line_set(STR(""), &good, "c\ndeb e ./", &out, &err), -1);
    CHECK_INT(repo_line_set_plain(STR(""), STR("http://x\nhttp://e"), false, &out, &err), -1);
    CHECK_INT(out.n, 0);
}

TEST(an_invalid_source_is_refused_with_a_reason)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "http://x s", "must begin with 'deb' or 'deb-src'" },
        { "deb [a http://x s", "unclosed options" },
        { "deb http://x", "a URL and a suite" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct repo_line line;
        struct err err;

        CHECK_INT(repo_line_parse(str_from(cases[i].text), &line, &err), -1);
        CHECK_HAS(err.text, cases[i].error);
    }
}

TEST(apk_lines_are_compared_in_full)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT), gone = BUF_INIT(BUF_NO_LIMIT);
    struct err err;
    size_t count;

    CHECK_INT(
        repo_line_set_plain(STR("http://a/main\n#http://b/\n"), STR("http://b"), false, &out, &err),
        0);
    CHECK_STR(buf_text(&out), "http://a/main\nhttp://b\n");
    repo_line_remove_plain(buf_view(&out), STR("http://a/main/"), &gone, &count);
    CHECK_STR(buf_text(&gone), "http://b\n");
    CHECK_INT(count, 1);
}

/* --- sections ---------------------------------------------------------------------------- */

static const struct repo_key keys[] = {
    { "name", "My repo" },
    { "baseurl", "http://x" },
    { "enabled", "1" },
    { "gpgkey", NULL },
};

static void check_section(const char *text, const char *want)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT), again = BUF_INIT(BUF_NO_LIMIT);
    struct err err = { .text = "" };

    CHECK_INT(repo_section_set(str_from(text), STR("mine"), keys, ARRAY_LEN(keys), "=", &out, &err),
              0);
    CHECK_STR(buf_text(&out), want);
    CHECK_INT(
        repo_section_set(buf_view(&out), STR("mine"), keys, ARRAY_LEN(keys), "=", &again, &err), 0);
    CHECK_STR(buf_text(&again), want);
}

TEST(a_new_section_is_appended)
{
    check_section("", "[mine]\nname=My repo\nbaseurl=http://x\nenabled=1\n");
    check_section("[other]\na=1",
                  "[other]\na=1\n\n[mine]\nname=My repo\nbaseurl=http://x\nenabled=1\n");
}

TEST(a_section_keeps_its_other_keys_and_its_neighbours)
{
    check_section("# top\n[mine]\nBaseUrl = http://old\n# "
                  "why\npriority=1\ngpgkey=http://k\n\n[b]\nenabled=0\n",
                  "# top\n[mine]\nbaseurl=http://x\n# why\npriority=1\nname=My "
                  "repo\nenabled=1\n\n[b]\nenabled=0\n");
}

TEST(a_section_is_removed_and_the_others_stay)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    bool there;

    repo_section_remove(STR("[a]\nx=1\n[mine]\ny=2\n\n[b]\nz=3\n"), STR("mine"), &out, &there);
    CHECK(there);
    CHECK_STR(buf_text(&out), "[a]\nx=1\n[b]\nz=3\n");
}

TEST(a_value_cannot_contain_a_second_key)
{
    static const struct repo_key bad[] = {
        { "name", "x\nbaseurl=http://e" },
        { "a=b", "x" },
        { "", "x" },
        { "a\n", "x" },
        { "[b]", "x" },
    };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_INT(repo_section_set(STR(""), STR("mine"), &bad[i], 1, "=", &out, &err), -1);
    CHECK_INT(repo_section_set(STR(""), STR("a]\n[b"), keys, 1, "=", &out, &err), -1);
    CHECK_INT(repo_section_set(STR(""), STR(""), keys, 1, "=", &out, &err), -1);
    CHECK_INT(out.n, 0);
}

/* --- paragraphs ---------------------------------------------------------------------- */

#define DEBIAN                                                                                     \
    "Types: deb deb-src\nURIs: http://deb.example/debian\nSuites: bookworm bookworm-updates\n"     \
    "Components: main\n"

static void check_stanza(const char *text, const char *line, const char *want)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT), again = BUF_INIT(BUF_NO_LIMIT);
    const struct repo_line parsed = line_of(line);
    struct err err = { .text = "" };

    CHECK_INT(repo_stanza_set(str_from(text), &parsed, "made here", &out, &err), 0);
    CHECK_STR(buf_text(&out), want);
    CHECK_INT(repo_stanza_set(buf_view(&out), &parsed, "made here", &again, &err), 0);
    CHECK_STR(buf_text(&again), want);
}

TEST(a_source_is_written_as_a_stanza_and_others_stay)
{
    check_stanza("", "deb [arch=amd64,arm64 signed-by=/k.gpg] http://x s main extra",
                 "# made here\nTypes: deb\nURIs: http://x\nSuites: s\nComponents: main extra\n"
                 "Architectures: amd64 arm64\nSigned-By: /k.gpg\n");
    check_stanza(DEBIAN, "# deb http://x ./",
                 DEBIAN "\nEnabled: no\nTypes: deb\nURIs: http://x\nSuites: ./\n");
    check_stanza("# mine\ntypes: deb\nuris: http://x/\nSuites: s\nComponents: old\nTrusted: yes\n"
                 "X-Note: a\n  b\n\n" DEBIAN,
                 "deb http://x s main",
                 "# mine\nTypes: deb\nURIs: http://x\nSuites: s\nComponents: main\nX-Note: a\n  "
                 "b\n\n" DEBIAN);
}

TEST(a_stanza_for_more_than_the_source_is_left_alone)
{
    check_stanza(DEBIAN, "deb http://deb.example/debian bookworm main",
                 DEBIAN "\nTypes: deb\nURIs: http://deb.example/debian\nSuites: bookworm\n"
                        "Components: main\n");
}

TEST(a_stanza_is_removed_with_the_blank_lines_after_it)
{
    static const char text[] = "Types: deb\nURIs: http://x\nSuites: s\n\n" DEBIAN;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct repo_line line = line_of("deb http://x/ s");
    size_t count;

    repo_stanza_remove(str_from(text), &line, &out, &count);
    CHECK_STR(buf_text(&out), DEBIAN);
    CHECK_INT(count, 1);
}

TEST(an_option_without_a_field_and_a_second_line_are_refused)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct repo_line line = line_of("deb [colour=red] http://x s");
    struct err err = { .text = "" };

    CHECK_INT(repo_stanza_set(STR(""), &line, "c", &out, &err), -1);
    CHECK_STR(err.text, "'colour=red' is not an option of a '.sources' file");
    line = line_of("deb http://x s");
    CHECK_INT(repo_stanza_set(STR(""), &line, "c\nTypes: deb", &out, &err), -1);
    line.components = STR("main\nURIs: http://evil");
    CHECK_INT(repo_stanza_set(STR(""), &line, "c", &out, &err), -1);
}

TEST(no_option_of_a_section_is_forgotten)
{
    static const struct {
        size_t options;
        int result;
    } cases[] = { { 50, 0 }, { 59, -1 } };

    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct package_repo_host host = { .arena = &arena };
        struct param_pair options[64];
        struct package_repo repo = { .name = "x",
                                     .baseurl = "http://x",
                                     .file = "/nowhere/x.repo" };
        struct package_repo_files files;
        struct err err = { .text = "" };

        for (size_t i = 0; i < cases[k].options; i++)
            options[i] = (struct param_pair){ arena_printf(&arena, "o%zu", i), "v" };
        repo.gpgcheck = true;
        repo.options.p = options;
        repo.options.n = cases[k].options;
        CHECK_INT(package_repo_managed(package_manager_called("dnf"), host, &repo, &files, &err),
                  cases[k].result);
        if (cases[k].result == 0)
            CHECK_HAS(files.list.p[0].now.p, "\no49=v\n");
        else
            CHECK_STR(err.text, "more than the limit of 64 keys in a section");
    }
}
