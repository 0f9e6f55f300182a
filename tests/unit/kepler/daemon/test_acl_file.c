#include "kepler/daemon/acl_file.h"

#include <stdio.h>

#include "kepler/access/acl.h"
#include "kepler/access/right.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/sys/fs.h"
#include "test.h"

TEST(rules_survive_a_round_trip_and_removal_deletes_the_file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const struct value code = value_text("return caller.uid > 0"), lua = value_text("x = 1");
    struct acl acl = { .lua = &lua };
    const struct acl *got;
    uint64_t sum = 7, other;
    struct err err;

    CHECK_INT(acl_file_load(&arena, folder, &got, &sum, &err), 0);
    CHECK(!got && sum == 0);
    VEC_PUSH_IN(&arena, &acl.users.list,
                ((struct acl_rule){ .who = "bob", .rights = RIGHT_ALL, .authorize = &code }));
    VEC_PUSH_IN(&arena, &acl.groups.list,
                ((struct acl_rule){ .who = "50",
                                    .rights = RIGHT_BIT(RIGHT_MONITOR_SEARCH_SQL),
                                    .authorize = NULL }));
    CHECK_INT(acl_file_save(folder, &acl, &err), 0);
    CHECK_INT(acl_file_load(&arena, folder, &got, &sum, &err), 0);
    CHECK_INT(got->users.list.n, 1);
    CHECK_STR(got->users.list.p[0].who, "bob");
    CHECK(got->users.list.p[0].rights == RIGHT_ALL);
    CHECK_STR(got->users.list.p[0].authorize->s.p, code.s.p);
    CHECK_INT(got->groups.list.p[0].rights, RIGHT_BIT(RIGHT_MONITOR_SEARCH_SQL));
    CHECK(!got->groups.list.p[0].authorize);
    CHECK_STR(got->lua->s.p, "x = 1");
    acl.users.list.p[0].rights = 0;
    CHECK_INT(acl_file_save(folder, &acl, &err), 0);
    CHECK_INT(acl_file_load(&arena, folder, &got, &other, &err), 0);
    CHECK(other != sum && got->users.list.p[0].rights == 0);
    CHECK_INT(acl_file_save(folder, NULL, &err), 0);
    CHECK_INT(acl_file_load(&arena, folder, &got, &sum, &err), 0);
    CHECK(!got);
}

TEST(a_damaged_file_is_an_error_and_grants_nothing)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *folder = test_folder();
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP } };
    const struct acl *got = NULL;
    uint64_t sum;
    struct err err;

    CHECK_INT(fs_replace(arena_printf(&arena, "%s/" ACL_FILE, folder),
                         STR("{\"users\": [{\"who\": 7}]}"), &how, &err),
              0);
    CHECK_INT(acl_file_load(&arena, folder, &got, &sum, &err), -1);
    CHECK(!got);
    CHECK_HAS(err.text, ACL_FILE);
}
