#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/draft.h"
#include "core/sys/cancel.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"

#define READ_MAX 100000
/* Content of the torn-file test: larger than one write reaches disk at once. */
#define TORN_SIZE  ((size_t)1 << 18)
#define TORN_KILLS 40

static struct arena arena = ARENA_INIT;
static struct err err;

static const char *in_folder(const char *name)
{
    return path_join(&arena, test_folder(), name);
}

static const char *content(const char *path)
{
    struct str text;

    CHECK_INT(fs_read(&arena, path, READ_MAX, &text, &err), 0);
    return text.p;
}

static struct fs_info info_of(const char *path)
{
    struct fs_info info;

    CHECK_INT(fs_lstat(path, &info, &err), 0);
    return info;
}

static size_t count_names(const char *path)
{
    struct fs_names names;

    CHECK_INT(fs_list(&arena, path, &names, &err), 0);
    return names.list.n;
}

TEST(a_file_that_is_not_there_reads_as_a_null_view)
{
    struct str text = STR("untouched");

    CHECK_INT(fs_read(&arena, in_folder("none"), READ_MAX, &text, &err), 0);
    CHECK(text.p == NULL);
    CHECK_INT(fs_read(&arena, in_folder("none/below"), READ_MAX, &text, &err), 0);
    CHECK(text.p == NULL);
    CHECK_INT(info_of(in_folder("none")).kind, FS_NONE);
}

