#include "test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/cgroup.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"

static struct arena arena = ARENA_INIT;
static struct err err;

static bool open_group(struct cgroup *cgroup)
{
    const char *home;

    CHECK_INT(cgroup_home(&arena, &home, &err), 0);
    if (!home) {
        print_message("skipped: no writable cgroup v2\n");
        return false;
    }
    CHECK_INT(cgroup_create(cgroup, home, arena_printf(&arena, "zester-test-%d", getpid()), &err),
              0);
    return true;
}

TEST(a_group_is_killed_with_all_that_left_their_session)
{
    const struct process_spec spec = { .command = "setsid sh -c 'sleep 100 & sleep 100' & "
                                                  "echo ready; sleep 100",
                                       .out = { .kind = PROCESS_PIPE } };
    struct process_spec inside = spec;
    struct process_status status;
    struct cgroup cgroup;
    struct cgroup_pids pids;
    struct process process;
    bool populated = true;
    char text[6];

    if (!open_group(&cgroup))
        return;
    CHECK_INT(cgroup_is_populated(&cgroup, &populated, &err), 0);
    CHECK(!populated);
    inside.cgroup = &cgroup;
    CHECK_INT(process_start(&inside, &process, &err), 0);
    CHECK_INT(read(process.out, text, 6), 6);
    CHECK_INT(cgroup_list(&cgroup, &arena, &pids, &err), 0);
    CHECK(pids.list.n >= 2);
    CHECK_INT(cgroup_is_populated(&cgroup, &populated, &err), 0);
    CHECK(populated);
    CHECK_INT(cgroup_remove(&cgroup, &err), -1);
    CHECK_INT(err.errnum, EBUSY);
    CHECK_INT(cgroup_wait(&cgroup, clock_real() + CLOCK_MS, &err), -1);
    CHECK_INT(err.code, ERR_TIMEOUT);
    CHECK_INT(cgroup_kill(&cgroup, &err), 0);
    CHECK_INT(cgroup_wait(&cgroup, clock_real() + 60 * CLOCK_SECOND, &err), 0);
    CHECK_INT(process_wait(&process, CLOCK_NEVER, &status, &err), 0);
    CHECK_INT(status.signo, SIGKILL);
    process_done(&process);
    CHECK_INT(cgroup_remove(&cgroup, &err), 0);
    cgroup_done(&cgroup);
}

TEST(groups_below_are_removed_as_well_and_files_can_be_read)
{
    struct cgroup cgroup, below;
    struct fs_info info;
    struct str text;

    if (!open_group(&cgroup))
        return;
    CHECK_INT(cgroup_create(&below, cgroup.path, "below", &err), 0);
    CHECK_INT(cgroup_get(&below, &arena, "cgroup.type", &text, &err), 0);
    CHECK_STR(text.p, "domain\n");
    CHECK_INT(cgroup_get(&below, &arena, "no.such.file", &text, &err), 0);
    CHECK(text.p == NULL);
    CHECK_INT(cgroup_set(&below, "cgroup.max.depth", "3", &err), 0);
    CHECK_INT(cgroup_set(&below, "cgroup.max.depth", "nonsense", &err), -1);
    CHECK_HAS(err.text, "cgroup.max.depth' to 'nonsense'");
    cgroup_done(&below);
    CHECK_INT(cgroup_remove(&cgroup, &err), 0);
    CHECK_INT(fs_lstat(cgroup.path, &info, &err), 0);
    CHECK_INT(info.kind, FS_NONE);
    cgroup_done(&cgroup);
}
