#include "scene.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "states/run/revert.h"
#include "core/sys/site.h"
#include "states/undo/undo.h"

/* One state's changes by hand, and the journal back again. */
struct bench {
    struct scene scene;
    struct undo *undo;
    struct change change;
    struct state_run run;
};

#define RUN_ID "0ujtsYcgvSTl8PAuAdqWYSMnLOv"

static void bench_begin(struct bench *bench)
{
    static const char *const refs[] = { "case" };
    const struct undo_state state = { .name = "file.managed:x",
                                      .module = "file.managed",
                                      .id = "x" };
    struct err err;

    memset(bench, 0, sizeof(*bench));
    scene_init(&bench->scene);
    bench->undo = undo_new(bench->scene.host.data_dir,
                           &(struct undo_head){ RUN_ID, { 1, refs }, NULL, NULL });
    bench->change.undo = bench->undo;
    bench->run = (struct state_run){ .arena = &bench->scene.arena,
                                     .name = state.name,
                                     .host = &bench->scene.host,
                                     .change = &bench->change };
    CHECK_INT(undo_begin(bench->undo, &state, &bench->change.number, &err), 0);
}

/* End the state, and revert it from the disk. */
static void bench_revert(struct bench *bench)
{
    const struct revert_options options = { .target = RUN_ID };
    struct err err = { 0 };

    CHECK_INT(change_finish(&bench->run, &err), 0);
    CHECK_INT(undo_end(bench->undo, bench->change.number, OUTCOME_CHANGED, &err), 0);
    undo_free(bench->undo);
    if (revert_run(&bench->scene.arena, &bench->scene.host, &options, NULL, &bench->scene.result,
                   &err) < 0)
        CHECK_STR(err.text, "");
    if (bench->scene.result.states.p[0].error)
        CHECK_STR(bench->scene.result.states.p[0].error, "");
}

static const char *at(struct bench *bench, const char *name)
{
    return scene_path(&bench->scene, name);
}

static void put(struct bench *bench, const char *name, const char *text)
{
    scene_write(&bench->scene, name, text);
}

static const char *get(struct bench *bench, const char *name)
{
    return scene_read(&bench->scene, name);
}

static mode_t mode_of(struct bench *bench, const char *name)
{
    struct stat st = { 0 };

    CHECK_INT(lstat(at(bench, name), &st), 0);
    return st.st_mode & 07777;
}

static bool exists(struct bench *bench, const char *name)
{
    struct stat st;

    return lstat(at(bench, name), &st) == 0;
}

#define OK(call) CHECK_STR((call) < 0 ? err.text : "", "")

TEST(writing_keeps_the_mode_and_follows_links)
{
    struct bench b;
    struct err err;

    bench_begin(&b);
    put(&b, "real", "old");
    CHECK_INT(chmod(at(&b, "real"), 0600), 0);
    CHECK_INT(symlink("real", at(&b, "link")), 0);
    OK(change_write(&b.run, at(&b, "link"), STR("new"), NULL, &err));
    CHECK_STR(get(&b, "real"), "new");
    CHECK_INT(mode_of(&b, "real"), 0600);
    OK(change_write(&b.run, at(&b, "fresh"), STR("x"), NULL, &err));
    CHECK_INT(mode_of(&b, "fresh"), 0644);
    OK(change_write(&b.run, at(&b, "real"), STR("newer"), NULL, &err));
    bench_revert(&b);
    CHECK_STR(get(&b, "real"), "old");
    CHECK_INT(mode_of(&b, "real"), 0600);
    CHECK(!exists(&b, "fresh"));
    scene_done(&b.scene);
}