TEST(reading_meets_its_limit_and_names_it)
{
    const char *path = in_folder("f");
    struct str text;

    CHECK_INT(fs_write(path, STR("12345"), 0600, &err), 0);
    CHECK_INT(fs_read(&arena, path, 5, &text, &err), 0);
    CHECK_INT(text.n, 5);
    CHECK_INT(fs_read(&arena, path, 4, &text, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(err.text, "larger than the limit of 4 bytes");
    CHECK_INT(fs_read(&arena, test_folder(), 4, &text, &err), -1);
    CHECK_INT(err.errnum, EISDIR);
}

TEST(files_without_a_size_are_read_to_their_end)
{
    struct str text;

    CHECK_INT(fs_read(&arena, "/proc/self/status", READ_MAX, &text, &err), 0);
    CHECK_HAS(text.p, "Uid:");
    CHECK_INT(fs_read(&arena, "/dev/zero", READ_MAX, &text, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
}

TEST(a_new_file_never_replaces_one)
{
    const char *path = in_folder("f");

    CHECK_INT(fs_write(path, STR("one"), 0640, &err), 0);
    CHECK_INT(info_of(path).mode, 0640);
    CHECK_INT(fs_write(path, STR("two"), 0640, &err), -1);
    CHECK_INT(err.errnum, EEXIST);
    CHECK_STR(content(path), "one");
    CHECK_INT(count_names(test_folder()), 1);
}

TEST(a_file_with_the_wanted_content_is_left_alone)
{
    const char *path = in_folder("f");
    ino_t inode;

    CHECK_INT(fs_keep(path, STR("one"), NULL, &err), 0);
    inode = info_of(path).inode;
    CHECK_INT(fs_keep(path, STR("one"), NULL, &err), 0);
    CHECK(info_of(path).inode == inode);
    CHECK_INT(fs_keep(path, STR("on"), NULL, &err), 0);
    CHECK_STR(content(path), "on");
    CHECK_INT(fs_keep(path, STR("once"), NULL, &err), 0);
    CHECK_STR(content(path), "once");
}

TEST(replacing_keeps_mode_owner_and_attributes)
{
    const char *path = in_folder("f");
    char value[8] = "";
    bool has_xattr;

    CHECK_INT(fs_write(path, STR("one"), 0604, &err), 0);
    has_xattr = setxattr(path, "user.color", "blue", 4, 0) == 0;
    if (geteuid() == 0)
        CHECK_INT(chown(path, 1, 2), 0);
    CHECK_INT(fs_replace(path, STR("two"), NULL, &err), 0);
    CHECK_STR(content(path), "two");
    CHECK_INT(info_of(path).mode, 0604);
    if (geteuid() == 0) {
        CHECK_INT(info_of(path).uid, 1);
        CHECK_INT(info_of(path).gid, 2);
    }
    if (has_xattr)
        CHECK_INT(getxattr(path, "user.color", value, sizeof(value)), 4);
    else
        print_message("skipped: no user attributes on this file system\n");
    CHECK_INT(count_names(test_folder()), 1);
}

TEST(replacing_sets_the_given_attributes)
{
    const struct fs_replace_options options = { .attr = { 04711, FS_KEEP, FS_KEEP },
                                                .sync = FS_NO_SYNC };
    const char *path = in_folder("f");

    CHECK_INT(fs_replace(path, STR("x"), NULL, &err), 0);
    CHECK_INT(info_of(path).mode, FS_NEW_MODE);
    CHECK_INT(fs_replace(path, STR("y"), &options, &err), 0);
    CHECK_INT(info_of(path).mode, 04711);
}

TEST(replacing_a_link_or_its_target)
{
    const struct fs_replace_options through = { .attr = FS_ATTR_KEEP, .follow = true };
    const char *file = in_folder("file"), *link = in_folder("link");

    CHECK_INT(fs_write(file, STR("old"), 0600, &err), 0);
    CHECK_INT(symlink("file", link), 0);
    CHECK_INT(fs_replace(link, STR("new"), &through, &err), 0);
    CHECK_INT(info_of(link).kind, FS_LINK);
    CHECK_STR(content(file), "new");
    CHECK_INT(fs_replace(link, STR("own"), NULL, &err), 0);
    CHECK_INT(info_of(link).kind, FS_FILE);
    CHECK_STR(content(file), "new");
    CHECK_INT(symlink("round", in_folder("round")), 0);
    CHECK_INT(fs_replace(in_folder("round"), STR("x"), &through, &err), -1);
    CHECK_INT(err.errnum, ELOOP);
}

TEST(a_folder_is_never_replaced_and_nothing_is_left_behind)
{
    const char *path = in_folder("d");

    CHECK_INT(fs_mkdirs(path, 0755, &err), 0);
    CHECK_INT(fs_replace(path, STR("x"), NULL, &err), -1);
    CHECK_INT(err.errnum, EISDIR);
    CHECK_INT(fs_replace(in_folder("no/where"), STR("x"), NULL, &err), -1);
    CHECK_HAS(err.text, "no/where': No such file or directory");
    CHECK_INT(count_names(test_folder()), 1);
}

TEST(a_draft_that_is_dropped_changes_nothing)
{
    const char *path = in_folder("f");
    struct draft draft;

    CHECK_INT(fs_write(path, STR("old"), 0600, &err), 0);
    CHECK_INT(draft_open(&draft, path, NULL, &err), 0);
    CHECK_INT(draft_add(&draft, STR("half"), &err), 0);
    draft_done(&draft);
    CHECK_STR(content(path), "old");
    CHECK_INT(count_names(test_folder()), 1);
}

TEST(a_copy_has_the_content_and_mode_of_its_source)
{
    const char *from = in_folder("from"), *to = in_folder("to");
    struct str text;

    CHECK_INT(fs_write(from, STR("copy me"), 0750, &err), 0);
    CHECK_INT(fs_copy(from, to, NULL, &err), 0);
    CHECK_STR(content(to), "copy me");
    CHECK_INT(info_of(to).mode, 0750);
    CHECK_INT(fs_copy("/proc/self/status", to, NULL, &err), 0);
    CHECK_INT(fs_read(&arena, to, READ_MAX, &text, &err), 0);
    CHECK_HAS(text.p, "Uid:");
    CHECK_INT(fs_copy(in_folder("none"), to, NULL, &err), -1);
    CHECK_INT(err.errnum, ENOENT);
}

/* As core/sys/site.h makes it, by a path. */
static int make_link(const char *target, const char *path)
{
    AUTO_SITE struct site site = SITE_INIT;

    return site_walk(&site, path, SITE_OWN, &err) < 0 ? -1 : site_symlink(&site, target, &err);
}

TEST(links_are_replaced_in_one_step)
{
    const char *path = in_folder("link");
    const char *target;

    CHECK_INT(make_link("a", path), 0);
    CHECK_INT(make_link("b", path), 0);
    CHECK_INT(fs_readlink(&arena, path, &target, &err), 0);
    CHECK_STR(target, "b");
    CHECK_INT(fs_readlink(&arena, in_folder("none"), &target, &err), 0);
    CHECK(target == NULL);
    CHECK_INT(fs_mkdirs(in_folder("d"), 0755, &err), 0);
    CHECK_INT(make_link("a", in_folder("d")), -1);
    CHECK_INT(count_names(test_folder()), 2);
}

TEST(folders_are_made_with_those_above)
{
    (void)umask(077);
    CHECK_INT(fs_mkdirs(in_folder("a//b/c/"), 02775, &err), 0);
    CHECK_INT(info_of(in_folder("a")).mode, 0755);
    CHECK_INT(info_of(in_folder("a/b/c")).mode, 02775);
    CHECK_INT(fs_mkdirs(in_folder("a/b"), 0700, &err), 0);
    CHECK_INT(info_of(in_folder("a/b")).mode, 0755);
    CHECK_INT(fs_write(in_folder("f"), STR(""), 0600, &err), 0);
    CHECK_INT(fs_mkdirs(in_folder("f/x"), 0700, &err), -1);
    CHECK_INT(err.errnum, ENOTDIR);
}

TEST(names_come_sorted_and_times_can_be_set)
{
    struct fs_names names;

    CHECK_INT(fs_write(in_folder("b"), STR(""), 0600, &err), 0);
    CHECK_INT(fs_write(in_folder("a"), STR(""), 0600, &err), 0);
    CHECK_INT(fs_write(in_folder("C"), STR(""), 0600, &err), 0);
    CHECK_INT(fs_list(&arena, test_folder(), &names, &err), 0);
    CHECK_INT(names.list.n, 3);
    CHECK_STR(names.list.p[0], "C");
    CHECK_STR(names.list.p[2], "b");
    CHECK_INT(fs_utimens(in_folder("a"), 5, 1234567890123456789, &err), 0);
    CHECK_INT(info_of(in_folder("a")).mtime, 1234567890123456789);
}

/* --- trees ------------------------------------------------------------------------------ */

static int note(void *self, enum tree_step step, const struct tree_entry *entry, struct err *e)
{
    static const char marks[] = { [TREE_ENTER] = '>', [TREE_ENTRY] = '-', [TREE_LEAVE] = '<' };

    (void)e;
    buf_printf(self, "%c%s ", marks[step], entry->path + strlen(test_folder()));
    return 0;
}

TEST(a_walk_visits_all_in_order_and_follows_no_link)
{
    AUTO_BUF struct buf seen = BUF_INIT(READ_MAX);

    CHECK_INT(fs_mkdirs(in_folder("d/e"), 0755, &err), 0);
    CHECK_INT(fs_write(in_folder("d/e/f"), STR(""), 0600, &err), 0);
    CHECK_INT(symlink("/", in_folder("d/link")), 0);
    CHECK_INT(fs_write(in_folder("a"), STR(""), 0600, &err), 0);
    CHECK_INT(tree_walk(test_folder(), note, &seen, &err), 0);
    CHECK_STR(buf_text(&seen), "> -/a >/d >/d/e -/d/e/f </d/e -/d/link </d < ");
}

TEST(removing_a_tree_keeps_the_targets_of_its_links)
{
    CHECK_INT(fs_mkdirs(in_folder("keep/this"), 0755, &err), 0);
    CHECK_INT(fs_mkdirs(in_folder("go/deep/er"), 0755, &err), 0);
    CHECK_INT(fs_write(in_folder("go/deep/f"), STR(""), 0400, &err), 0);
    CHECK_INT(symlink(in_folder("keep"), in_folder("go/link")), 0);
    CHECK_INT(tree_remove(in_folder("go"), &err), 0);
    CHECK_INT(info_of(in_folder("go")).kind, FS_NONE);
    CHECK_INT(info_of(in_folder("keep/this")).kind, FS_FOLDER);
    CHECK_INT(tree_remove(in_folder("go"), &err), 0);
    CHECK_INT(symlink("keep", in_folder("link")), 0);
    CHECK_INT(tree_remove(in_folder("link"), &err), 0);
    CHECK_INT(count_names(test_folder()), 1);
}

TEST(a_tree_that_is_too_deep_is_refused_by_name_of_the_limit)
{
    size_t open_before = count_names("/proc/self/fd");
    const char *top = in_folder("top");
    int here = open(".", O_RDONLY | O_CLOEXEC);

    CHECK_INT(fs_mkdirs(top, 0755, &err), 0);
    CHECK_INT(chdir(top), 0);
    for (int i = 0; i < TREE_DEPTH_MAX + 3; i++) {
        CHECK_INT(mkdir("d", 0755), 0);
        CHECK_INT(chdir("d"), 0);
    }
    CHECK_INT(fchdir(here), 0);
    (void)close(here);
    CHECK_INT(tree_remove(top, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(err.text, "deeper than the limit of 256 folders");
    CHECK_INT(count_names("/proc/self/fd"), open_before);
}

/* --- never torn -------------------------------------------------------------------------- */

/* Replace the file for ever by blocks of one letter, another each time. */
static void write_forever(const char *path)
{
    char *block = mem_alloc(TORN_SIZE);

    for (char letter = 'a';; letter = letter == 'z' ? 'a' : (char)(letter + 1)) {
        const struct fs_replace_options options = { .attr = FS_ATTR_KEEP, .sync = FS_NO_SYNC };

        memset(block, letter, TORN_SIZE);
        if (fs_replace(path, (struct str){ block, TORN_SIZE }, &options, &err) < 0)
            _exit(1);
    }
}

static void check_whole(const char *path)
{
    AUTO_ARENA struct arena own = ARENA_INIT;
    struct str text;

    CHECK_INT(fs_read(&own, path, TORN_SIZE, &text, &err), 0);
    CHECK_INT(text.n, TORN_SIZE);
    for (size_t i = 1; i < text.n; i++)
        if (text.p[i] != text.p[0])
            CHECK_INT(text.p[i], text.p[0]);
}

TEST(readers_never_see_a_torn_file_also_under_kill_9)
{
    const char *path = in_folder("f");
    char *first = mem_alloc(TORN_SIZE);

    memset(first, 'a', TORN_SIZE);
    CHECK_INT(fs_write(path, (struct str){ first, TORN_SIZE }, 0640, &err), 0);
    free(first);
    for (int i = 0; i < TORN_KILLS; i++) {
        ino_t inode = info_of(path).inode;
        int status;
        pid_t pid = fork();

        if (pid == 0)
            write_forever(path);
        /* it has replaced at least once; then the kill comes at whatever moment it is */
        while (info_of(path).inode == inode)
            check_whole(path);
        for (int looks = i % 4; looks >= 0; looks--)
            check_whole(path);
        CHECK_INT(kill(pid, SIGKILL), 0);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status));
        check_whole(path);
        CHECK_INT(info_of(path).mode, 0640);
    }
}

/* Write `n` bytes while a token is raised, before the writing or before the commit. */
static int replace_canceled(const char *path, size_t n, bool late)
{
    struct cancel cancel;
    struct draft draft;
    char *bytes = mem_zalloc(n);
    int result;

    CHECK_INT(cancel_init(&cancel, &err), 0);
    (void)cancel_heed(&cancel);
    CHECK_INT(draft_open(&draft, path, NULL, &err), 0);
    if (!late)
        cancel_raise(&cancel);
    result = draft_add(&draft, (struct str){ bytes, n }, &err);
    cancel_raise(&cancel);
    if (result == 0)
        result = draft_commit(&draft, &err);
    draft_done(&draft);
    (void)cancel_heed(NULL);
    cancel_done(&cancel);
    mem_free_auto(&bytes);
    return result;
}

TEST(one_large_write_and_its_sync_can_be_canceled_and_a_small_one_is_finished)
{
    const char *path = path_join(&arena, test_folder(), "f");
    struct fs_info info;

    for (int late = 0; late < 2; late++) {
        CHECK_INT(replace_canceled(path, (size_t)40 << 20, late), -1);
        CHECK_INT(err.code, ERR_CANCELED);
        CHECK_INT(fs_stat(path, &info, &err), 0);
        CHECK_INT(info.kind, FS_NONE);
    }
    CHECK_INT(replace_canceled(path, 1000, false), 0);
    CHECK_INT(fs_stat(path, &info, &err), 0);
    CHECK_INT(info.size, 1000);
}
