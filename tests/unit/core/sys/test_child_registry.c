#include "core/sys/child_registry.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "test.h"

static const char *list_path(struct arena *arena)
{
    return path_join(arena, test_folder(), "births");
}

static void start(int child_registry, struct process *child)
{
    const struct process_spec spec = { .command = "sleep 600 & wait",
                                       .group = PROCESS_GROUP_SESSION,
                                       .child_registry = child_registry,
                                       .reaper = true };
    struct err err;

    CHECK_INT(process_start(&spec, child, &err), 0);
}

static int ended_by(const struct process *child)
{
    struct process_status status;
    struct err err;

    CHECK_INT(process_wait(child, clock_after(clock_real(), 60 * CLOCK_SECOND), &status, &err), 0);
    return status.signo;
}

TEST(children_that_still_run_are_killed_by_the_list_and_counted)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = list_path(&arena);
    struct process child;
    struct err err;
    size_t count;
    int fd;

    CHECK_INT(child_registry_kill(path, &count, &err), 0); /* there is no list */
    CHECK_INT(child_registry_open(path, &fd, &err), 0);
    start(fd, &child);
    CHECK_INT(child_registry_kill(path, &count, &err), 0);
    CHECK_INT(count, 1);
    CHECK_INT(ended_by(&child), SIGKILL);
    CHECK_INT(child_registry_kill(path, &count, &err), 0);
    CHECK_INT(count, 0);
    (void)close(fd);
    process_done(&child);
}

TEST(a_cleared_list_or_one_from_another_boot_kills_no_process)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = list_path(&arena);
    struct process child;
    struct err err;
    size_t count;
    int fd;

    CHECK_INT(child_registry_open(path, &fd, &err), 0);
    start(fd, &child);
    CHECK_INT(pwrite(open(path, O_WRONLY), "x", 1, 0), 1);
    CHECK_INT(child_registry_kill(path, &count, &err), 0);
    CHECK_INT(count, 0);
    CHECK_INT(child_registry_open(path, &fd, &err), 0);
    child_registry_clear(fd);
    CHECK_INT(child_registry_kill(path, &count, &err), 0);
    CHECK_INT(count, 0);
    CHECK_INT(kill(-child.pid, SIGTERM), 0);
    CHECK_INT(ended_by(&child), SIGTERM);
    process_done(&child);
}