TEST(a_rewrite_detects_changes_since_the_walk)
{
    AUTO_SITE struct site file = SITE_INIT, link = SITE_INIT;
    struct bench b;
    struct err err = { 0 };

    bench_begin(&b);
    put(&b, "real", "untouched");
    OK(site_walk(&file, at(&b, "file"), SITE_FOLLOW, &err));
    OK(site_walk(&link, at(&b, "link"), SITE_FOLLOW, &err));
    put(&b, "file", "of somebody else");
    CHECK_INT(symlink("real", at(&b, "link")), 0);
    OK(change_rewrite_at(&b.run, &file, NULL, STR("new"), NULL, &err));
    CHECK_INT(change_rewrite_at(&b.run, &link, NULL, STR("new"), NULL, &err), -1);
    CHECK_HAS(err.text, "was replaced by another process");
    CHECK_STR(get(&b, "file"), "new");
    CHECK_STR(get(&b, "real"), "untouched");
    bench_revert(&b);
    CHECK_STR(get(&b, "file"), "of somebody else");
    scene_done(&b.scene);
}

TEST(a_removed_tree_is_restored_whole)
{
    struct bench b;
    struct err err;

    bench_begin(&b);
    CHECK_INT(mkdir(at(&b, "t"), 0750), 0);
    CHECK_INT(mkdir(at(&b, "t/sub"), 0700), 0);
    put(&b, "t/sub/f", "text");
    put(&b, "t/g", "");
    CHECK_INT(chmod(at(&b, "t/g"), 04755), 0);
    CHECK_INT(symlink("nowhere", at(&b, "t/l")), 0);
    CHECK_INT(mkfifo(at(&b, "t/p"), 0600), 0);
    OK(change_remove(&b.run, at(&b, "t"), &err));
    CHECK(!exists(&b, "t"));
    OK(change_remove(&b.run, at(&b, "t"), &err));
    bench_revert(&b);
    CHECK_INT(mode_of(&b, "t"), 0750);
    CHECK_INT(mode_of(&b, "t/sub"), 0700);
    CHECK_STR(get(&b, "t/sub/f"), "text");
    CHECK_STR(get(&b, "t/g"), "");
    CHECK_INT(mode_of(&b, "t/g"), 04755);
    CHECK(exists(&b, "t/l") && exists(&b, "t/p"));
    scene_done(&b.scene);
}

TEST(large_files_are_copied_beside_the_journal)
{
    AUTO_BUF struct buf large = BUF_INIT(BUF_NO_LIMIT);
    struct bench b;
    struct err err;

    buf_fill(&large, 'x', IMAGE_INLINE_MAX * 3);
    bench_begin(&b);
    put(&b, "f", buf_text(&large));
    OK(change_write(&b.run, at(&b, "f"), STR("small"), NULL, &err));
    bench_revert(&b);
    CHECK_STR(get(&b, "f"), buf_text(&large));
    scene_done(&b.scene);
}

TEST(renamed_folders_are_reverted)
{
    struct bench b;
    struct err err;

    bench_begin(&b);
    CHECK_INT(mkdir(at(&b, "from"), 0755), 0);
    put(&b, "from/f", "text");
    OK(change_rename(&b.run, at(&b, "from"), at(&b, "to"), &err));
    CHECK_STR(get(&b, "to/f"), "text");
    bench_revert(&b);
    CHECK(!exists(&b, "to"));
    CHECK_STR(get(&b, "from/f"), "text");
    scene_done(&b.scene);
}

