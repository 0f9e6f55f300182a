#include "test.h"

#include "core/base/err.h"
#include "states/state/module.h"

/* A table of our own, so that this test needs no module of the product. */
static const struct module file_managed = { .name = "file.managed" };
static const struct module file_symlink = { .name = "file.symlink" };
static const struct module pkg_installed = { .name = "pkg.installed" };

const struct module *const module_table[] = { &file_managed, &file_symlink, &pkg_installed, NULL };
const size_t module_count = 3;

TEST(every_module_of_the_table_is_found_by_its_name)
{
    for (size_t i = 0; i < module_count; i++)
        CHECK(module_find(str_from(module_table[i]->name)) == module_table[i]);
}

TEST(an_unknown_module_name_finds_nothing)
{
    CHECK(!module_find(STR("")));
    CHECK(!module_find(STR("a")));
    CHECK(!module_find(STR("file")));
    CHECK(!module_find(STR("file.managed2")));
    CHECK(!module_find(STR("zfs.present")));
}

TEST(a_mistyped_module_gets_the_nearest_name)
{
    CHECK_STR(module_suggest(STR("file.manged")), "file.managed");
    CHECK_STR(module_suggest(STR("pkg.instaled")), "pkg.installed");
    CHECK(!module_suggest(STR("entirely.different")));
}
