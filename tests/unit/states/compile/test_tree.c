#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/compile/tree.h"
#include "core/sys/fs.h"

static const char *in(struct arena *arena, const char *folder, const char *name)
{
    return arena_printf(arena, "%s/%s", folder, name);
}

static void put(const char *root, const char *path, const char *text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *whole = in(&arena, root, path);
    char *folder = arena_strdup(&arena, whole);
    struct err err;

    *strrchr(folder, '/') = '\0';
    CHECK(fs_mkdirs(folder, 0755, &err) == 0);
    CHECK(fs_replace(whole, str_from(text), NULL, &err) == 0);
}

/* The path of a reference, "nothing", or the error. */
static const char *find(struct arena *arena, const struct tree *tree, const char *ref)
{
    struct err *err = ARENA_NEW(arena, struct err);
    const char *path;

    if (tree_find(tree, arena, str_from(ref), &path, err) < 0)
        return err->text;
    return path ? path : "nothing";
}

static const char *read_file(struct arena *arena, const struct tree *tree, const char *source)
{
    struct err *err = ARENA_NEW(arena, struct err);
    struct str text;

    if (tree_read(tree, arena, source, &text, err) < 0)
        return err->text;
    return text.p ? text.p : "nothing";
}

TEST(a_reference_finds_the_first_existing_file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder();
    struct tree *tree;
    struct err err;

    put(root, "a.zy", "");
    put(root, "a/init.zy", "");
    put(root, "b/init.zy", "");
    put(root, "b.sls", "");
    put(root, "c/d.sls", "");
    put(root, "e/f/init.sls", "");
    CHECK(fs_mkdirs(in(&arena, root, "g.zy"), 0755, &err) == 0);
    tree = tree_new(root, &err);
    CHECK_STR(find(&arena, tree, "a"), "a.zy");
    CHECK_STR(find(&arena, tree, "a.init"), "a/init.zy");
    CHECK_STR(find(&arena, tree, "b"), "b/init.zy");
    CHECK_STR(find(&arena, tree, "c.d"), "c/d.sls");
    CHECK_STR(find(&arena, tree, "e.f"), "e/f/init.sls");
    CHECK_STR(find(&arena, tree, "e"), "nothing");
    CHECK_STR(find(&arena, tree, "g"), "nothing");
    CHECK_STR(find(&arena, tree, ""), "'' is not a valid reference: empty name");
    CHECK_STR(find(&arena, tree, "a."), "'a.' is not a valid reference: empty name");
    CHECK_HAS(find(&arena, tree, "..a"), "expected names separated by dots");
    CHECK_HAS(find(&arena, tree, "a/b"), "expected names separated by dots");
    tree_free(tree);
}

TEST(sources_are_read_by_path_and_by_scheme)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder(), *path;
    struct tree *tree;
    struct err err;

    put(root, "files/motd", "hello");
    tree = tree_new(root, &err);
    CHECK_STR(read_file(&arena, tree, "files/motd"), "hello");
    CHECK_STR(read_file(&arena, tree, "./files//motd"), "hello");
    CHECK_STR(read_file(&arena, tree, "salt://files/motd"), "hello");
    CHECK_STR(read_file(&arena, tree, "zester://files/motd"), "hello");
    CHECK_STR(read_file(&arena, tree, "salt://files/motd?saltenv=prod"), "hello");
    CHECK_STR(read_file(&arena, tree, "files/none"), "nothing");
    CHECK_STR(read_file(&arena, tree, "files/motd/x"), "nothing");
    CHECK(tree_locate(tree, &arena, "salt://files/motd", &path, &err) == 0);
    CHECK_STR(path, in(&arena, tree_root(tree), "files/motd"));
    CHECK(tree_is_source("a/b") && tree_is_source("salt://a") && tree_is_source("zester://a"));
    CHECK(!tree_is_source("/a") && !tree_is_source("http://a") && !tree_is_source("https://a"));
    tree_free(tree);
}

TEST(nothing_outside_the_tree_is_read)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *top = test_folder(), *root = in(&arena, top, "states");
    struct tree_names names;
    struct tree *tree;
    struct err err;

    put(top, "secret", "secret");
    put(root, "inside", "inside");
    CHECK(symlink("../secret", in(&arena, root, "out")) == 0);
    CHECK(symlink("inside", in(&arena, root, "in")) == 0);
    CHECK(symlink("/etc", in(&arena, root, "etc")) == 0);
    CHECK(symlink("nowhere", in(&arena, root, "gone")) == 0);
    tree = tree_new(root, &err);
    CHECK_STR(read_file(&arena, tree, "in"), "inside");
    CHECK_STR(read_file(&arena, tree, "gone"), "nothing");
    CHECK_HAS(read_file(&arena, tree, "../secret"), "is outside the state tree");
    CHECK_HAS(read_file(&arena, tree, "salt://../secret"), "is outside the state tree");
    CHECK_HAS(read_file(&arena, tree, "/etc/passwd"), "is outside the state tree");
    CHECK_HAS(read_file(&arena, tree, "out"), "is a link that leads outside the state tree");
    CHECK_HAS(read_file(&arena, tree, "etc/passwd"), "is a link that leads out");
    CHECK(tree_list(tree, &arena, ".", &names, &err) == -1);
    CHECK_HAS(err.text, "is a link that leads outside the state tree");
    tree_free(tree);
}

