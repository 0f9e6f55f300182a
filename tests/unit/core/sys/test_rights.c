#include "test.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "core/sys/rights.h"

#define STRANGER 54321
#define SHARED   54322

static struct arena arena = ARENA_INIT;
static struct err err;

static bool is_root(void)
{
    if (geteuid() == 0)
        return true;
    print_message("skipped: becoming another user needs root\n");
    return false;
}

/* A file of root's in a folder that everybody may search. */
static const char *make_file(mode_t mode, gid_t gid)
{
    const char *path = arena_printf(&arena, "%s/file", test_folder());

    CHECK(chmod(test_folder(), 0711) == 0);
    CHECK_INT(fs_write(path, STR("secret"), mode, &err), 0);
    CHECK(chown(path, 0, gid) == 0);
    CHECK(chmod(path, mode) == 0);
    return path;
}

TEST(a_file_is_read_with_the_rights_of_another_user)
{
    struct rights rights;
    const char *path;
    struct str text = { NULL, 0 };
    int fd = -1;

    if (!is_root())
        return;
    path = make_file(0600, 0);
    CHECK_INT(rights_load(&arena, STRANGER, STRANGER, &rights, &err), 0);
    CHECK_INT(rights_read(&rights, &arena, path, 100, &text, &err), -1);
    CHECK(text.p == NULL);
    CHECK_HAS(err.text, "as user 54321");
    CHECK_HAS(err.text, path);
    CHECK_HAS(err.text, "Permission denied");
    CHECK_INT(rights_open(&rights, path, &fd, &err), -1);
    CHECK_INT(fd, -1);
    CHECK_INT(fs_read(&arena, path, 100, &text, &err), 0); /* we are ourselves again */
    CHECK(str_is(text, "secret"));
}

TEST(a_group_opens_its_files_and_our_groups_do_not)
{
    const gid_t ours[] = { SHARED };
    gid_t after[4];
    struct rights rights;
    const char *path;
    struct str text;

    if (!is_root())
        return;
    path = make_file(0640, SHARED);
    CHECK(setgroups(1, ours) == 0);
    CHECK_INT(rights_load(&arena, STRANGER, SHARED, &rights, &err), 0);
    CHECK(rights_has_group(&rights, SHARED) && !rights_has_group(&rights, 0));
    CHECK_INT(rights_read(&rights, &arena, path, 100, &text, &err), 0);
    CHECK_INT(rights_load(&arena, STRANGER, STRANGER, &rights, &err), 0);
    CHECK_INT(rights_read(&rights, &arena, path, 100, &text, &err), -1);
    CHECK_INT(getgroups(4, after), 1);
    CHECK_INT(after[0], SHARED);
}

TEST(a_folder_without_search_permission_hides_its_content)
{
    const char *inside = arena_printf(&arena, "%s/file", test_folder());
    struct rights rights;
    struct fs_info info;

    if (!is_root())
        return;
    (void)make_file(0644, 0);
    CHECK(chmod(test_folder(), 0700) == 0);
    CHECK_INT(rights_load(&arena, STRANGER, STRANGER, &rights, &err), 0);
    CHECK_INT(rights_stat(&rights, inside, &info, &err), -1);
    CHECK_INT(rights_stat(&rights, arena_printf(&arena, "%s/none", test_folder()), &info, &err),
              -1);
    CHECK_HAS(err.text, "Permission denied");
}

TEST(own_rights_need_not_be_taken)
{
    const char *path = arena_printf(&arena, "%s/own", test_folder());
    struct rights_held held;
    struct rights rights, copy;
    struct str text;

    CHECK_INT(rights_load(&arena, geteuid(), getegid(), &rights, &err), 0);
    CHECK(rights.own);
    copy = rights_copy(&arena, &rights);
    CHECK_INT(copy.group_count, rights.group_count);
    CHECK_INT(rights_take(&copy, &held, &err), 0);
    CHECK(!held.active);
    rights_drop(&held);
    CHECK_INT(fs_write(path, STR("x"), 0600, &err), 0);
    CHECK_INT(rights_read(&rights, &arena, path, 10, &text, &err), 0);
    CHECK(str_is(text, "x"));
}
