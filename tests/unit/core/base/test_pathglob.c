#include "core/base/pathglob.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "test.h"

/* Patterns are taken from /w; several are separated by blanks. */
static const struct {
    const char *patterns, *path;
    bool matches;
} cases[] = {
    { "*.c", "/w/a.c", true },
    { "*.c", "/w/sub/a.c", false },
    { "*.c", "/w/.c", true },
    { "**/*.c", "/w/a.c", true },
    { "**/*.c", "/w/x/y/z/a.c", true },
    { "**/*.c", "/w/a.h", false },
    { "src/**", "/w/src/a", true },
    { "src/**", "/w/src/a/b", true },
    { "src/**", "/w/srcs", false },
    { "src/**/test/*.c", "/w/src/test/a.c", true },
    { "src/**/test/*.c", "/w/src/a/b/test/a.c", true },
    { "src/**/test/*.c", "/w/src/atest/a.c", false },
    { "a**b", "/w/ax/yb", true },
    { "?.c", "/w/\xc3\xa9.c", true },
    { "?.c", "/w/ab.c", false },
    { "a?b", "/w/a/b", false },
    { "[a-c].c", "/w/b.c", true },
    { "[a-c].c", "/w/d.c", false },
    { "[!a-c].c", "/w/d.c", true },
    { "[!a-c].c", "/w/a.c", false },
    { "a[/]b", "/w/a/b", false },
    { "[]].c", "/w/].c", true },
    { "[.c", "/w/[.c", true },
    { "[a-].c", "/w/-.c", true },
    { "*.{c,h}", "/w/a.h", true },
    { "*.{c,h}", "/w/a.o", false },
    { "{a,b{1,2}}.x", "/w/b2.x", true },
    { "{a,b{1,2}}.x", "/w/b.x", false },
    { "{,x}.c", "/w/.c", true },
    { "{src,lib}/**/*.{c,h}", "/w/lib/x/y.h", true },
    { "**/*.c !**/gen/*", "/w/gen/a.c", false },
    { "**/*.c !**/gen/*", "/w/src/a.c", true },
    { "!**/gen/* **/*.c", "/w/gen/a.c", false },
    { "./a.c", "/w/a.c", true },
    { "../x/./*.c", "/x/a.c", true },
    { "../../../x/*.c", "/x/a.c", true },
    { "src/../lib//*.c", "/w/lib/a.c", true },
    { "{.,../y}/*.c", "/y/a.c", true },
    { "/etc/../opt/*", "/opt/a", true },
    { "*.c !../w/a.c", "/w/a.c", false },
    { "/etc/app/*.conf", "/etc/app/x.conf", true },
    { "/etc/app/*.conf", "/w/etc/app/x.conf", false },
    { "app.conf", "/w/app.conf", true },
    { "app.conf", "/w/appXconf", false },
};

static void add_all(struct pathglob_set *set, const char *folder, struct str patterns)
{
    struct err err;

    while (patterns.p)
        CHECK(pathglob_add(set, folder, str_cut(&patterns, ' '), &err) == 0);
}

TEST(patterns_match_paths)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct pathglob_set set = { .arena = &arena };

        add_all(&set, "/w", str_from(cases[i].patterns));
        if (pathglob_match(&set, str_from(cases[i].path)) != cases[i].matches)
            (void)fprintf(stderr, "%s on %s\n", cases[i].patterns, cases[i].path);
        CHECK(pathglob_match(&set, str_from(cases[i].path)) == cases[i].matches);
    }
}

static const struct {
    const char *folder, *pattern, *root;
} roots[] = {
    { "/w", "*.c", "/w" },
    { "/w", "src/*.c", "/w/src" },
    { "/w/a", "../b/./*.c", "/w/b" },
    { "/w", "../*.c", "/" },
    { "/w/", "src/sub/**", "/w/src/sub" },
    { "/w", "src/a*/x", "/w/src" },
    { "/w", "app.conf", "/w" },
    { "/w", "conf/app.conf", "/w/conf" },
    { "/w", "/etc/app/*.conf", "/etc/app" },
    { "/w", "/*.conf", "/" },
    { "/", "a", "/" },
    { "/w[1]", "*", "/w[1]" },
};

TEST(the_folders_to_watch_are_the_plain_beginnings)
{
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct pathglob_set set = { .arena = &arena };

        add_all(&set, roots[i].folder, str_from(roots[i].pattern));
        CHECK_INT(set.roots.n, 1);
        CHECK_STR(set.roots.p[0], roots[i].root);
    }
}

TEST(a_folder_is_never_a_pattern)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct pathglob_set set = { .arena = &arena };

    add_all(&set, "/w[12]", STR("*"));
    CHECK(pathglob_match(&set, STR("/w[12]/a")));
    CHECK(!pathglob_match(&set, STR("/w1/a")));
}

static void check_error(struct str pattern, const char *text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct pathglob_set set = { .arena = &arena };
    struct err err;

    CHECK(pathglob_add(&set, "/w", pattern, &err) == -1);
    CHECK_HAS(err.text, text);
}

TEST(mistakes_and_limits_are_named)
{
    AUTO_BUF struct buf many = BUF_INIT(100000);

    check_error(STR(""), "watch '': the pattern is empty");
    check_error(STR("!"), "watch '!': the pattern is empty");
    check_error(STR("a{b,c"), "watch 'a{b,c': unclosed brace");
    check_error(STR("{1,2,3,4}{1,2,3,4}{1,2,3,4}{1,2,3,4}{1,2}"),
                "more than the limit of 256 patterns");
    buf_fill(&many, 'a', PATHGLOB_LENGTH_MAX + 1);
    check_error(buf_view(&many), "longer than 4096 bytes");
}

TEST(a_wicked_pattern_takes_no_long_time)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct pathglob_set set = { .arena = &arena };
    AUTO_BUF struct buf pattern = BUF_INIT(10000), path = BUF_INIT(10000);

    for (int i = 0; i < 500; i++)
        buf_add_text(&pattern, "a*");
    buf_add_text(&path, "/w/");
    buf_fill(&path, 'a', 4000);
    buf_add_char(&path, 'b');
    add_all(&set, "/w", buf_view(&pattern));
    CHECK(pathglob_match(&set, buf_view(&path)));
    buf_add_char(&pattern, 'c');
    set = (struct pathglob_set){ .arena = &arena };
    add_all(&set, "/w", buf_view(&pattern));
    CHECK(!pathglob_match(&set, buf_view(&path)));
}
