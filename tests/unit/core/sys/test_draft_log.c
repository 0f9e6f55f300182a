#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/draft.h"
#include "core/sys/draft_log.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"

#define READ_MAX 100000

static struct arena arena = ARENA_INIT;
static struct err err;

static const char *in_folder(const char *name)
{
    return path_join(&arena, test_folder(), name);
}

static bool is_there(const char *name)
{
    struct fs_info info;

    CHECK_INT(fs_lstat(in_folder(name), &info, &err), 0);
    return info.kind != FS_NONE;
}

static size_t count_names(const char *name)
{
    struct fs_names names;

    CHECK_INT(fs_list(&arena, in_folder(name), &names, &err), 0);
    return names.list.n;
}

/* A process that makes drafts in `work`, says what they are called, and is killed. */
static void leave_drafts(bool folder)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct draft_log *log = draft_log_open(in_folder("log"));
        struct site site = SITE_INIT, stage = SITE_INIT;
        char name[FS_TEMP_NAME_SIZE];
        struct draft draft;

        CHECK_INT(site_walk(&site, in_folder("work/file"), 0, &err), 0);
        site.log = log;
        if (folder) {
            CHECK_INT(site_draft_name(&site, name, &err), 0);
            CHECK_INT(site_walk(&stage, path_join(&arena, in_folder("work"), name), 0, &err), 0);
            stage.log = log;
            CHECK_INT(draft_make_folder(&stage, &err), 0);
            CHECK_INT(fs_mkdirs(path_join(&arena, stage.path, "a/b"), 0755, &err), 0);
            CHECK_INT(fs_write(path_join(&arena, stage.path, "a/f"), STR("x"), 0400, &err), 0);
        } else {
            CHECK_INT(draft_open_at(&draft, &site, NULL, &err), 0);
            CHECK_INT(draft_add(&draft, STR("half"), &err), 0);
        }
        (void)kill(getpid(), SIGKILL);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static const char *find_draft(void)
{
    struct fs_names names;

    CHECK_INT(fs_list(&arena, in_folder("work"), &names, &err), 0);
    VEC_EACH (&names.list, name)
        if (fs_is_temp_name(*name) && (*name)[8] != 'f')
            return path_join(&arena, "work", *name);
    return NULL;
}

static const char *leave_draft(bool folder)
{
    CHECK_INT(fs_mkdirs(in_folder("work"), 0755, &err), 0);
    do /* a planted name begins with f */
        leave_drafts(folder);
    while (!find_draft());
    return find_draft();
}

static void sweep(void)
{
    draft_log_close(draft_log_open(in_folder("log")));
}

TEST(drafts_of_a_killed_process_are_removed_by_the_next_one_and_nothing_else)
{
    CHECK_INT(fs_mkdirs(in_folder("work/.zester-ffffffffffffffff"), 0755, &err), 0);
    CHECK_INT(fs_write(in_folder("work/.zester-f123456789abcdef"), STR("mine"), 0644, &err), 0);
    (void)leave_draft(false);
    (void)leave_draft(true);
    CHECK(is_there("log"));
    sweep();
    CHECK_INT(count_names("work"), 2);
    CHECK(!is_there("log"));
}

TEST(a_log_whose_drafts_are_all_gone_leaves_nothing)
{
    AUTO_SITE struct site site = SITE_INIT;
    struct draft_log *log = draft_log_open(in_folder("log"));
    struct draft draft;

    CHECK(!is_there("log"));
    CHECK_INT(site_walk(&site, in_folder("file"), 0, &err), 0);
    site.log = log;
    CHECK_INT(draft_open_at(&draft, &site, NULL, &err), 0);
    CHECK(is_there("log"));
    CHECK_INT(draft_commit(&draft, &err), 0);
    draft_done(&draft);
    draft_log_close(log);
    CHECK_INT(count_names("."), 1);
}

TEST(a_link_in_place_of_a_draft_is_removed_and_not_its_target)
{
    const char *draft = leave_draft(false);

    CHECK_INT(fs_write(in_folder("victim"), STR("mine"), 0644, &err), 0);
    CHECK_INT(unlink(in_folder(draft)), 0);
    CHECK_INT(symlink(in_folder("victim"), in_folder(draft)), 0);
    sweep();
    CHECK(is_there("victim") && !is_there(draft));
}

TEST(a_folder_in_place_of_a_draft_keeps_its_content)
{
    for (int folder = 0; folder < 2; folder++) {
        const char *draft = leave_draft(folder == 1);

        CHECK_INT(rename(in_folder(draft), in_folder("aside")), 0);
        CHECK_INT(fs_mkdirs(path_join(&arena, in_folder(draft), "precious"), 0755, &err), 0);
        sweep();
        CHECK(is_there(path_join(&arena, draft, "precious")));
        CHECK_INT(rename(in_folder(draft), in_folder(folder ? "second" : "first")), 0);
        CHECK(is_there("aside"));
        CHECK_INT(rename(in_folder("aside"), in_folder(folder ? "b" : "a")), 0);
    }
}

TEST(a_name_in_another_folder_of_the_same_path_is_left)
{
    const char *draft = leave_draft(false);

    CHECK_INT(rename(in_folder("work"), in_folder("moved")), 0);
    CHECK_INT(fs_mkdirs(in_folder("work"), 0755, &err), 0);
    CHECK_INT(fs_write(in_folder(draft), STR("mine"), 0644, &err), 0);
    sweep();
    CHECK(is_there(draft));
}

TEST(a_log_that_a_crash_has_damaged_is_read_as_far_as_it_makes_sense)
{
    const char *draft = leave_draft(false);
    struct str text;

    CHECK_INT(fs_read(&arena, in_folder("log"), READ_MAX, &text, &err), 0);
    CHECK_INT(fs_replace(in_folder("log"),
                         str_from(arena_printf(&arena, "no record %.*s", STR_ARG(text))), NULL,
                         &err),
              0);
    sweep();
    CHECK(is_there(draft) && !is_there("log"));
}