TEST(a_tree_shows_one_version_of_each_file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder();
    struct tree *tree, *news;
    struct err err;

    put(root, "a", "old");
    tree = tree_new(root, &err);
    CHECK_STR(read_file(&arena, tree, "a"), "old");
    put(root, "a", "new");
    CHECK_STR(read_file(&arena, tree, "a"), "old");
    news = tree_new(root, &err);
    CHECK_STR(read_file(&arena, news, "a"), "new");
    tree_free(news);
    tree_free(tree);
}

TEST(texts_of_any_size_are_read_whole_and_outlive_the_reader)
{
    static const size_t sizes[] = {
        0, 1, 4096, 4097, 300000, TREE_CACHED_MAX, TREE_CACHED_MAX + 1
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder();
    struct tree *tree;
    struct err err;

    tree = tree_new(root, &err);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const char *name = arena_printf(&arena, "%zu", sizes[i]);
        char *text = arena_alloc(&arena, sizes[i] + 1);
        struct str got[2];

        memset(text, 'x', sizes[i]);
        text[sizes[i]] = '\0';
        put(root, name, text);
        for (size_t k = 0; k < ARRAY_LEN(got); k++) {
            struct arena asker = ARENA_INIT;

            CHECK_INT(tree_read(tree, k == 0 ? &asker : &arena, name, &got[k], &err), 0);
            CHECK(got[k].p && str_eq(got[k], (struct str){ text, sizes[i] }));
            arena_done(&asker);
        }
        if (sizes[i] <= TREE_CACHED_MAX)
            CHECK(got[0].p == got[1].p && str_eq(got[0], (struct str){ text, sizes[i] }));
    }
    tree_free(tree);
}

TEST(folders_are_listed_recursively)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf all = BUF_INIT(BUF_NO_LIMIT);
    const char *root = test_folder();
    struct tree_names names;
    struct tree *tree;
    struct err err;

    put(root, "web/b", "");
    put(root, "web/a/c", "");
    put(root, "web/.hidden", "");
    put(root, "other", "");
    CHECK(symlink("../other", in(&arena, root, "web/link")) == 0);
    tree = tree_new(root, &err);
    CHECK(tree_list(tree, &arena, "salt://web", &names, &err) == 0);
    VEC_EACH (&names.list, name)
        buf_printf(&all, "%s ", *name);
    CHECK_STR(buf_text(&all), ".hidden a/c b link ");
    CHECK(tree_list(tree, &arena, "nope", &names, &err) == -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK(tree_list(tree, &arena, "other", &names, &err) == -1);
    CHECK_STR(err.text, "'other' is a file, not a folder");
    tree_free(tree);
}

TEST(circular_folders_end_at_the_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder();
    struct tree_names names;
    struct tree *tree;
    struct err err;

    put(root, "a/b", "");
    CHECK(symlink(".", in(&arena, root, "a/again")) == 0);
    tree = tree_new(root, &err);
    CHECK(tree_list(tree, &arena, "a", &names, &err) == -1);
    CHECK_HAS(err.text, "folders exceed the limit of 64 levels");
    tree_free(tree);
}

TEST(a_missing_reference_gets_the_nearest_name)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree *tree = tree_new_in_memory();

    tree_add(tree, "web/init.zy", STR(""));
    tree_add(tree, "web/config.sls", STR(""));
    tree_add(tree, "web/map.jinja", STR(""));
    CHECK_STR(tree_suggest(tree, &arena, STR("wev")), "web");
    CHECK_STR(tree_suggest(tree, &arena, STR("web.confg")), "web.config");
    CHECK(!tree_suggest(tree, &arena, STR("something.else")));
    tree_free(tree);
}

TEST(a_tree_needs_a_folder)
{
    const char *root = test_folder();
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    put(root, "file", "");
    CHECK(!tree_new(in(&arena, root, "none"), &err));
    CHECK_HAS(err.text, "No such file");
    CHECK(!tree_new(in(&arena, root, "file"), &err));
    CHECK_HAS(err.text, "is not a folder");
    tree_free(NULL);
}
