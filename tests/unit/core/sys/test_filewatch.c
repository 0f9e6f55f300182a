#include "core/sys/filewatch.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "test.h"

struct seen {
    struct filewatch watch;
    struct loop *loop;
    int count;
    char path[PATH_MAX];
};

static void on_change(struct filewatch *watch, const char *path)
{
    struct seen *seen = container_of(watch, struct seen, watch);

    seen->count++;
    (void)snprintf(seen->path, sizeof(seen->path), "%s", path);
}

static const char *in(const char *name)
{
    static char paths[2][PATH_MAX];
    static int turn; /* rename takes two */
    char *path = paths[turn++ % 2];

    (void)snprintf(path, PATH_MAX, "%s/%s", test_folder(), name);
    return path;
}

static void touch(const char *name)
{
    AUTO_FD int fd = open(in(name), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    CHECK(write(fd, "x", 1) == 1);
}

/* The events are already queued; the window ends when the clock is advanced. */
static int changes(struct seen *seen)
{
    int before = seen->count;

    for (int i = 0; i < 5; i++)
        loop_turn(seen->loop);
    CHECK_INT(seen->count, before);
    clock_turn(FILEWATCH_WINDOW);
    (void)timers_run(loop_timers(seen->loop), clock_now());
    return seen->count - before;
}

static void begin(struct seen *seen, struct filewatch_hub *hub, const char *const *patterns,
                  size_t count)
{
    struct err err;

    clock_fake(1000 * CLOCK_SECOND, 0);
    *seen = (struct seen){ .loop = loop_new(&err) };
    CHECK(seen->loop != NULL);
    filewatch_hub_init(hub, seen->loop);
    CHECK(filewatch_start(
              &seen->watch, hub,
              &(struct filewatch_wish){ test_folder(), patterns, count, NULL, on_change, NULL },
              &err) == 0);
}

static void done(struct seen *seen, struct filewatch_hub *hub)
{
    filewatch_stop(&seen->watch);
    CHECK_INT(map_count(&hub->folders), 0);
    filewatch_hub_done(hub);
    loop_free(seen->loop);
    clock_restore();
}

TEST(changes_are_announced_once_for_a_burst)
{
    static const char *const patterns[] = { "**/*.conf", "!**/skip/*" };
    struct filewatch_hub hub;
    struct seen seen;

    CHECK(mkdir(in("skip"), 0700) == 0);
    begin(&seen, &hub, patterns, 2);
    CHECK_INT(changes(&seen), 0);
    touch("a.txt");
    CHECK_INT(changes(&seen), 0);
    touch("a.conf");
    touch("b.conf");
    touch("a.conf");
    CHECK_INT(changes(&seen), 1);
    CHECK_STR(seen.path, in("a.conf"));
    touch("skip/a.conf");
    CHECK_INT(changes(&seen), 0);
    CHECK(unlink(in("b.conf")) == 0);
    CHECK_INT(changes(&seen), 1);
    CHECK(rename(in("a.txt"), in("c.conf")) == 0);
    CHECK_INT(changes(&seen), 1);
    CHECK_STR(seen.path, in("c.conf"));
    done(&seen, &hub);
}

TEST(a_file_that_is_touched_has_changed_and_a_folder_has_not)
{
    static const char *const patterns[] = { "**" };
    struct filewatch_hub hub;
    struct seen seen;

    touch("a.conf");
    CHECK(mkdir(in("x"), 0700) == 0);
    begin(&seen, &hub, patterns, 1);
    CHECK(utimensat(AT_FDCWD, in("a.conf"), NULL, 0) == 0);
    CHECK_INT(changes(&seen), 1);
    CHECK(utimensat(AT_FDCWD, in("x"), NULL, 0) == 0);
    CHECK_INT(changes(&seen), 0);
    done(&seen, &hub);
}

TEST(new_folders_are_watched_with_their_content)
{
    static const char *const patterns[] = { "**/*.conf" };
    struct filewatch_hub hub;
    struct seen seen;

    begin(&seen, &hub, patterns, 1);
    CHECK(mkdir(in("x"), 0700) == 0);
    CHECK(mkdir(in("x/y"), 0700) == 0);
    touch("x/y/a.conf");
    CHECK_INT(changes(&seen), 1);
    touch("x/y/b.conf");
    CHECK_INT(changes(&seen), 1);
    CHECK(rename(in("x"), in("z")) == 0);
    CHECK_INT(changes(&seen), 1); /* its files are new under their new names */
    touch("z/y/b.conf");
    CHECK_INT(changes(&seen), 1);
    CHECK_STR(seen.path, in("z/y/b.conf"));
    done(&seen, &hub);
}

TEST(a_root_may_come_later_go_and_come_again)
{
    static const char *const patterns[] = { "gen/out/*.c", "*.txt" };
    struct filewatch_hub hub;
    struct seen seen;

    begin(&seen, &hub, patterns, 2);
    touch("a.txt");
    CHECK_INT(changes(&seen), 1);
    for (int i = 0; i < 2; i++) {
        CHECK(mkdir(in("gen"), 0700) == 0);
        CHECK(mkdir(in("gen/side"), 0700) == 0);
        CHECK_INT(changes(&seen), 0);
        CHECK(mkdir(in("gen/out"), 0700) == 0);
        touch("gen/out/x.c");
        CHECK_INT(changes(&seen), 1);
        CHECK_STR(seen.path, in("gen/out/x.c"));
        touch("gen/out/x.c");
        touch("gen/side/x.c");
        CHECK_INT(changes(&seen), 1);
        CHECK(unlink(in("gen/out/x.c")) == 0);
        CHECK(unlink(in("gen/side/x.c")) == 0);
        CHECK(rmdir(in("gen/out")) == 0);
        CHECK(rmdir(in("gen/side")) == 0);
        CHECK(rmdir(in("gen")) == 0);
        CHECK_INT(changes(&seen), 1);
    }
    done(&seen, &hub);
}

TEST(a_stopped_watch_is_silent_and_others_go_on)
{
    static const char *const patterns[] = { "*.conf" };
    struct filewatch_hub hub;
    struct seen seen, other = { .count = 0 };
    struct err err;

    begin(&seen, &hub, patterns, 1);
    CHECK(filewatch_start(
              &other.watch, &hub,
              &(struct filewatch_wish){ test_folder(), patterns, 1, NULL, on_change, NULL },
              &err) == 0);
    touch("a.conf");
    filewatch_stop(&other.watch);
    CHECK_INT(changes(&seen), 1);
    CHECK_INT(other.count, 0);
    done(&seen, &hub);
}

/* The kernel has one watch for both; the second must not take the first one's path away. */
TEST(each_watch_of_a_shared_folder_gets_its_own_path)
{
    static const char *const patterns[] = { "*.conf" };
    struct filewatch_hub hub;
    struct seen seen, other = { .count = 0 };
    struct err err;

    CHECK(mkdir(in("real"), 0700) == 0 && mkdir(in("real/deep"), 0700) == 0);
    CHECK(symlink(in("real"), in("link")) == 0);
    begin(&seen, &hub, (const char *const[]){ "real/deep/*.conf" }, 1);
    other.loop = seen.loop;
    CHECK(filewatch_start(
              &other.watch, &hub,
              &(struct filewatch_wish){ in("link/deep"), patterns, 1, NULL, on_change, NULL },
              &err) == 0);
    touch("real/deep/a.conf");
    CHECK_INT(changes(&seen), 1);
    CHECK_STR(seen.path, in("real/deep/a.conf"));
    CHECK_INT(other.count, 1);
    CHECK_STR(other.path, in("link/deep/a.conf"));
    filewatch_stop(&other.watch);
    touch("real/deep/b.conf");
    CHECK_INT(changes(&seen), 1);
    done(&seen, &hub);
}

TEST(a_root_elsewhere_must_be_there)
{
    static const char *const patterns[] = { "/nowhere/at/all/*.conf" };
    struct filewatch_hub hub;
    struct filewatch watch = { 0 };
    struct err err;
    struct loop *loop = loop_new(&err);

    filewatch_hub_init(&hub, loop);
    CHECK(filewatch_start(
              &watch, &hub,
              &(struct filewatch_wish){ test_folder(), patterns, 1, NULL, on_change, NULL },
              &err) == -1);
    CHECK_HAS(err.text, "/nowhere/at/all");
    filewatch_hub_done(&hub);
    loop_free(loop);
}

static struct err failure;

static void on_failure(struct filewatch *watch, const struct err *err)
{
    CHECK(watch->hub != NULL);
    failure = *err;
}

/* More folders than one slice has names, the last of them below the others. */
static void make_large_tree(void)
{
    char name[64];

    for (int i = 0; i < FILEWATCH_SLICE + 10; i++) {
        (void)snprintf(name, sizeof(name), "d%05d", i);
        CHECK(mkdir(in(name), 0700) == 0);
    }
    for (int i = 0; i < FILEWATCH_SLICE + 10; i += FILEWATCH_SLICE / 2) {
        (void)snprintf(name, sizeof(name), "d%05d/below", i);
        CHECK(mkdir(in(name), 0700) == 0);
    }
}

TEST(a_large_tree_is_looked_at_in_slices_and_all_of_it_in_the_end)
{
    static const char *const patterns[] = { "**/*.conf" };
    struct filewatch_hub hub;
    struct seen seen;
    size_t first, now, most = 0;

    make_large_tree();
    begin(&seen, &hub, patterns, 1);
    first = map_count(&hub.folders);
    CHECK(seen.watch.todo.n > 0);
    for (now = first; seen.watch.todo.n > 0; now = map_count(&hub.folders)) {
        loop_turn(seen.loop);
        if (map_count(&hub.folders) - now > most)
            most = map_count(&hub.folders) - now;
    }
    CHECK(first <= FILEWATCH_SLICE && most <= FILEWATCH_SLICE);
    CHECK_INT(now, 1 + FILEWATCH_SLICE + 10 + 3);
    touch("d00000/below/a.conf");
    CHECK_INT(changes(&seen), 1);
    touch("d01024/below/a.conf");
    CHECK_INT(changes(&seen), 1);
    done(&seen, &hub);
}

TEST(a_folder_that_is_made_while_a_large_tree_is_looked_at_is_not_missed)
{
    static const char *const patterns[] = { "**/*.conf" };
    struct filewatch_hub hub;
    struct seen seen;

    make_large_tree();
    begin(&seen, &hub, patterns, 1);
    CHECK(seen.watch.todo.n > 0);
    CHECK(mkdir(in("d00000/fresh"), 0700) == 0);
    CHECK(mkdir(in("d02050/fresh"), 0700) == 0);
    while (seen.watch.todo.n > 0)
        loop_turn(seen.loop);
    (void)changes(&seen);
    touch("d00000/fresh/a.conf");
    CHECK_INT(changes(&seen), 1);
    touch("d02050/fresh/a.conf");
    CHECK_INT(changes(&seen), 1);
    done(&seen, &hub);
}

TEST(a_large_tree_that_cannot_be_watched_completely_is_reported)
{
    static const char *const patterns[] = { "**/*.conf" };
    struct filewatch_hub hub;
    struct seen seen;

    make_large_tree();
    begin(&seen, &hub, patterns, 1);
    seen.watch.fail = on_failure;
    CHECK(seen.watch.todo.n > 0);
    seen.watch.rights = (struct rights){ .uid = 65534, .gid = 65534 };
    CHECK(chmod(in("."), 0700) == 0);
    while (seen.watch.todo.n > 0)
        loop_turn(seen.loop);
    if (geteuid() == 0) /* only root can take the rights of another user */
        CHECK(strstr(failure.text, "Permission denied") != NULL);
    done(&seen, &hub);
}