TEST(links_modes_and_times_are_reverted)
{
    const struct change_attr attr = { 0400, CHANGE_KEEP_ID, CHANGE_KEEP_ID };
    struct bench b;
    struct stat before = { 0 }, after = { 0 };
    struct err err;

    bench_begin(&b);
    put(&b, "f", "text");
    CHECK_INT(stat(at(&b, "f"), &before), 0);
    CHECK_INT(symlink("one", at(&b, "l")), 0);
    OK(change_symlink(&b.run, "two", at(&b, "l"), &err));
    OK(change_symlink(&b.run, "f", at(&b, "m"), &err));
    OK(change_attr(&b.run, at(&b, "f"), &attr, &err));
    OK(change_touch(&b.run, at(&b, "f"), 1, 1, &err));
    OK(change_touch(&b.run, at(&b, "t"), 1, 1, &err));
    CHECK_INT(mode_of(&b, "f"), 0400);
    bench_revert(&b);
    CHECK_INT(mode_of(&b, "f"), before.st_mode & 07777);
    CHECK_INT(stat(at(&b, "f"), &after), 0);
    CHECK_INT(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    CHECK(!exists(&b, "m") && !exists(&b, "t"));
    char target[8] = "";
    CHECK_INT(readlink(at(&b, "l"), target, sizeof(target)), 3);
    CHECK_STR(target, "one");
    scene_done(&b.scene);
}

TEST(changes_by_a_tool_are_reverted)
{
    struct bench b;
    struct err err;

    bench_begin(&b);
    put(&b, "f", "before");
    OK(change_save(&b.run, at(&b, "f"), &err));
    OK(change_save(&b.run, at(&b, "g"), &err));
    put(&b, "f", "by a tool");
    put(&b, "g", "by a tool");
    bench_revert(&b);
    CHECK_STR(get(&b, "f"), "before");
    CHECK(!exists(&b, "g"));
    scene_done(&b.scene);
}

TEST(a_created_folder_in_use_is_kept)
{
    struct bench b;
    struct err err;

    bench_begin(&b);
    OK(change_make_parents(&b.run, at(&b, "a/b/c"), &err));
    put(&b, "a/mine", "x");
    bench_revert(&b);
    CHECK(exists(&b, "a/mine"));
    CHECK(!exists(&b, "a/b"));
    CHECK_HAS(b.scene.result.states.p[0].diff.p, "the folder is not empty");
    scene_done(&b.scene);
}

TEST(nothing_changes_while_checking)
{
    struct bench b;
    struct err err;

    bench_begin(&b);
    b.run.change = NULL;
    CHECK_INT(change_write(&b.run, at(&b, "f"), STR("x"), NULL, &err), -1);
    CHECK_HAS(err.text, "nothing may be changed while checking");
    CHECK(!exists(&b, "f"));
    CHECK_INT(change_remove(&b.run, at(&b, "f"), &err), -1);
    CHECK_INT(state_note(&b.run, "k", value_int(1), &err), -1);
    b.run.change = &b.change;
    CHECK_INT(change_write(&b.run, "relative", STR("x"), NULL, &err), -1);
    CHECK_HAS(err.text, "must be an absolute path");
    undo_free(b.undo);
    scene_done(&b.scene);
}

TEST(extended_attributes_are_restored_with_a_removed_file)
{
    struct bench b;
    struct err err;
    char value[8] = "";

    bench_begin(&b);
    put(&b, "f", "text");
    if (setxattr(at(&b, "f"), "user.mine", "yes", 3, 0) == 0) {
        OK(change_remove(&b.run, at(&b, "f"), &err));
        bench_revert(&b);
        CHECK_INT(getxattr(at(&b, "f"), "user.mine", value, sizeof(value)), 3);
        CHECK_STR(value, "yes");
    } else {
        CHECK(errno == ENOTSUP || errno == EPERM);
        undo_free(b.undo);
    }
    scene_done(&b.scene);
}

/* Every read of the source finds new content. */
TEST(a_copy_of_a_changing_source_is_recognized)
{
    const struct change_attr attr = CHANGE_KEEP;
    struct bench bench;
    struct err err;

    bench_begin(&bench);
    put(&bench, "f", "old");
    CHECK_INT(change_copy(&bench.run, "/proc/sys/kernel/random/uuid", at(&bench, "f"), &attr, &err),
              0);
    CHECK_INT(strlen(get(&bench, "f")), 37);
    bench_revert(&bench);
    CHECK_STR(get(&bench, "f"), "old");
    scene_done(&bench.scene);
}
