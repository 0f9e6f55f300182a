#include "fleet/master/files/tree_canary.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fleet/bus/tree_fetch.h"
#include "fleet/master/files/tree_keys.h"
#include "fleet/master/files/tree_set.h"
#include "test.h"

static void add_file(struct arena *arena, struct tree_set *set, const char *key, const char *path,
                     const char *text)
{
    struct tree_set_file file = { .key = key, .path = path, .bytes = str_from(text) };

    sha256_hex(text, strlen(text), file.sha256);
    VEC_PUSH_IN(arena, &set->files, file);
}

TEST(only_changed_files_have_canary_keys)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree_keys keys = { .map = MAP_INIT };
    struct tree_set set = { 0 }, made;

    tree_keys_put(&keys, STR("same.zy"), STR("same"), 1);
    tree_keys_put(&keys, STR("changed.zy"), STR("old"), 2);
    tree_keys_put(&keys, STR("removed.zy"), STR("removed"), 3);
    add_file(&arena, &set, "same.zy", "", "same");
    add_file(&arena, &set, "changed.zy", "", "new");
    add_file(&arena, &set, "=6120", "a ", "odd");
    tree_canary_make(&arena, &set, &keys, &made);
    CHECK_INT(made.files.n, 3);
    CHECK_STR(made.files.p[0].key, "same.zy");
    CHECK_STR(made.files.p[0].path, "");
    CHECK(tree_canary_is_file(str_from(made.files.p[1].key)));
    CHECK_STR(made.files.p[1].path, "changed.zy");
    CHECK(tree_canary_is_file(str_from(made.files.p[2].key)));
    CHECK_STR(made.files.p[2].path, "a ");
    CHECK_STR(set.files.p[1].key, "changed.zy");
    tree_keys_done(&keys);
}

TEST(a_canary_manifest_has_its_revision_and_the_path_of_each_file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree_keys keys = { .map = MAP_INIT };
    struct tree_set set = { 0 }, made;
    struct tree_files files;
    struct str manifest;
    struct err err;

    add_file(&arena, &set, "web.zy", "", "new");
    tree_canary_make(&arena, &set, &keys, &made);
    made.canary = 17;
    CHECK_INT(tree_set_manifest(&arena, &made, false, &manifest, &err), 0);
    CHECK_INT(tree_files_parse(&arena, manifest, &files, &err), 0);
    CHECK_INT(files.revision, 17);
    CHECK_STR(files.p[0].path, "web.zy");
    CHECK_STR(files.p[0].key, made.files.p[0].key);
    CHECK_INT(tree_set_manifest(&arena, &set, false, &manifest, &err), 0);
    CHECK_INT(tree_files_parse(&arena, manifest, &files, &err), 0);
    CHECK_INT(files.revision, 0);
    CHECK_STR(files.p[0].key, "web.zy");
    tree_keys_done(&keys);
}

TEST(canary_keys_never_collide_with_tree_files)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path;

    CHECK(!tree_canary_is_file(str_from(tree_set_key(&arena, "", "_canary.file.x", &path))));
    CHECK_STR(path, "_canary.file.x");
    CHECK(!tree_canary_is_file(STR("_manifest")));
    CHECK(!tree_canary_is_file(STR("_canary")));
}
